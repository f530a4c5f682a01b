"""All connectors of a prefix from the records of two topics: states, targets, runs, rates; one bad record hides no other connector."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from ignite_kafka.admin import overview
from ignite_kafka.admin.overview import SINK, SOURCE, ConnectorOverview, OverviewReader
from ignite_kafka.admin.signals import SignalList, signals_of
from ignite_kafka.errors import KafkaUnavailable, NewerFormat
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.internal_records import FORMAT_HEADERS, InternalRecord
from ignite_kafka.state.signal_records import CacheSelection, Signal, SignalCount, SignalStatus
from ignite_kafka.state.status import CacheStatus, RunStatus, run_of
from tests.support.fake_messages import FakeMessage
from tests.support.hostile_records import KEYS, VALUES
from tests.support.internal_topics import FakeTopics

START = 1_000_000


class Timed(FakeMessage):
    def __init__(self, key: list[Any], value: bytes | None, at_ms: int, format: int = 1) -> None:
        super().__init__(json.dumps(key).encode(), value, [(FORMAT_HEADERS[0][0], str(format).encode())])
        self._at_ms = at_ms

    def timestamp(self) -> tuple[int, int]:
        return 1, self._at_ms


def taken(name: str, run_id: str, generation: int = 1, format: int = 1, **settings: Any) -> Timed:
    value = {"generation": generation, "slots": 2, "run_id": run_id, "settings": settings}
    return Timed(["connector", name], json.dumps(value).encode(), START, format)


def told(name: str, run_id: str, at_ms: int, records: int, state: str = "RUNNING", ended_ms: int | None = None) -> Timed:
    caches = {"a": CacheStatus("t-a", records, records), "b": CacheStatus("t-b")}
    run = RunStatus(state, name, run_id, generation=1, started_ms=START, ended_ms=ended_ms, caches=caches)
    return Timed(["run", name, run_id], run.to_json(), at_ms)


def read(monkeypatch: pytest.MonkeyPatch, configs: list[Timed], status: list[Timed]) -> dict[str, ConnectorOverview]:
    records = {"p-configs": configs, "p-status": status}
    fake = FakeTopics(records)
    monkeypatch.setattr(overview, "read_to", fake.read_to)
    return OverviewReader("p").read(KafkaClients({}), fake.topics)


def test_connectors_with_direction_target_and_newest_run(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Timed(["target", "out"], b'{"state":"PAUSED","at_ms":5}', START + 7)
    found = read(
        monkeypatch,
        [taken("out", "r2"), taken("in", "r1", topics=["t"]), target],
        [told("out", "r1", START, 1), told("out", "r2", START + 10, 2), told("in", "r1", START, 3, "COMPLETED", START + 2_000)],
    )
    assert list(found) == ["in", "out"]
    out, into = found["out"], found["in"]
    assert (out.direction, out.newest.run_id, out.active) == (SOURCE, "r2", True)
    assert (into.direction, into.newest.state, into.active) == (SINK, "COMPLETED", False)
    assert out.target is not None
    assert (out.target.state, out.target.at_ms) == ("PAUSED", START + 7)
    assert list(out.runs) == ["r1", "r2"]


def test_the_rate_of_an_active_run_is_that_between_its_last_two_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = [told("c", "r1", START, 0), told("c", "r1", START + 10_000, 100), told("c", "r1", START + 12_000, 300)]
    assert read(monkeypatch, [taken("c", "r1")], reports)["c"].rates == {"a": 100.0, "b": 0.0}
    assert read(monkeypatch, [taken("c", "r1")], reports[:1])["c"].rates == {}


def test_the_rate_of_an_ended_run_is_its_average(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = [told("c", "r1", START + 9_000, 10), told("c", "r1", START + 10_000, 500, "COMPLETED", START + 10_000)]
    assert read(monkeypatch, [taken("c", "r1")], reports)["c"].rates == {"a": 50.0, "b": 0.0}


def test_runs_that_are_removed_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Timed(["run", "c", "r1"], None, START)
    [found] = read(monkeypatch, [taken("c", "r2")], [told("c", "r1", START, 1), told("c", "r2", START, 1), gone]).values()
    assert list(found.runs) == ["r2"]


def test_a_record_of_a_newer_version_hides_only_its_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(
        monkeypatch, [taken("newer", "r1", format=9), taken("c", "r1")], [told("newer", "r1", START, 1), told("c", "r1", START, 1)]
    )
    assert isinstance(found["newer"].unreadable, NewerFormat)
    assert found["newer"].state.connector is None
    assert found["c"].unreadable is None
    assert found["c"].direction == SOURCE


@pytest.mark.parametrize(("key", "value"), [*((key, b"{}") for key in KEYS), *((b'["run","x","r"]', value) for value in VALUES)])
def test_a_record_of_another_program_hides_no_connector(monkeypatch: pytest.MonkeyPatch, key: bytes, value: bytes) -> None:
    hostile = Timed([], value, 1 << 62)
    hostile._key = key
    found = read(monkeypatch, [hostile, taken("good", "r1"), hostile], [hostile, told("good", "r1", START, 5), hostile])
    assert (found["good"].direction, found["good"].newest.state, found["good"].unreadable) == (SOURCE, "RUNNING", None)
    assert all(isinstance(run_id, str) for connector in found.values() for run_id in connector.runs)


def test_a_time_out_of_range_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Timed(["target", "c"], b'{"state":"PAUSED"}', (1 << 63) - 1)
    found = read(monkeypatch, [taken("c", "r1"), target], [told("c", "r1", -1, 5), told("c", "r1", 1 << 62, 5)])["c"]
    assert [report.at_ms for report in found.reports] == [0, 0]
    assert found.target is not None
    assert found.target.at_ms == 0


def test_no_topic_means_no_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, [], []) == {}


def test_a_start_that_failed_before_it_took_the_connector_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    [found] = read(monkeypatch, [], [told("c", "r1", START, 0, "FAILED", START)]).values()
    assert (found.direction, found.newest.state, found.active) == ("", "FAILED", False)


class Continued:
    """A reader of the connectors, and the topics to which tests add records between two reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fake = FakeTopics({"p-configs": [taken("c", "r1")], "p-status": [told("c", "r1", START, 1)]})
        monkeypatch.setattr(overview, "read_to", self.fake.read_to)
        self.reader = OverviewReader("p")

    def read(self) -> dict[str, ConnectorOverview]:
        self.fake.read.clear()
        return self.reader.read(KafkaClients({}), self.fake.topics)


