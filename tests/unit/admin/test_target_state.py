"""Which run is a connector's newest, whether it ended gracefully, and how that is told."""

from __future__ import annotations

import pytest

from ignite_kafka.admin.target_state import NewestRun, TargetStateChange, unknown_connector_error
from ignite_kafka.cli import render
from ignite_kafka.errors import CacheDestroyed
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import RunStatus

ERROR = CacheDestroyed("gone").to_dict()


def run(run_id: str, state: str, generation: int = 0, *, started_ms: int = 0, error: dict[str, object] | None = None) -> RunStatus:
    ended = None if state in ("RUNNING", "PAUSED") else started_ms + 1
    return RunStatus(state, "c", run_id, generation=generation, started_ms=started_ms, ended_ms=ended, error=error)


def newest(*runs: RunStatus, taken: tuple[str, int] | None = ("r2", 2)) -> NewestRun:
    connector = ConnectorRecord(generation=taken[1], run_id=taken[0]) if taken else None
    return NewestRun.of(ConnectorState(connector), {status.run_id: status for status in runs})


def test_the_newest_run_is_the_one_that_took_the_connector_last() -> None:
    first, second = run("r1", "FENCED", 1), run("r2", "RUNNING", 2)
    failed_to_start = run("r3", "FAILED", error=ERROR)
    assert newest(second, first, failed_to_start).run == second
    assert newest(first).run is None, "it took the connector and has written nothing yet"
    assert newest(run("r2", "COMPLETED", 1)).run is None, "an earlier run of the same name is not it"
    assert newest(failed_to_start, taken=None).run == failed_to_start
    assert newest(taken=None).unknown
    assert not newest().unknown


@pytest.mark.parametrize(
    ("status", "ended", "graceful"),
    [
        (None, False, False),
        (run("r2", "RUNNING", 2), False, False),
        (run("r2", "PAUSED", 2), False, False),
        (run("r2", "COMPLETED", 2), True, True),
        (run("r2", "STOPPED", 2), True, True),
        (run("r2", "STOPPED", 2, error=ERROR), True, False),
        (run("r2", "FAILED", 2, error=ERROR), True, False),
        (run("r2", "UNKNOWN", 2, error=ERROR), True, False),
    ],
)
def test_how_a_run_ended(status: RunStatus | None, ended: bool, graceful: bool) -> None:
    found = newest(*([status] if status else []))
    assert (found.run_id, found.ended, found.graceful) == ("r2", ended, graceful)


@pytest.mark.parametrize(
    ("target", "before", "after", "done", "told"),
    [
        ("PAUSED", "RUNNING", None, True, "run r2: RUNNING; it follows at its next batch"),
        ("PAUSED", "STOPPED", None, True, "run r2: had ended before (STOPPED); the next start begins paused"),
        ("RUNNING", "COMPLETED", None, True, "run r2: had ended before (COMPLETED); nothing runs until it is started again"),
        ("STOPPED", "RUNNING", "STOPPED", True, "run r2: ended STOPPED"),
        ("STOPPED", "RUNNING", "RUNNING", False, "run r2: RUNNING, has not ended in that time; it may be dead if its driver is"),
        ("STOPPED", "RUNNING", "FAILED", False, "run r2: ended FAILED, CacheDestroyed: see ignite-kafka status c"),
    ],
)
def test_what_was_asked_and_found(target: str, before: str, after: str | None, done: bool, told: str) -> None:
    def found(state: str) -> NewestRun:
        return newest(run("r2", state, 2, error=ERROR if state == "FAILED" else None))

    asked = TargetStateChange("c", target, found(before), found(after) if after else None)
    assert asked.done == done
    assert render.target_state(asked) == f"connector c: target state {target}\n{told}"
    assert asked.to_dict()["ended"] == ((after or before) not in ("RUNNING", "PAUSED"))


def test_an_unknown_name_lists_the_known_ones() -> None:
    text = str(unknown_connector_error(SourceSettings(name="nihgtly"), ["hourly", "nightly"]))
    assert "connector nihgtly" in text
    assert "Did you mean nightly? Known are hourly, nightly;" in text
    assert "None is known there" in str(unknown_connector_error(SourceSettings(name="a"), []))
