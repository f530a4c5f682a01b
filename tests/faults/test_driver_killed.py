"""The driver is killed; a second run with the same snapshot id continues from the committed records."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.faults.conftest import Copy
from tests.support.bad_entries import OF_UNKNOWN_TYPE, long, put_bytes
from tests.support.kafka_proxy import Api
from tests.support.oracle import read_committed
from tests.support.processes import killed_at
from tests.support.servers import PARTITIONS, fill


@pytest.mark.long("test_a_second_run_continues")
def test_a_second_run_continues_after_the_first_died_while_claiming(copy: Copy) -> None:
    killed_at(copy.start(), copy.broker.proxy.hold_request(Api.END_TXN, f"{copy.connector}-control", 1))
    copy.run().assert_exit(0)
    copy.assert_complete()


@pytest.mark.parametrize(
    "nth", [pytest.param(1, marks=pytest.mark.long("after some commits")), 3], ids=["before the first commit", "after some commits"]
)
def test_a_second_run_continues(copy: Copy, nth: int) -> None:
    rule = copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(1), nth)
    killed_at(copy.start(), rule)
    assert copy.assert_nothing_half() < len(copy.entries)
    copy.run().assert_exit(0)
    copy.assert_complete()


@pytest.mark.long("test_a_second_run_continues")
def test_a_second_run_continues_a_topic_of_two_caches_with_equal_keys(copy: Copy) -> None:
    other, topic = f"{copy.cache}-2", f"to-both-{copy.connector}"
    fill(copy.ignite, other, {key: f"other-{value}" for key, value in copy.entries.items()})
    shared = {"cache_whitelist": [copy.cache, other], "topic_names": {".*": topic}, "cache_header": "cache", "slots": 2}
    copy.settings |= shared
    killed_at(copy.start(), copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(1), 3))
    copy.run().assert_exit(0)
    sent = Counter((dict(one.headers)["cache"], one.key, one.value) for one in read_committed(copy.broker.bootstrap, topic).records)
    wanted = {(copy.cache.encode(), key, value) for key, value in copy.records.items()}
    wanted |= {(other.encode(), key, b'"other-' + value[1:]) for key, value in copy.records.items()}
    assert sent == dict.fromkeys(wanted, 1)


def test_each_dead_letter_is_sent_once(copy: Copy) -> None:
    """One bad entry per unit: some dead letters are committed before the driver dies, some are in its open transaction."""
    dead_letters = f"letters-{copy.connector}"
    copy.settings |= {"error_handling_policy": "DEAD_LETTER", "dead_letter_topic": dead_letters}
    bad = {long(key): OF_UNKNOWN_TYPE for key in range(100_000, 100_000 + PARTITIONS)}
    put_bytes(copy.ignite, copy.cache, bad)
    killed_at(copy.start(), copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(1), 3))
    before = read_committed(copy.broker.bootstrap, dead_letters, settled=False).counts()
    assert 0 < before.total() < len(bad)
    copy.run().assert_exit(0)
    copy.assert_complete()
    assert read_committed(copy.broker.bootstrap, dead_letters).counts() == dict.fromkeys(bad, 1)


def test_complete_snapshot_is_not_sent_again(copy: Copy) -> None:
    """The driver dies when all is committed but the snapshot is not closed; then it is closed, and a third run says so."""
    control = f"{copy.connector}-control"
    # the driver's transactions: configurations of caches, begin, end
    rule = copy.broker.proxy.hold_request(Api.END_TXN, control, 3)
    killed_at(copy.start(), rule)
    copy.assert_complete()
    copy.run().assert_exit(0)
    copy.assert_complete()
    done = copy.run().assert_exit(0)
    assert "complete already" in done.output
    copy.assert_complete()


def test_orphans_of_a_killed_driver_are_fenced(copy: Copy) -> None:
    """Only the driver's JVM dies, and a commit of its left-over worker comes late."""
    rule = copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(1), 2)
    app = copy.start()
    try:
        app.reaches(rule)
        app.kill()
        copy.run().assert_exit(0)
        rule.release()
    finally:
        app.stop()
    copy.assert_complete()
