"""Target states on a real broker: asked by anyone, without a hold on the connector."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ignite_kafka.errors import TopicError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state.configs import SnapshotRecord, read_connector
from ignite_kafka.state.configs_writer import ConfigsWriter
from ignite_kafka.state.target_state import read_target, write_target
from tools.servers import KafkaBroker


def test_the_target_asked_last_counts_and_fences_nobody(kafka: KafkaBroker, unique: Callable[[str], str]) -> None:
    clients = KafkaClients(kafka.client_config)
    topics, prefix = Topics(clients), unique("targets")
    assert read_target(clients, topics, prefix, "c") is None
    control = ConfigsWriter(clients, topics, prefix, "c")
    control.take(2, "run", {}, -1)
    control.begin(SnapshotRecord("s", {}))
    assert read_target(clients, topics, prefix, "c") is None
    for state in ("PAUSED", "STOPPED", "RUNNING", "PAUSED"):
        write_target(clients, topics, prefix, "c", state)
        assert read_target(clients, topics, prefix, "c") == state
    write_target(clients, topics, prefix, "another", "STOPPED")
    assert read_target(clients, topics, prefix, "c") == "PAUSED"
    control.end_snapshot(SnapshotRecord("s", {}), {})
    found = read_connector(clients, topics, prefix, "c")
    assert found.connector == control.record
    assert found.snapshot == SnapshotRecord("s", {}, complete=True)
    control.close()


def test_a_target_that_cannot_be_written_is_told(kafka: KafkaBroker, unique: Callable[[str], str]) -> None:
    clients = KafkaClients(kafka.client_config)
    prefix = unique("never-started")
    with pytest.raises(TopicError, match=f"does not exist.*{prefix}-configs"):
        write_target(clients, Topics(clients), prefix, "c", "PAUSED")
    assert not [topic for topic in Topics(clients).existing() if prefix in topic], "nothing was made"
    with pytest.raises(ValueError, match="'HALTED' is no target state"):
        write_target(clients, Topics(clients), prefix, "c", "HALTED")
