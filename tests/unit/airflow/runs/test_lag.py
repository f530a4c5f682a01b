"""Conditions of lag sensors, and whose secrets the reader uses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ignite_kafka.runs.lag import LagCondition, LagReader
from ignite_kafka.admin.connector_lag import NEVER_STARTED, UNKNOWN, ConnectorLag, ahead_of, marks_of
from ignite_kafka.errors import SettingsError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.partition_lag import PartitionLag
from ignite_kafka.settings.secrets import Secrets, dump
from ignite_kafka.state.status import COMPLETED, RUNNING

BEHIND = (PartitionLag("a", 0, 5, 9, 4), PartitionLag("a", 1, 0, 3, 3), PartitionLag("b", 0, 7, 8, 1))
LAG = ConnectorLag("c", RUNNING, True, BEHIND, frozenset("abc"))


@pytest.mark.parametrize(
    ("max_lag", "met"),
    [(7, False), (8, True), ({"a": 7}, True), ({"a": 6}, False), ({"a": 7, "b": 0}, False), ({"c": 0}, True), ({"other": 9}, False)],
)
def test_lag_of_a_connector_or_of_some_caches_and_topics(max_lag: int | Mapping[str, int], met: bool) -> None:
    assert LagCondition(max_lag).is_met(LAG) is met


@pytest.mark.parametrize("state", [NEVER_STARTED, UNKNOWN])
def test_a_connector_without_a_run_has_no_small_lag(state: str) -> None:
    assert not LagCondition(100).is_met(ConnectorLag("c", state, True))


def test_initial_data_counts_until_it_is_copied() -> None:
    assert not LagCondition(100).is_met(ConnectorLag("c", RUNNING, False))
    assert not LagCondition(marks={}).is_met(ConnectorLag("c", RUNNING, False))
    assert LagCondition(0).is_met(ConnectorLag("c", COMPLETED, True))


def test_caught_up_is_what_there_was_though_more_has_come() -> None:
    marks = marks_of(LAG)
    assert marks == {"a/0": 9, "a/1": 3, "b/0": 8}
    later = ConnectorLag(
        "c", RUNNING, True, (PartitionLag("a", 0, 9, 90, 81), PartitionLag("b", 0, 7, 30, 23), PartitionLag("d", 0, 0, 5, 5))
    )
    assert ahead_of(later, marks) == {"b/0": 8}
    assert not LagCondition(marks=marks).is_met(later)
    assert LagCondition(marks={"a/0": 9, "a/1": 3}).is_met(later)


@pytest.mark.parametrize("wrong", [-1, "soon", None, True, 1.5, {"a": -1}, {"a": "x"}], ids=str)
def test_a_lag_that_is_no_number_is_refused(wrong: Any) -> None:
    with pytest.raises(SettingsError, match="max_lag is"):
        LagCondition(wrong).check()


def test_xcom_has_counts_by_name_and_no_positions() -> None:
    assert LAG.to_dict() == {
        "connector": "c",
        "state": RUNNING,
        "loaded": True,
        "sends_again": False,
        "lag": {"a": 7, "b": 1},
        "total": 8,
        "open": {},
    }


def test_records_behind_an_open_transaction_are_waited_for_and_told() -> None:
    """A sink that has stored all committed records is not caught up with a topic that has more."""
    opened = ConnectorLag("c", COMPLETED, True, (PartitionLag("t", 0, 3, 9, 0, 6),), frozenset("t"))
    for condition in (LagCondition(0), LagCondition({"t": 5}), LagCondition(marks=marks_of(opened))):
        assert not condition.is_met(opened)
        assert condition.warning(opened) == "Records of connector c wait behind transactions that are open (t: 6)"
    assert LagCondition(6).is_met(opened)
    assert LagCondition(marks=marks_of(opened)).is_met(ConnectorLag("c", COMPLETED, True, (), frozenset("t")))
    assert (opened.counts(), opened.to_dict()["total"], opened.to_dict()["open"]) == ({}, 0, {"t": 6})


def test_reader_has_the_secrets_of_the_file_and_connects_ignite_for_streams_only(
    connect: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Any] = []

    def read_lag(clients: KafkaClients, prefix: str, connector: str, open_cluster: Any) -> ConnectorLag:
        asked.extend([clients.common["sasl.password"], prefix, connector])
        if connector == "stream":
            open_cluster()
        return LAG

    monkeypatch.setattr("ignite_kafka.admin.connector_lag.read_lag", read_lag)
    monkeypatch.setattr(
        "airflow_provider_ignite_kafka.hooks.ignite_connection.IgniteConnection.cluster", lambda *given: asked.append(given[1:])
    )
    connect("ignite_default", conn_type="ignite")
    login = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": "sesame"}
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092", **login})
    file = tmp_path / "secrets.json"
    dump(Secrets(kafka={"sasl.password": "mellon"}), file)
    assert LagReader("sink").read() == LAG
    LagReader("stream", internal_topic_prefix="own", secrets_file=str(file)).read(7.0)
    assert asked == ["sesame", "ignite-kafka", "sink", "mellon", "own", "stream", (str(file), 7.0)]
