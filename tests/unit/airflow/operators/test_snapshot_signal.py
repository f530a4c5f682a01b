"""Operator that sends a signal, with a simulated connector."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred

from airflow_provider_ignite_kafka.operators.snapshot_signal import SnapshotSignalOperator
from ignite_kafka.errors import KafkaUnavailable, SettingsError
from ignite_kafka.state.signal_records import ID, CacheSelection
from tests.unit.airflow.simulated_signal import progress, requests, simulate

OPERATOR: Any = {"task_id": "again", "connector": "c", "poke_interval": 0}


def context(run_id: str = "manual__2026-11-27T10:00:00+00:00", map_index: int = -1) -> Any:
    return {"ti": SimpleNamespace(dag_id="flights", task_id="group.again", run_id=run_id, map_index=map_index)}


def test_it_requests_a_snapshot_and_returns_its_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = requests(monkeypatch)
    simulate(monkeypatch, KafkaUnavailable("away"), progress("RUNNING"), progress("COMPLETED"))
    returned = SnapshotSignalOperator(**OPERATOR, caches={"flights": "price > 1", "fleet": ""}).execute(context())
    assert returned["records"] == 7
    selections = [CacheSelection("flights", "price > 1"), CacheSelection("fleet")]
    assert requested == [("c", selections, "flights:group.again:manual__2026-11-27T10:00:00-00:00")]


def test_a_retry_sends_the_same_id_and_a_mapped_task_another(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = requests(monkeypatch)
    operator: Any = {**OPERATOR, "caches": "flights", "wait_for_completion": False}
    ids = [SnapshotSignalOperator(**operator).execute(where) for where in (context(), context(), context(map_index=3), context("r" * 200))]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert all(ID.fullmatch(id) for id in ids)
    assert [id for _, _, id in requested] == ids
    assert SnapshotSignalOperator(**operator, signal="own").execute(context()) == "own"


def test_keys_and_partitions_are_of_one_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = requests(monkeypatch)
    operator: Any = {**OPERATOR, "wait_for_completion": False}
    SnapshotSignalOperator(**operator, caches=["flights"], keys=["1", "x"], partitions=[3]).execute(context())
    assert requested[0][1] == [CacheSelection("flights", "", ("1", "x"), (3,))]
    several: Any = ({"caches": ["a", "b"], "keys": ["1"]}, {"caches": []})
    for wrong in several:
        with pytest.raises(AirflowFailException, match=r"of one cache|no cache"):
            SnapshotSignalOperator(**operator, **wrong).execute(context())


def test_it_defers_and_fails_with_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    requests(monkeypatch, run_ended=True)
    operator = SnapshotSignalOperator(**OPERATOR, caches="flights", signal="own", deferrable=True)
    with pytest.raises(TaskDeferred) as deferred:
        operator.execute(context())
    arguments = deferred.value.trigger.serialize()[1]
    assert (arguments["signal"], arguments["requested"]) == ("own", True)
    assert operator.execute_complete(context(), progress("COMPLETED"))["state"] == "COMPLETED"
    with pytest.raises(AirflowFailException, match="no such cache"):
        operator.execute_complete(context(), progress("FAILED", error="no such cache"))


@pytest.mark.parametrize("before", [[], [progress("RUNNING")]])
def test_a_signal_whose_end_is_no_longer_recorded_fails_without_a_retry(monkeypatch: pytest.MonkeyPatch, before: list[Any]) -> None:
    requests(monkeypatch)
    simulate(monkeypatch, *before, None)
    with pytest.raises(AirflowFailException, match="its end is no longer recorded"):
        SnapshotSignalOperator(**OPERATOR, caches="flights", signal="own").execute(context())


def test_a_connector_that_follows_no_signals_fails_without_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    requests(monkeypatch, SettingsError("the connector is a sink"))
    with pytest.raises(AirflowFailException, match="is a sink"):
        SnapshotSignalOperator(**OPERATOR, caches="flights").execute(context())
