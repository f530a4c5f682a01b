"""The proxy between a real broker and a real transactional producer."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import KafkaException, Producer

from tests.support.kafka_proxy import Api, Connection, KafkaProxy, parse_request
from tests.support.oracle import read_committed
from tests.support.servers import ProxiedBroker
from tests.support.waiting import REQUEST_S

ID = "proxy-test"


@pytest.fixture
def begun(broker: ProxiedBroker, topic: str) -> Iterator[Producer]:
    """A producer behind the proxy with a transaction of one record."""
    producer = Producer({"bootstrap.servers": broker.proxy.bootstrap, "transactional.id": ID, "log_level": 2})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"value", b"key")
    yield producer
    producer.purge(in_queue=True, in_flight=True)


def visible(broker: ProxiedBroker, topic: str) -> int:
    return len(read_committed(broker.bootstrap, topic, settled=False).records)


def test_held_request_does_not_reach_the_broker(broker: ProxiedBroker, topic: str, begun: Producer) -> None:
    rule = broker.proxy.hold_request(Api.END_TXN, ID)
    with ThreadPoolExecutor(1) as pool:
        commit = pool.submit(begun.commit_transaction, 30)
        assert rule.wait().transactional_id == ID
        assert visible(broker, topic) == 0
        assert not commit.done()
        rule.release()
        commit.result()
    assert len(read_committed(broker.bootstrap, topic).records) == 1


def test_a_held_reply_times_out_although_the_request_was_done(broker: ProxiedBroker, topic: str, begun: Producer) -> None:
    rule = broker.proxy.hold_reply(Api.END_TXN, ID)
    with pytest.raises(KafkaException) as error:
        begun.commit_transaction(1)
    assert error.value.args[0].name() == "_TIMED_OUT"
    rule.wait()
    assert len(read_committed(broker.bootstrap, topic).records) == 1


def test_watched_reply_is_passed(broker: ProxiedBroker, topic: str, begun: Producer) -> None:
    rule = broker.proxy.watch_reply(Api.END_TXN, f"{ID}|other")
    begun.commit_transaction(REQUEST_S)
    assert rule.wait().transactional_id == ID


def test_what_follows_a_reply_is_held(broker: ProxiedBroker, topic: str, begun: Producer) -> None:
    rule = broker.proxy.hold_next(Api.END_TXN, ID)
    begun.commit_transaction(REQUEST_S)
    rule.wait()
    begun.begin_transaction()
    begun.produce(topic, b"second")
    with ThreadPoolExecutor(1) as pool:
        commit = pool.submit(begun.commit_transaction, REQUEST_S)
        assert len(read_committed(broker.bootstrap, topic).records) == 1
        assert not commit.done()
        rule.release()
        commit.result()
    assert len(read_committed(broker.bootstrap, topic).records) == 2


def test_late_request_of_a_fenced_producer_changes_nothing(broker: ProxiedBroker, topic: str, begun: Producer) -> None:
    rule = broker.proxy.hold_request(Api.END_TXN, ID)
    with ThreadPoolExecutor(1) as pool:
        commit = pool.submit(begun.commit_transaction, 30)
        rule.wait()
        newer = Producer({"bootstrap.servers": broker.proxy.bootstrap, "transactional.id": ID, "log_level": 2})
        newer.init_transactions(30)
        rule.release()
        with pytest.raises(KafkaException, match="fenced"):
            commit.result()
    assert visible(broker, topic) == 0


def test_rules_count_only_what_matches(broker: ProxiedBroker, topic: str, begun: Producer) -> None:
    rule = broker.proxy.watch_reply(Api.END_TXN, "another-id")
    begun.commit_transaction(REQUEST_S)
    with pytest.raises(TimeoutError, match="0 matching requests"):
        rule.wait(0.1)


def test_cut_connections_are_made_again(broker: ProxiedBroker, topic: str, begun: Producer) -> None:
    begun.flush(REQUEST_S)
    broker.proxy.cut()
    begun.commit_transaction(REQUEST_S)
    assert len(read_committed(broker.bootstrap, topic).records) == 1


def test_delayed_replies_arrive(broker: ProxiedBroker, topic: str, begun: Producer) -> None:
    rule = broker.proxy.delay_replies(Api.END_TXN, 0.5, ID)
    begun.commit_transaction(REQUEST_S)
    assert rule.reached


def test_request_headers_are_parsed() -> None:
    old = struct.pack(">hhih", 26, 1, 7, 2) + b"me" + struct.pack(">h", 3) + b"t-1" + bytes(11)
    flexible = struct.pack(">hhih", 22, 4, 8, 2) + b"me" + b"\x00" + b"\x04t-1" + bytes(11)
    plain_produce = struct.pack(">hhih", 0, 10, 9, -1) + b"\x00" + b"\x00" + bytes(11)
    heads = [parse_request(frame, Connection(5, 6)) for frame in (old, flexible, plain_produce)]
    assert [(head.api, head.correlation, head.transactional_id) for head in heads] == [(26, 7, "t-1"), (22, 8, "t-1"), (0, 9, None)]


def test_close_leaves_no_thread() -> None:
    proxy = KafkaProxy()
    proxy.close()
    assert f"kafka-proxy {proxy.port}" not in {thread.name for thread in threading.enumerate()}
