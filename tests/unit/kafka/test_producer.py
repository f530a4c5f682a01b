"""How long a producer tries a record: as it is told, and no longer than its transaction may last; what a broker refuses. None is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from ignite_kafka.errors import SettingsError, TopicError
from ignite_kafka.kafka.clients import KafkaClients, translate
from ignite_kafka.kafka.producer import TransactionalProducer, fenced_by_newer

Made = Callable[[dict[str, str], int], dict[str, Any]]


@pytest.fixture
def made() -> Made:
    """Creates a producer and returns the configuration that librdkafka got."""
    taken: list[dict[str, Any]] = []

    def recorded(config: dict[str, Any]) -> Producer:
        taken.append(config)
        return Producer(dict(config))

    def make(override: dict[str, str], timeout_ms: int) -> dict[str, Any]:
        clients = KafkaClients({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, override)
        TransactionalProducer(clients, "id", timeout_ms, client=recorded).close()
        return taken[-1]

    return make


@pytest.mark.parametrize("name", ["delivery.timeout.ms", "message.timeout.ms"])
@pytest.mark.parametrize(("value", "timeout_ms", "used"), [("45000", 60_000, 45_000), ("120000", 30_000, 30_000), ("0", 30_000, 30_000)])
def test_a_record_is_tried_as_long_as_it_is_told(made: Made, name: str, value: str, timeout_ms: int, used: int) -> None:
    config = made({name: value}, timeout_ms)
    assert (config["message.timeout.ms"], "delivery.timeout.ms" in config) == (used, False)


@pytest.mark.parametrize(("timeout_ms", "used"), [(60_000, 60_000), (600_000, 300_000)])
def test_a_record_is_tried_for_five_minutes_at_most_where_nothing_is_told(made: Made, timeout_ms: int, used: int) -> None:
    assert made({}, timeout_ms)["message.timeout.ms"] == used


def test_what_is_no_number_is_told_by_librdkafka(made: Made) -> None:
    with pytest.raises(SettingsError, match=r"message\.timeout\.ms"):
        made({"delivery.timeout.ms": "soon"}, 60_000)


@pytest.mark.parametrize(
    ("code", "remedy"), [(KafkaError.INVALID_TIMESTAMP, "message.timestamp.after.max.ms"), (KafkaError.INVALID_RECORD, "without a key")]
)
def test_records_that_the_broker_refuses_are_no_broker_that_is_away(code: int, remedy: str) -> None:
    error = translate(KafkaError(code), "sending records")
    assert isinstance(error, TopicError)
    assert error.final
    assert remedy in str(error)


def test_an_error_of_a_fenced_producer_names_each_that_may_have_taken_over() -> None:
    """Only a run has a generation: a repair and a change of offsets, too, initialise the producer of the connector's driver."""
    newer = str(fenced_by_newer("c", None, 3, 4))
    assert "generation 4 of connector 'c' has taken over from generation 3" in newer
    without = str(fenced_by_newer("c", None, 3, 3))
    for word in ("a run that is starting", "a repair", "a change of offsets", "start the connector again"):
        assert word in without
        assert word not in newer
