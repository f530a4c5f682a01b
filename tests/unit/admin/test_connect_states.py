"""States of connectors in Kafka Connect's words, by their records."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.admin.connect_states import ConnectState, type_of
from ignite_kafka.admin.overview import ConnectorOverview, Report, TargetRequest
from ignite_kafka.errors import CacheDestroyed, NewerFormat
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.declared_connectors import Declaration
from ignite_kafka.state.status import RunStatus

NOW = 10_000_000
ERROR = CacheDestroyed("the cache is gone", cache="a").to_dict()


def connector(
    run: str | None = None, target: str | None = None, generation: int = 0, *, reported: int = NOW, error: bool = False, **more: Any
) -> ConnectorOverview:
    """A connector whose newest run has a state."""
    requested = None if target is None else TargetRequest(target, 1, generation)
    if run is None:
        return ConnectorOverview("c", target=requested, declaration=Declaration({"connector.class": "IgniteSink"}), **more)
    ended = None if run in ("RUNNING", "PAUSED") else NOW - 1
    status = RunStatus(run, "c", "r", generation=1, worker="host", started_ms=NOW - 1_000, ended_ms=ended, error=ERROR if error else None)
    record = ConnectorRecord(1, 4, run_id="r", settings={"name": "c", "tasks_max": 3, "cache_whitelist": ["a"]})
    return ConnectorOverview("c", ConnectorState(record), {"r": status}, (Report(reported, status),), target=requested, **more)


@pytest.mark.parametrize(
    ("shown", "state", "tasks"),
    [
        (connector(), "UNASSIGNED", 0),
        (connector(target="PAUSED"), "PAUSED", 0),
        (connector(target="STOPPED"), "STOPPED", 0),
        (connector("RUNNING"), "RUNNING", 3),
        (connector("RUNNING", "STOPPED"), "RUNNING", 3),
        (connector("PAUSED", "PAUSED"), "PAUSED", 3),
        (connector("RUNNING", reported=NOW - 300_000), "UNASSIGNED", 3),
        (connector("STOPPED", "STOPPED"), "STOPPED", 0),
        (connector("STOPPED", "RUNNING"), "UNASSIGNED", 3),
        (connector("STOPPED", "STOPPED", generation=1), "UNASSIGNED", 3),
        (connector("STOPPED", "PAUSED"), "PAUSED", 3),
        (connector("COMPLETED"), "STOPPED", 0),
        (connector("FAILED", error=True), "FAILED", 3),
        (connector("FENCED"), "FAILED", 3),
        (connector("FAILED", "STOPPED", error=True), "STOPPED", 0),
        (connector("FAILED", error=True, restart_ms=NOW - 500), "RESTARTING", 3),
        (connector("RUNNING", restart_ms=NOW - 2_000), "RUNNING", 3),
        (connector("FAILED", "STOPPED", restart_ms=NOW), "STOPPED", 0),
        (connector(restart_ms=NOW), "UNASSIGNED", 0),
        (connector("RUNNING", unreadable=NewerFormat("a newer version")), "FAILED", 3),
    ],
)
def test_each_state(shown: ConnectorOverview, state: str, tasks: int) -> None:
    found = ConnectState.of(shown, NOW)
    assert (found.state, found.tasks) == (state, tasks)
    assert bool(found.trace) == (state == "FAILED")


def test_a_restart_that_nobody_makes_is_shown_no_longer() -> None:
    waiting = connector("FAILED", error=True, restart_ms=NOW)
    assert ConnectState.of(waiting, NOW + 299_000).state == "RESTARTING"
    assert ConnectState.of(waiting, NOW + 301_000).state == "FAILED"


def test_the_trace_is_the_error_and_no_stack() -> None:
    trace = ConnectState.of(connector("FAILED", error=True), NOW).trace
    assert trace == "CacheDestroyed: the cache is gone [cache a]"


def test_the_type_is_that_of_the_declaration_or_of_the_newest_run() -> None:
    assert type_of(connector()) == "sink"
    assert type_of(connector("RUNNING")) == "source"
    assert type_of(ConnectorOverview("c")) == "unknown"


def test_a_record_of_another_program_has_an_unknown_type() -> None:
    assert type_of(ConnectorOverview("c", declaration=Declaration({"connector.class": "com.example.Other"}))) == "unknown"
