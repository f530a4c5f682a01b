"""Lag of a connector by its records, of a source and of a sink, without servers."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from ignite_kafka.admin import connector_lag
from ignite_kafka.admin.connector_lag import NEVER_STARTED, UNKNOWN, ConnectorLag, ahead_of, marks_of, read_lag
from ignite_kafka.ignite.backlog_units import ASKED, GIVEN_UP, GONE, LOST, MISSED
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.partition_lag import PartitionLag
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.backlog_lag import BacklogLag, UnitLag
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import COMPLETED, RUNNING, CacheStatus, RunStatus, TaskProgress

SINK = SinkSettings(name="c", topics=("t",)).to_dict()
STREAM = SourceSettings(name="c", failover_policy="BACKLOG", run_mode="continuous").to_dict()
SNAPSHOT = SourceSettings(name="c").to_dict()
UNITS = (UnitLag("a", 0, 6, 9, 4, 90), UnitLag("a", 1, -1, -1, 0, 0, GONE))
RUN = RunStatus(RUNNING, "c", "run", generation=3)


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``records(settings, run, tasks)``: let Kafka and the nodes have these."""

    def have(settings: Any, run: RunStatus | None = RUN, *tasks: TaskProgress, units: tuple[UnitLag, ...] = UNITS) -> None:
        record = None if settings is None else ConnectorRecord(3, 2, run_id="run", settings=settings)
        behind = [PartitionLag("t", 0, 5, 9, 4), PartitionLag("t", 1, 3, 3, 0)]
        for name, value in {
            "Topics": lambda clients: None,
            "read_connector": lambda *_: ConnectorState(record),
            "read_run": lambda *_: run,
            "read_progress": lambda *_: dict(enumerate(tasks)),
            "partition_lags": lambda topics, connector, names: behind,
            "list_topics": lambda *_: ["t"],
            "backlog_lag": lambda cluster, connector: BacklogLag(("a", "b"), units),
        }.items():
            monkeypatch.setattr(connector_lag, name, value)

    return have


def lag(connect: Any = lambda: nullcontext()) -> ConnectorLag:
    return read_lag(KafkaClients({}), "in", "c", connect)


def no_cluster() -> Any:
    raise AssertionError("Ignite is not needed")


def test_a_connector_that_was_never_started_or_wrote_no_status(records: Any) -> None:
    records(None)
    assert lag(no_cluster) == ConnectorLag("c", NEVER_STARTED)
    records(SNAPSHOT, None)
    assert lag(no_cluster) == ConnectorLag("c", UNKNOWN)
    assert not lag(no_cluster).is_readable


def test_a_sink_has_its_partitions_that_are_behind(records: Any) -> None:
    records({**SINK, "of_a_newer_version": 1})
    assert lag(no_cluster) == ConnectorLag("c", RUNNING, True, (PartitionLag("t", 0, 5, 9, 4),), frozenset("t"))


def test_a_snapshot_is_loaded_once_it_is_complete(records: Any) -> None:
    records(SNAPSHOT)
    assert lag(no_cluster) == ConnectorLag("c", RUNNING, False)
    records(SNAPSHOT, replace(RUN, state=COMPLETED, caches={"a": CacheStatus("t")}))
    assert lag(no_cluster) == ConnectorLag("c", COMPLETED, True, names=frozenset("a"))


@pytest.mark.parametrize(
    ("tasks", "loaded"),
    [((), False), (((3, True), (3, False)), False), (((3, True), (2, False)), True), (((2, True),), False), (((3, True),), True)],
)
def test_a_stream_is_loaded_once_all_tasks_of_its_newest_run_are(records: Any, tasks: Any, loaded: bool) -> None:
    records(STREAM, RUN, *(TaskProgress(generation, 1, done, {}) for generation, done in tasks))
    found = lag()
    assert (found.loaded, found.counts()) == (loaded, {"a": 4})
    assert found.names == {"a", "b"}
    assert marks_of(found) == {"a/0": 9}
    assert ahead_of(found, {"a/0": 9, "a/1": 5}) == {"a/0": 9}


@pytest.mark.parametrize(("mark", "loaded"), [(GIVEN_UP, False), (MISSED, False), (LOST, False), (ASKED, False), (GONE, True)])
def test_a_stream_is_not_loaded_while_a_partition_waits_to_be_sent_again(records: Any, mark: int, loaded: bool) -> None:
    records(STREAM, RUN, TaskProgress(3, 1, True, {}), units=(UnitLag("a", 0, -1, -1, 0, 0, mark),))
    assert (lag().loaded, lag().sends_again, lag().behind) == (loaded, not loaded, ())
