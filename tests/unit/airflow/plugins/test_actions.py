"""Actions of the page: what each asks of the connector, its confirmation, and wrong fields of a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from airflow_provider_ignite_kafka.plugins import actions
from airflow_provider_ignite_kafka.plugins.actions import ACTIONS, perform
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from ignite_kafka.admin import backlog, dead_letters, offsets, signals, sink_offsets
from ignite_kafka.admin.backlog import Resend
from ignite_kafka.admin.dead_letters import Replay
from ignite_kafka.admin.offsets import ResetOffsets
from ignite_kafka.admin.signals import RequestedSignals
from ignite_kafka.admin.sink_offsets import MovedOffsets
from ignite_kafka.admin.target_state import NewestRun, TargetStateChange
from ignite_kafka.errors import NotStopped, SettingsError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.state.signal_records import CacheSelection
from ignite_kafka.state.status import COMPLETED, RunStatus
from tests.unit.airflow.bench import CONFIG

CLUSTER = MonitoredCluster("kafka_default", "copies", "ignite_default")
Done = list[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def connections(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("kafka_default", conn_type="kafka", extra=CONFIG)
    connect("ignite_default", conn_type="ignite", host="node", login="ignite", password="ignite-sesame")
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__ALLOW_INSECURE_CONNECTIONS", "True")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Done:
    """Calls of the administration: connector, prefix, broker, node, password of Kafka, and what it was asked for."""
    found: Done = []

    def about(settings: ConnectorSettings, secrets: Secrets) -> tuple[Any, ...]:
        where = (settings.bootstrap_servers, settings.ignite_addresses)
        return settings.name, settings.internal_topic_prefix, *where, secrets.kafka["sasl.password"]

    def target(settings: ConnectorSettings, secrets: Secrets, state: str) -> TargetStateChange:
        found.append((*about(settings, secrets), state))
        return TargetStateChange(settings.name, state, NewestRun(None, RunStatus(COMPLETED, settings.name, "r", ended_ms=1)))

    def resend(settings: ConnectorSettings, secrets: Secrets, cache: str, partition: int | None) -> Resend:
        found.append((*about(settings, secrets), cache, partition))
        return Resend(settings.name, cache, (0, 1) if partition is None else (partition,))

    def reset(settings: ConnectorSettings, secrets: Secrets, cache: str | None, partition: int | None) -> ResetOffsets:
        found.append((*about(settings, secrets), cache, partition))
        return ResetOffsets({cache or "every": 8})

    def move(settings: ConnectorSettings, secrets: Secrets, to: str, topic: str | None, partition: int | None) -> MovedOffsets:
        found.append((*about(settings, secrets), to, topic, partition))
        return MovedOffsets({(topic or "every", partition or 0): (-1, 7)})

    def replay(settings: ConnectorSettings, secrets: Secrets, limit_s: float) -> Replay:
        found.append(about(settings, secrets))
        return Replay(settings.name, 3)

    def snapshot(settings: ConnectorSettings, secrets: Secrets, chosen: list[CacheSelection], origin: str) -> RequestedSignals:
        found.append((*about(settings, secrets), *chosen, origin))
        return RequestedSignals(settings.name, "snapshot", ("s",), run_ended=False)

    def change(settings: ConnectorSettings, secrets: Secrets, action: str, signal: str) -> RequestedSignals:
        found.append((*about(settings, secrets), action, signal))
        return RequestedSignals(settings.name, action, (signal,), run_ended=True)

    monkeypatch.setattr(signals, "request_snapshot", snapshot)
    monkeypatch.setattr(signals, "change_signals", change)
    monkeypatch.setattr(dead_letters, "replay", replay)
    monkeypatch.setattr(sink_offsets, "move", move)
    monkeypatch.setattr(actions, "request_target_state", target)
    monkeypatch.setattr(backlog, "resend", resend)
    monkeypatch.setattr(offsets, "reset", reset)
    return found


def act(name: str, **form: str) -> str:
    return perform(ACTIONS[name], CLUSTER, "c", form)


KAFKA_ONLY = ("c", "copies", "broker:9092", ("127.0.0.1:10800",), "kafka-sesame")
BOTH = ("c", "copies", "broker:9092", ("node:10800",), "kafka-sesame")


@pytest.mark.parametrize(
    ("name", "form", "asked"),
    [
        ("pause", {}, (*KAFKA_ONLY, "PAUSED")),
        ("resume", {}, (*KAFKA_ONLY, "RUNNING")),
        ("stop", {"typed_name": " c "}, (*KAFKA_ONLY, "STOPPED")),
        ("resend", {"cache": "air"}, (*BOTH, "air", None)),
        ("resend", {"cache": "air", "partition": " 7 "}, (*BOTH, "air", 7)),
        ("reset", {"typed_name": "c"}, (*KAFKA_ONLY, None, None)),
        ("reset", {"typed_name": "c", "cache": "air", "partition": "7"}, (*KAFKA_ONLY, "air", 7)),
        ("reset", {"typed_name": "c", "to": "latest", "topic": ""}, (*KAFKA_ONLY, "latest", None, None)),
        ("reset", {"typed_name": "c", "to": "7", "topic": "t-air", "partition": "3"}, (*KAFKA_ONLY, "7", "t-air", 3)),
        ("replay", {"typed_name": "c"}, KAFKA_ONLY),
        (
            "snapshot",
            {"cache": "air", "where": " a > 1 ", "partition": "7"},
            (*KAFKA_ONLY, CacheSelection("air", "a > 1", (), (7,)), "page"),
        ),
        ("snapshot", {"cache": "air"}, (*KAFKA_ONLY, CacheSelection("air"), "page")),
        ("pause-signal", {"signal": "s"}, (*KAFKA_ONLY, "pause", "s")),
        ("resume-signal", {"signal": "s"}, (*KAFKA_ONLY, "resume", "s")),
        ("stop-signal", {"signal": "s"}, (*KAFKA_ONLY, "stop", "s")),
    ],
)
def test_each_action_asks_the_connector_of_its_cluster(done: Done, name: str, form: Mapping[str, str], asked: tuple[Any, ...]) -> None:
    assert act(name, **form)
    assert done == [asked]


def test_every_action_is_tested_above() -> None:
    of_signals = {"snapshot", "pause-signal", "resume-signal", "stop-signal"}
    assert set(ACTIONS) == {"pause", "resume", "stop", "resend", "reset", "replay", *of_signals}


def test_what_was_done_is_told(done: Done) -> None:
    assert act("pause").startswith("connector c: target state PAUSED")
    assert "2 partitions will be sent again by connector c" in act("resend", cache="air")
    assert act("reset", typed_name="c", cache="air") == "cache air: 8 units forgotten"
    assert act("reset", typed_name="c", to="7", topic="t", partition="3") == "topic t, partition 3: next offset was none, is 7"


@pytest.mark.parametrize("name", ["stop", "reset"])
@pytest.mark.parametrize("form", [{}, {"typed_name": ""}, {"typed_name": "d"}, {"typed_name": "C"}])
def test_an_action_that_cannot_be_undone_needs_the_connector_s_name(done: Done, name: str, form: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="the typed name is not the connector's name"):
        act(name, **form)
    assert done == []


@pytest.mark.parametrize(
    ("name", "form", "told"),
    [
        ("resend", {}, "no cache is given"),
        ("snapshot", {"cache": " "}, "no cache is given"),
        ("snapshot", {"cache": "air", "partition": "x"}, "'x' is no partition"),
        ("stop-signal", {}, "no signal is given"),
        ("resend", {"cache": "  "}, "no cache is given"),
        ("resend", {"cache": "air", "partition": "x"}, "'x' is no partition"),
        ("resend", {"cache": "air", "partition": "-1"}, "'-1' is no partition"),
        ("resend", {"cache": "air", "partition": "65536"}, "from 0 to 65535"),
        ("resend", {"cache": "air", "partition": "1.5"}, "is no partition"),
        ("resend", {"cache": "air", "partition": "²"}, "is no partition"),
        ("reset", {"typed_name": "c", "partition": "3"}, "a partition is given without its cache"),
        ("reset", {"typed_name": "c", "to": "latest", "partition": "3"}, "a partition is given without its topic"),
        ("reset", {"typed_name": "c", "cache": "air", "partition": "all"}, "'all' is no partition"),
    ],
)
def test_a_wrong_field_is_refused_and_nothing_is_done(done: Done, name: str, form: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        act(name, **form)
    assert told in str(refused.value)
    assert refused.value.remedy
    assert done == []


def test_what_the_administration_refuses_is_the_action_s_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def running(*_: Any) -> Any:
        raise NotStopped("the newest run has not ended", "Stop it.")

    monkeypatch.setattr(offsets, "reset", running)
    with pytest.raises(NotStopped):
        act("reset", typed_name="c")


def test_a_connection_that_is_missing_says_where_to_make_it(done: Done) -> None:
    with pytest.raises(SettingsError) as refused:
        perform(ACTIONS["pause"], MonitoredCluster("nowhere"), "c", {})
    assert "nowhere" in str(refused.value)
    assert "Admin > Connections" in refused.value.remedy
    assert done == []


def test_resend_without_a_connection_of_ignite_names_the_option(done: Done) -> None:
    with pytest.raises(SettingsError) as refused:
        perform(ACTIONS["resend"], MonitoredCluster("kafka_default"), "c", {"cache": "air"})
    assert "Add ignite_conn_id to the entry of this cluster in option monitored_clusters" in refused.value.remedy
    assert done == []
