"""Events of a connector that its records tell, newest first, with the ids of the events that its runs emitted."""

from __future__ import annotations

from ignite_kafka.admin.overview import ConnectorOverview, TargetRequest
from ignite_kafka.admin.timeline import timeline
from ignite_kafka.common.event_log import count_of
from ignite_kafka.errors import CacheDestroyed
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import RunStatus

ERROR = CacheDestroyed("the cache is gone", "Start again").to_dict()
RUNS = {
    "r1": RunStatus("FAILED", "c", "r1", "s1", 1, started_ms=1, ended_ms=2, error=ERROR),
    "r2": RunStatus("FENCED", "c", "r2", "s2", 2, started_ms=3, ended_ms=5),
    "r3": RunStatus("RUNNING", "c", "r3", "s3", 3, started_ms=4),
}
ENDED = {
    "r4": RunStatus("STOPPED", "c", "r4", "s4", 4, started_ms=7, ended_ms=8),
    "r5": RunStatus("COMPLETED", "c", "r5", "s5", 5, started_ms=8, ended_ms=9),
}


def test_events_of_runs_target_and_snapshots() -> None:
    state = ConnectorState(ended={"s1": {"complete": False, "superseded_by": "s2"}, "s2": {"complete": True, "superseded_by": None}})
    found = timeline(ConnectorOverview("c", state, RUNS, target=TargetRequest("PAUSED", 6)), 20)
    assert [(one.at_ms, one.event.id) for one in found] == [
        (6, 15143), (5, 15103), (4, 15100), (3, 15100), (2, 15102), (2, 15114), (1, 15100)
    ]  # fmt: skip
    assert "the cache is gone. Start again" in found[4].text
    assert found[0].text == "15143 # target state PAUSED of connector c was requested"


def test_events_that_runs_kept_stand_among_them_and_what_is_derived_stands_once() -> None:
    kept = {
        15120: count_of(4, "slot 1 restarts", {}) + count_of(2, "slot 0 restarts", {}),
        15100: count_of(4, "run r3 started", {}),
        99999: count_of(9, "of a newer version", {}),
    }
    newest = timeline(ConnectorOverview("c", runs=RUNS, events=kept), 20)
    assert [(event.at_ms, event.text) for event in newest if event.event.id == 15120] == [
        (4, "15120 # slot 1 restarts"),
        (2, "15120 # slot 0 restarts"),
    ]
    assert [event.at_ms for event in newest if event.event.id == 15100] == [4, 3, 1]
    assert max(event.at_ms for event in newest) == 5


def test_a_run_that_was_stopped_is_not_complete() -> None:
    texts = [one.text for one in timeline(ConnectorOverview("c", runs=ENDED), 20) if one.at_ms != 7]
    assert sorted(texts) == [
        "15100 # run r5 of connector c started with generation 5",
        "15101 # run r5 of connector c is complete",
        "15262 # run r4 of connector c was stopped",
    ]


def test_only_the_newest_are_kept() -> None:
    assert [one.at_ms for one in timeline(ConnectorOverview("c", runs=RUNS), 2)] == [5, 4]


def test_the_text_of_an_error_is_hidden_where_no_values_are_logged() -> None:
    error = CacheDestroyed("the key anna is no number", "Start again", cache="people", partition=3, reason="anna").to_dict()
    runs = {"r1": RunStatus("FAILED", "c", "r1", "s1", 1, started_ms=1, ended_ms=2, error=error)}

    def end(**settings: object) -> str:
        return timeline(ConnectorOverview("c", ConnectorState(ConnectorRecord(1, 2, settings=settings)), runs), 1)[0].text

    assert "the key anna is no number" in end(log_values=True)
    assert "the key anna is no number" in end()
    hidden = end(log_values=False)
    assert "the text is hidden: log_values is false [cache people, partition 3]. Start again" in hidden
    assert "anna" not in hidden
