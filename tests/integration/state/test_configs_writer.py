"""The driver's transactions on a real broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.producer import TransactionalProducer
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state.configs import read_connector
from ignite_kafka.state.configs_writer import ConfigsWriter
from tools.servers import KafkaBroker

PREFIX = "it-configs"
BELOW_THE_TIMEOUT_S = 15.0  # control transactions end by themselves after 30 s


def test_a_transaction_that_ctrl_c_leaves_open_is_aborted(
    kafka: KafkaBroker, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = KafkaClients({"bootstrap.servers": kafka.bootstrap}, patience_s=BELOW_THE_TIMEOUT_S)
    topics, name = Topics(clients), unique("connector")
    control = ConfigsWriter(clients, topics, PREFIX, name)
    control.take(1, "run", {}, -1)
    control.begin()

    def interrupted(producer: TransactionalProducer) -> None:
        producer._call("sending records", "flush", BELOW_THE_TIMEOUT_S)  # the broker has the record of the open transaction
        raise KeyboardInterrupt

    monkeypatch.setattr(TransactionalProducer, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        control.begin_epoch(1)
    control.close()
    state = read_connector(clients, topics, PREFIX, name)  # of any connector of the prefix
    assert state.connector is not None
    assert state.connector.generation == 1
