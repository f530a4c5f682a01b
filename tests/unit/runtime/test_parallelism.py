"""How many slots and tasks a run gets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.runtime import parallelism
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState

NEW = ConnectorState()


def spark(parallel: int, **conf: str) -> Any:
    given = {f"spark.{name.replace('_', '.')}": value for name, value in conf.items()}
    return SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=parallel, getConf=lambda: given))


@pytest.mark.parametrize(("cores", "slots"), [(1, 4), (2, 4), (3, 6), (16, 32), (1_000, 64)])
def test_a_new_connector_gets_two_slots_a_core(cores: int, slots: int) -> None:
    assert parallelism.slots(SourceSettings(name="c"), NEW, cores) == slots


def test_a_connector_keeps_its_slots_whatever_spark_has() -> None:
    known = ConnectorState(ConnectorRecord(generation=1, slots=16))
    assert parallelism.slots(SourceSettings(name="c"), known, 2) == 16
    assert parallelism.slots(SourceSettings(name="c", slots=8), known, 2) == 8  # refused where the connector is taken over


def test_cores_are_those_that_executors_on_demand_will_have() -> None:
    assert parallelism.cores(spark(2)) == 2
    on_demand = {"dynamicAllocation_enabled": "true", "executor_cores": "4"}
    assert parallelism.cores(spark(2, **on_demand, dynamicAllocation_maxExecutors="10")) == 40
    assert parallelism.cores(spark(2, **on_demand)) == 64


def test_tasks_are_as_many_as_cores_unless_they_are_limited() -> None:
    assert parallelism.tasks(SourceSettings(name="c"), 8) == 8
    assert parallelism.tasks(SourceSettings(name="c", tasks_max=3), 8) == 3
