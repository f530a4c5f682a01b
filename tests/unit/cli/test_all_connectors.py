"""The line of a connector in the list of all, from its records in Kafka."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from ignite_kafka.admin import connector_lag
from ignite_kafka.admin.overview import ConnectorOverview, OverviewReader, Report, TargetRequest
from ignite_kafka.cli import all_connectors
from ignite_kafka.cli.all_connectors import ConnectorList, make_line, read_connectors
from ignite_kafka.common.event_log import count_of
from ignite_kafka.errors import CacheDestroyed, KafkaUnavailable
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import CacheStatus, RunStatus
from tests.support.json_output import check_value

NOW = 1_764_244_800_000
RUN = RunStatus("RUNNING", "flights", "r2", generation=2, started_ms=NOW - 60_000, caches={"x": CacheStatus("x", records=3_000)})
BEFORE = replace(RUN, caches={"x": CacheStatus("x", records=1_000)})
SOURCE = ConnectorOverview(
    "flights",
    ConnectorState(ConnectorRecord(2, 4, run_id="r2")),
    {"r2": RUN},
    (Report(NOW - 10_000, BEFORE), Report(NOW, RUN)),
    {15120: count_of(NOW, "slot 0 restarts", {}) + count_of(NOW, "slot 1 restarts", {}), 15060: count_of(NOW, "connected", {})},
    TargetRequest("PAUSED", NOW),
)
SINK = ConnectorOverview(
    "copy",
    ConnectorState(ConnectorRecord(1, 4, run_id="r1", settings={"name": "copy", "topics": ["t"]})),
    {"r1": RunStatus("RUNNING", "copy", "r1", generation=1)},
)


def test_a_running_source() -> None:
    line = make_line(SOURCE, NOW)
    assert (line.name, line.direction, line.state, line.target) == ("flights", "Ignite to Kafka", "RUNNING", "PAUSED")
    assert (line.run_id, line.records, line.rate, line.lag) == ("r2", 3_000, 200.0, None)
    assert (line.warnings, line.errors, line.error) == (2, 0, None)
    rows = ConnectorList((line,)).text().splitlines()
    assert "RUNNING, to be PAUSED" in rows[2]
    check_value("status", json.loads(json.dumps(ConnectorList((line,)).to_dict())))


def test_a_run_that_no_longer_reports_is_lost() -> None:
    line = make_line(SOURCE, NOW + 3_600_000)
    assert (line.state, line.rate) == ("LOST", None)


def test_the_error_of_a_run_and_of_a_record() -> None:
    failed = replace(RUN, state="FAILED", ended_ms=NOW, error=CacheDestroyed("gone", cache="x").to_dict())
    assert make_line(replace(SOURCE, runs={"r2": failed}), NOW).error == "CacheDestroyed: gone [cache x]"
    hidden = replace(SOURCE, state=ConnectorState(ConnectorRecord(2, 4, run_id="r2", settings={"log_values": False})), runs={"r2": failed})
    assert "gone" not in str(make_line(hidden, NOW).error), "log_values is honoured"
    unreadable = ConnectorOverview("c", unreadable=KafkaUnavailable("a record of a newer version"))
    assert make_line(unreadable, NOW).error == "KafkaUnavailable: a record of a newer version"


def test_without_connectors_the_text_says_so() -> None:
    assert ConnectorList(()).text() == "no connector was ever started"


def test_active_sinks_have_a_lag_unless_it_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def lag(_topics: object, group: str, names: list[str]) -> dict[str, int]:
        asked.append(group)
        if len(asked) > 1:
            raise KafkaUnavailable("no broker")
        return dict.fromkeys(names, 7)

    reader = cast(OverviewReader, SimpleNamespace(read=lambda *_: {"copy": SINK, "flights": SOURCE}))
    monkeypatch.setattr(all_connectors, "sink_lag", lag)
    monkeypatch.setattr(connector_lag, "list_topics", lambda *_: ["t", "u"])
    clients = KafkaClients({"bootstrap.servers": "127.0.0.1:1"})
    assert [(line.name, line.lag) for line in read_connectors(clients, reader).connectors] == [("copy", 14), ("flights", None)]
    (sink,) = read_connectors(clients, reader, "copy").connectors
    assert (sink.name, sink.lag) == ("copy", None)
    assert asked == ["connect-copy"] * 2
