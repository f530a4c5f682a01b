"""Records of a connector's runs, on a fake of Kafka's topics; a broker is used by the integration tests."""

from __future__ import annotations

import pytest

from airflow_provider_ignite_kafka.runs import records as run_records
from airflow_provider_ignite_kafka.runs.records import RunRecords
from ignite_kafka.kafka.clients import KafkaClients
from tests.support.fake_lag import FakeTopics


def test_partitions_without_an_offset_count_from_their_first_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_records, "Topics", lambda _clients: FakeTopics({0: 100, 1: 95}))
    records = RunRecords(KafkaClients({}), "p", "c")
    monkeypatch.setattr(records, "owner", lambda: None)
    assert records.sink_lag(["t", "deleted"]) == {"t": 95}