def test_a_second_read_continues_where_the_first_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    continued = Continued(monkeypatch)
    continued.read()
    continued.fake.messages["p-status"].append(told("c", "r1", START + 1_000, 101))
    assert continued.read()["c"].rates == {"a": 100.0, "b": 0.0}
    assert continued.fake.read == [("p-configs", 1), ("p-status", 1)]


def test_signals_follow_from_the_records_that_are_read_already(monkeypatch: pytest.MonkeyPatch) -> None:
    continued = Continued(monkeypatch)
    requested = [
        Timed(["signal", "c", id], Signal(id, (CacheSelection("flights"),), START).to_json(), START) for id in ("done", "now", "next")
    ]
    end = SignalStatus("done", "COMPLETED", START, START + 5, {"flights": SignalCount(2, 2, 7)})
    running = SignalStatus("now", "RUNNING", START, START + 5_000, {"flights": SignalCount(2, 1, 3)})
    paused = Timed(["signal", "c", "next", "target"], b'{"state":"PAUSED"}', START)
    continued.fake.messages["p-configs"] += [*requested, Timed(["signal", "c", "done", "end"], end.to_json(), START), paused]
    continued.fake.messages["p-status"] += [
        Timed(["signal", "c", "done"], None, START),
        Timed(["signal", "c", "now"], running.to_json(), START),
    ]
    before = continued.read()["c"]
    continued.fake.messages["p-configs"] += [
        Timed(["signal", "c", "now", "end"], replace(running, state="FAILED", error="no column").to_json(), START)
    ]
    after = continued.read()["c"]
    assert [(one.id, one.state, one.requested, one.total.records) for one in signals_of(before).signals] == [
        ("done", "COMPLETED", "", 7),
        ("now", "RUNNING", "", 3),
        ("next", "WAITING", "PAUSED", 0),
    ]
    assert [(one.id, one.error) for one in signals_of(after).signals] == [("done", ""), ("now", "no column"), ("next", "")]
    assert signals_of(ConnectorOverview("other")) == SignalList("other", (), run_ended=False)


