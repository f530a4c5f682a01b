"""A broker that answers late: a transactional call without an answer ends its producer, and the next one reads what became of it."""

from __future__ import annotations

import pytest

from tests.faults.conftest import Copy
from tests.support.kafka_proxy import Api

SHORT = {"transaction_timeout_ms": 4000, "transaction_max_ms": 1000}


def test_commit_that_times_out_and_was_done(copy: Copy) -> None:
    """The reply to EndTxn never comes; the transaction was committed and must not be sent again."""
    rule = copy.broker.proxy.hold_reply(Api.END_TXN, copy.slot_id(1), 2)
    app = copy.start(settings=SHORT)
    try:
        app.reaches(rule)
        app.reaches(copy.broker.proxy.watch_reply(Api.ADD_PARTITIONS_TO_TXN, copy.slot_id(1)))
        rule.release()
        app.result().assert_exit(0)
    finally:
        app.stop()
    copy.assert_complete()


def test_commit_that_times_out_and_was_not_done(copy: Copy) -> None:
    """EndTxn arrives when the slot's next transaction is half sent: it must not end that one (KIP-890, which librdkafka lacks)."""
    proxy = copy.broker.proxy
    late = proxy.hold_request(Api.END_TXN, copy.slot_id(1), 2)
    app = copy.start(settings=SHORT)
    try:
        app.reaches(late)
        sent = proxy.watch_reply(Api.PRODUCE, copy.slot_id(1))
        second_half = proxy.hold_request(Api.PRODUCE, copy.slot_id(1), 2)
        app.reaches(sent)
        app.reaches(second_half)
        late.release()
        app.reaches(late.answer)
        second_half.release()
        app.result().assert_exit(0)
    finally:
        app.stop()
    copy.assert_complete()


@pytest.mark.long("test_commit_that_times_out_and_was_done")
def test_replies_later_than_librdkafka_waits(copy: Copy) -> None:
    """librdkafka gives a request up after socket.timeout.ms and sends it again: the same EndTxn reaches the broker twice."""
    rules = [copy.broker.proxy.delay_replies(Api.END_TXN, 2.5, copy.slot_id(slot), 2) for slot in range(2)]
    copy.run(settings={"kafka_config": {"socket.timeout.ms": "1000"}}).assert_exit(0)
    assert all(rule.reached for rule in rules)
    copy.assert_complete()


@pytest.mark.long("test_commit_that_times_out_and_was_done")
def test_slow_broker(copy: Copy) -> None:
    """Every transactional call takes a while, and connections break: slow, but right."""
    rule = copy.broker.proxy.delay_replies(Api.ADD_PARTITIONS_TO_TXN, 0.1, count=10_000)
    app = copy.start()
    try:
        app.reaches(rule)
        copy.broker.proxy.cut()
        app.result().assert_exit(0)
    finally:
        app.stop()
    copy.assert_complete()
