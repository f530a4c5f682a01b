"""All connectors of a prefix from the records of two topics: states, targets, runs, rates; one bad record hides no other connector."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.admin.overview import SINK, SOURCE, ConnectorOverview, read_overview
from ignite_kafka.errors import NewerFormat
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state import internal_records
from ignite_kafka.state.internal_records import FORMAT_HEADERS
from ignite_kafka.state.status import CacheStatus, RunStatus
from tests.support.fake_messages import FakeMessage
from tests.support.hostile_records import KEYS, VALUES

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
    monkeypatch.setattr(internal_records, "read_to_end", lambda clients, topics, topic, partitions: iter(records[topic]))
    topics = SimpleNamespace(exists=lambda topic: bool(records[topic]))
    return read_overview(KafkaClients({}), cast(Topics, topics), "p")


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