def test_a_topic_that_was_made_again_is_read_from_its_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    continued = Continued(monkeypatch)
    continued.read()
    continued.fake.ids["p-status"] = "another"
    continued.fake.messages["p-status"] = [told("d", "r1", START, 1), told("e", "r1", START, 1)]
    found = continued.read()
    assert list(found) == ["c", "d", "e"]
    assert list(found["c"].runs) == []
    assert continued.fake.read == [("p-configs", 0), ("p-status", 0)]


def test_a_topic_that_lost_records_is_read_from_its_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    continued = Continued(monkeypatch)
    continued.fake.messages["p-status"] *= 3
    continued.read()
    del continued.fake.messages["p-status"][1:]
    continued.read()
    assert continued.fake.read == [("p-configs", 0), ("p-status", 0)]


def test_topics_are_read_from_their_begin_after_a_pause_in_which_a_tombstone_may_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    continued = Continued(monkeypatch)
    continued.read()
    monkeypatch.setattr(continued.reader, "_read_s", time.monotonic() - 4_000)
    continued.read()
    assert continued.fake.read == [("p-configs", 0), ("p-status", 0)]


def test_an_unreadable_record_that_compaction_has_removed_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    continued = Continued(monkeypatch)
    continued.fake.messages["p-configs"].insert(0, taken("c", "r1", format=9))
    assert continued.read()["c"].unreadable is not None
    del continued.fake.messages["p-configs"][0]
    assert continued.read()["c"].unreadable is None


def test_a_read_that_failed_half_way_continues_there(monkeypatch: pytest.MonkeyPatch) -> None:
    continued = Continued(monkeypatch)
    status = [told("c", "r1", START, 1), told("c", "r1", START + 1_000, 101)]
    for offset, message in enumerate(status):
        monkeypatch.setattr(message, "offset", lambda offset=offset: offset)
    continued.fake.messages["p-status"] = status

    def away(clients: Any, topic: str, ends: Any, starts: Any) -> Any:
        for message in continued.fake.read_to(clients, topic, ends, starts):
            yield message
            if topic == "p-status":
                raise KafkaUnavailable("no broker answers")

    monkeypatch.setattr(overview, "read_to", away)
    with pytest.raises(KafkaUnavailable):
        continued.read()
    monkeypatch.setattr(overview, "read_to", continued.fake.read_to)
    assert continued.read()["c"].rates == {"a": 100.0, "b": 0.0}
    assert continued.fake.read == [("p-configs", 1), ("p-status", 1)]


def test_a_run_is_parsed_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[Any] = []

    def parse(record: InternalRecord) -> RunStatus | None:
        parsed.append(record.rest)
        return run_of(record)

    monkeypatch.setattr(overview, "run_of", parse)
    [found] = read(monkeypatch, [taken("c", "r3")], [told("c", f"r{number}", START, 1) for number in range(4)]).values()
    assert found.newest.state == "RUNNING"
    assert parsed == [("r3",)]
    assert len(found.runs) == 4


@pytest.mark.parametrize(("minutes_ago", "lag"), [(0, 5), (2, 5), (3, None)])
def test_the_recorded_lag_is_that_of_the_newest_point(monkeypatch: pytest.MonkeyPatch, minutes_ago: int, lag: int | None) -> None:
    begun = time.time()
    monkeypatch.setattr(time, "time", lambda: begun)  # no minute begins between the record and its reader
    minute = int(begun // 60) - minutes_ago
    points = [[minute - 1, 1, 0, 9, None], [minute, 1, 0, 5, 20]]
    history = Timed(["history", "c", 3, 1], json.dumps({"points": points}).encode(), START)
    older = Timed(["history", "c", 2, 1], json.dumps({"points": [[minute - 10, 1, 0, 7, None]]}).encode(), START)
    [found] = read(monkeypatch, [taken("c", "r1")], [told("c", "r1", START, 1), history, older, history]).values()
    assert found.recorded_lag() == lag
    assert len(found.points()) == 3
    [ended] = read(monkeypatch, [taken("c", "r1")], [told("c", "r1", START, 1, "STOPPED", START), history]).values()
    assert ended.recorded_lag() is None
