"""Declared connectors with their target states, as Dags are made of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from ignite_kafka.admin.declared_connectors import StoredConnector, read_declared
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state import internal_records
from tests.support.fake_messages import message


def test_connectors_are_those_that_are_declared_and_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [
        (b'["declared","a"]', b'{"config":{"x":"1"}}'), (b'["target","a"]', b'{"state":"PAUSED"}'),
        (b'["declared","b"]', b'{"config":{}}'),
        (b'["declared","gone"]', b'{"config":{}}'), (b'["declared","gone"]', b'{"deleted_after":1}'),
        (b'["target","b"]', b'{"state":"STOPPED"}'),
        (b'["connector","file"]', b"{}"), (b'["declared","c"]', b'{"config":{}}'), (b'["target","c"]', b'{"state":"STOPPED","generation":3}'),
    ]  # fmt: skip
    monkeypatch.setattr(internal_records, "read_to_end", lambda *_: iter(message(*record) for record in records))
    topics = cast(Topics, SimpleNamespace(exists=lambda topic: topic == "p-configs"))
    assert read_declared(KafkaClients({}), topics, "p") == [
        StoredConnector("a", {"x": "1"}, "PAUSED"),
        StoredConnector("b", {}, "STOPPED"),
        StoredConnector("c", {}, "RUNNING"),
    ]
