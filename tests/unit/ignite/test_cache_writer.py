"""What a writer makes of a node's refusals, and how it cuts entries into requests; the rest needs real nodes."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable
from typing import Any, cast

import pyarrow as pa
import pytest

from ignite_kafka.errors import (
    CacheDestroyed,
    EntriesRefused,
    IgniteKafkaError,
    IgniteUnreachable,
    OutcomeUnknown,
    WriteFailed,
)
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.cache_writer import CacheWriter, WriteLimits
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.metadata_replies import Partitions
from ignite_kafka.ignite.protocol import ThinError
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support.randomness import generator

FAILED = protocol.FAILED
SLOW = "slow"
PARTIAL = "Failed to update keys (retry update if possible).: [5]"


class Connected:
    """The connection to a :class:`Node`."""

    def __init__(self, node: Node) -> None:
        self.node_id, self.address, self.affinity = 7, "a:1", (1, 0)
        self.closed = self.gave_up = False
        self.send, self.answered, self.receive, self.request = node.send, node.answered, node.receive, node.request

    def close(self) -> None:
        self.closed = True


class Node:
    """A node that gives these answers in turn, None where it takes the entries, and notes what it was sent.

    SLOW: the time for a request is over, and no answer has come.

    :param patience_ms: for which a writer waits; long, unless a test is about its end.
    """

    def __init__(self, *answers: Exception | str | None, partitions: int = 0, left: bool = False, patience_ms: int = 600_000) -> None:
        self.answers, self.sent, self.left = list(answers), list[bytes](), left
        self.ops: list[int] = []
        self.endpoint = IgniteEndpoint(request_timeout_ms=20, retry_timeout_ms=patience_ms)
        self.owners = Partitions((1, 0), dict.fromkeys(range(partitions), uuid.UUID(int=7)))
        self.refused_classes: set[int] = set()
        self.connected = Connected(self)

    def partitions(self, _: int) -> Partitions:
        return self.owners

    def connection(self, _: object = None) -> ThinConnection:
        return cast(ThinConnection, self.connected)

    def ask(self, question: Callable[[ThinConnection], bytes]) -> bytes:
        return question(self.connection())

    def send(self, op: int, payload: bytes) -> int:
        self.ops.append(op)
        self.sent.append(payload)
        return len(self.sent)

    def has_left(self, _: object, since: int) -> bool:
        assert since == self.owners.affinity[0]
        return self.left

    def answered(self, _: int, wait_s: float) -> bool:
        if self.connected.gave_up:
            raise IgniteUnreachable("it is closed")
        if self.answers[:1] != [SLOW]:
            return True
        time.sleep(wait_s)
        if len(self.answers) > 1:
            self.answers.pop(0)
        return False

    def receive(self, _: int) -> None:
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer

    def request(self, op: int, payload: bytes = b"") -> None:
        self.receive(self.send(op, payload))


def writer(node: Node, **limits: Any) -> CacheWriter:
    return CacheWriter(cast(Any, node), CacheInfo("c", 1), overwrite=True, limits=WriteLimits(**limits))


def binary(*values: bytes) -> pa.BinaryArray:
    return pa.array(values, pa.binary())


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (ThinError(protocol.CACHE_DOES_NOT_EXIST, "Cache does not exist"), CacheDestroyed, "went away"),
        (ThinError(protocol.SECURITY_VIOLATION, "Authorization failed"), WriteFailed, "right to put and remove"),
        (ThinError(FAILED, "Failed to perform cache operation (cluster is in read-only mode)"), WriteFailed, "set-state ACTIVE"),
        (ThinError(FAILED, "Can not perform the operation because the cluster is inactive."), WriteFailed, "Activate the cluster"),
        (ThinError(FAILED, "Out of memory in data region [name=default]"), WriteFailed, "data region larger"),
        (ThinError(FAILED, "Failed to update index"), WriteFailed, "Failed to update index"),
    ],
)
def test_a_refusal_says_what_to_do_and_is_not_tried_again(answer: ThinError, kind: type[IgniteKafkaError], message: str) -> None:
    node = Node(answer)
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(b"v"))
        with pytest.raises(kind, match=message) as caught:
            entries.flush()
    assert caught.value.where == {"cache": "c", "node": 7, "address": "a:1"}
    assert len(node.sent) == 1


@pytest.mark.parametrize("answer", [IgniteUnreachable("lost"), ThinError(FAILED, PARTIAL)])
def test_what_may_pass_is_sent_again(answer: Exception) -> None:
    node = Node(answer, answer)
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(b"v"))
        entries.flush()
    assert node.sent == [node.sent[0]] * 3


@pytest.mark.parametrize("answer", [None, ThinError(FAILED, "Failed to update index")])
def test_a_slow_node_is_waited_for_and_sent_nothing_twice(answer: Exception | None) -> None:
    """What it was sent it may still put, after newer entries if another node had been given the same."""
    node = Node(SLOW, SLOW, answer)
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(b"v"))
        if answer is None:
            entries.flush()
        else:
            with pytest.raises(WriteFailed, match="Failed to update index"):
                entries.flush()
    assert (len(node.sent), node.connected.closed) == (1, False)


@pytest.mark.parametrize("gave_up", [False, True])
def test_a_node_that_does_not_answer_leaves_it_unknown_what_is_put(gave_up: bool) -> None:
    node = Node(SLOW, patience_ms=100)
    entries = writer(node)
    entries.put(binary(b"k"), binary(b"v"))
    node.connected.gave_up = gave_up
    started = time.monotonic()
    with pytest.raises(OutcomeUnknown, match="it may still put them") as caught:
        entries.flush()
    assert time.monotonic() - started > 0.1
    assert caught.value.where == {"cache": "c", "node": 7, "address": "a:1"}
    assert len(node.sent) == 1


@pytest.mark.parametrize("gave_up", [False, True])
def test_what_a_node_that_left_was_sent_is_sent_again(gave_up: bool) -> None:
    node = Node(*([] if gave_up else [SLOW]), None, left=True)
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(b"v"))
        node.connected.gave_up = gave_up
        node.connected.close = lambda: setattr(node.connected, "gave_up", False)  # type: ignore[method-assign]  # another node answers
        entries.flush()
    assert node.sent == [node.sent[0]] * 2


def test_what_is_sent_again_is_waited_for_too() -> None:
    node = Node(IgniteUnreachable("lost"), SLOW, patience_ms=100)
    entries = writer(node)
    entries.put(binary(b"k"), binary(b"v"))
    with pytest.raises(OutcomeUnknown):
        entries.flush()
    assert len(node.sent) == 2


def test_what_is_on_its_way_has_ended_when_a_writer_is_closed() -> None:
    node = Node(SLOW, ThinError(FAILED, "Failed to update index"), IgniteUnreachable("lost"), None)
    entries = writer(node, entries=1, in_flight=9)
    entries.put(binary(b"a", b"b", b"c"), binary(b"v", b"v", b"v"))
    entries.close()
    assert (node.answers, len(node.sent)) == ([], 3)
    node.answers, node.endpoint = [SLOW], IgniteEndpoint(request_timeout_ms=20, retry_timeout_ms=100)
    entries.put(binary(b"a"), binary(b"v"))
    with pytest.raises(OutcomeUnknown):
        entries.close()


def test_what_does_not_pass_is_an_error() -> None:
    node = Node(*[ThinError(FAILED, PARTIAL)] * 10)
    with writer(node) as entries:
        entries.cluster.endpoint = IgniteEndpoint(request_timeout_ms=600_000)  # all tries are within it, on any machine
        entries.put(binary(b"k"), binary(b"v"))
        with pytest.raises(IgniteUnreachable, match="retry update") as caught:
            entries.flush()
    assert len(node.sent) == 4
    assert "out of memory" in caught.value.remedy


def test_keys_of_a_failed_update_are_not_told() -> None:
    node = Node(*[ThinError(FAILED, "Failed to update keys (retry update if possible).: [Smith, Miller]")] * 10)
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(b"v"))
        with pytest.raises(IgniteUnreachable) as caught:
            entries.flush()
    assert caught.value.what == "Ignite did not take entries of a cache: Failed to update keys (retry update if possible)"


def test_requests_hold_no_more_than_the_limits_but_one_entry_at_least() -> None:
    node = Node()
    with writer(node, entries=3, size_bytes=10, in_flight=100) as entries:
        entries.put(binary(*[b"k"] * 8), binary(*[b"v"] * 4, b"v" * 50, b"v" * 5, b"v" * 3, b"v"))
        entries.flush()
    head = 4 + 1 + 4
    assert [request[head:] for request in node.sent] == [b"kv" * 3, b"kv", b"k" + b"v" * 50, b"k" + b"v" * 5 + b"k" + b"v" * 3, b"kv"]
    assert [int.from_bytes(request[5:head], "little") for request in node.sent] == [3, 1, 1, 2, 1]


@pytest.mark.parametrize("affinity", [(1, 0), (2, 0), (1, 1)])
def test_inserts_while_nodes_came_or_went_are_to_be_given_again(affinity: tuple[int, int]) -> None:
    node = Node()
    with CacheWriter(cast(Any, node), CacheInfo("c", 1), overwrite=False) as entries:
        entries.put(binary(b"k"), binary(b"v"))
        node.connected.affinity = affinity
        if affinity == node.owners.affinity:
            entries.flush()
            return
        with pytest.raises(IgniteUnreachable, match="came or went"):
            entries.flush()
        node.owners = Partitions(affinity, {})
        entries.put(binary(b"k"), binary(b"v"))
        entries.flush()


def test_nodes_without_data_streamers_insert_each_entry_by_a_request() -> None:
    node = Node(ThinError(protocol.INVALID_OPERATION, "Invalid request op code: 8000"))
    with CacheWriter(cast(Any, node), CacheInfo("c", 1), overwrite=False, limits=WriteLimits(in_flight=1)) as entries:
        entries.put(binary(b"k", b"l"), binary(b"v", b"w"))
        assert node.ops == [protocol.STREAMER_START, protocol.CACHE_PUT_IF_ABSENT, protocol.CACHE_PUT_IF_ABSENT]  # none was awaited
        assert [request[5:] for request in node.sent[1:]] == [b"kv", b"lw"]
        node.connected.affinity = (2, 0)  # puts that a node confirmed stay, whoever joins or leaves
        entries.flush()


def test_another_refusal_of_a_data_streamer_is_told_with_the_first_entries() -> None:
    refusals = [ThinError(protocol.SECURITY_VIOLATION, "Authorization failed") for _ in range(5)]
    node = Node(*refusals)
    with CacheWriter(cast(Any, node), CacheInfo("c", 1), overwrite=False) as entries:
        entries.put(binary(b"k"), binary(b"v"))
        with pytest.raises(WriteFailed, match="Authorization failed"):
            entries.flush()
    assert set(node.ops) == {protocol.STREAMER_START}


def test_a_value_that_a_column_does_not_take_is_told_once_all_have_answered() -> None:
    node = Node(ThinError(FAILED, "Null value is not allowed for column 'TEXT'"), None, None)
    with writer(node, entries=1, in_flight=9) as entries:
        entries.put(binary(b"a", b"b", b"c"), binary(b"v", b"v", b"v"))
        with pytest.raises(EntriesRefused, match="Null value is not allowed for column 'TEXT'"):
            entries.flush()
        assert not node.answers
        entries.flush()


def test_a_value_without_the_number_that_nodes_compare_is_refused_like_one_that_a_column_does_not_take() -> None:
    reason = "BACKLOG/MALFORMED: entry 0 has no whole number, date or timestamp in field 'at' of its value, as this node reads it"
    node = Node(ThinError(FAILED, reason))
    with writer(node) as entries:
        entries.put(binary(b"a"), binary(b"v"))
        with pytest.raises(EntriesRefused, match=r"has no whole number.*Spell order_field as"):
            entries.flush()


def long_key(number: int) -> bytes:
    return bytes([codes.LONG]) + number.to_bytes(8, "little", signed=True)


def sent_keys(node: Node) -> list[int]:
    """Of long keys with values of one byte."""
    head = 4 + 1 + 4
    rows = node.sent[0][head:]
    return [int.from_bytes(rows[at + 1 : at + 9], "little", signed=True) for at in range(0, len(rows), 10)]


@pytest.mark.parametrize("atomicity", ["ATOMIC", "TRANSACTIONAL"])
def test_entries_go_in_the_order_of_the_trees_of_a_node(atomicity: str) -> None:
    numbers = generator(1).sample(range(-1_000, 1_000), 300)
    node = Node(partitions=16)
    with CacheWriter(cast(Any, node), CacheInfo("c", 1, atomicity=atomicity), overwrite=True) as entries:
        entries.put(binary(*map(long_key, numbers)), binary(*[b"v"] * 300))
        entries.flush()

    def place(number: int) -> tuple[int, int]:
        code = number ^ (number >> 32)  # Long.hashCode
        return (code ^ (code % 2**32 >> 16)) % 16, code

    assert list(map(place, sent_keys(node))) == sorted(map(place, numbers))
    assert set(sent_keys(node)) == set(numbers)


def test_keys_of_one_hash_are_locked_in_one_order() -> None:
    orders = []
    for numbers in itertools.permutations([1, 1 << 32, -2, (5 << 32) + 4]):  # of hash code 1, 1, 1, 1
        node = Node(partitions=16)
        with CacheWriter(cast(Any, node), CacheInfo("c", 1, atomicity="TRANSACTIONAL"), overwrite=True) as entries:
            entries.put(binary(*map(long_key, numbers)), binary(*[b"v"] * 4))
            entries.flush()
        orders.append(sent_keys(node))
    assert len(set(map(tuple, orders))) == 1


def test_nothing_is_sent_for_no_entries() -> None:
    node = Node()
    with writer(node) as entries:
        entries.put(binary(), binary())
        entries.remove(binary())
        entries.flush()
    assert node.sent == []
