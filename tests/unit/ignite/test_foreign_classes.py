"""Classes of values that Java's optimized marshaller wrote: found in the bytes of a request, and refused by nodes that lack them."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest

from ignite_kafka.errors import EntriesRefused, IgniteUnreachable, UnknownBinaryType
from ignite_kafka.ignite.binary.optimized import SQL_DATE
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.foreign_classes import class_hashes
from ignite_kafka.ignite.protocol import FAILED, ThinError
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType, class_id
from tests.support.randomness import generator
from tests.unit.ignite.test_cache_writer import Node, binary, writer


def value(name_hash: int, kind: int = 102, data: bytes = b"fields") -> bytes:
    payload = struct.pack("<Bih", kind, name_hash, 0) + data
    return struct.pack("<Bi", codes.OPTIMIZED, len(payload)) + payload


def test_each_class_is_found_once_wherever_it_is() -> None:
    payload = b"head" + value(7) + bytes([codes.OBJECT]) + bytes(23) + value(-8, 101) + bytes([codes.OPTIMIZED]) + value(7)
    assert class_hashes(payload) == (7, -8)
    assert class_hashes(value(1, data=value(2))) == (1, 2)


def test_at_most_five_are_named() -> None:
    assert class_hashes(b"".join(map(value, range(20)))) == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xfe",
        value(7)[:-1],  # longer than the request
        value(7, kind=100),
        struct.pack("<Bi", codes.OPTIMIZED, -1) + struct.pack("<Bih", 102, 7, 0),
        struct.pack("<Bi", codes.OPTIMIZED, 6) + struct.pack("<Bih", 102, 7, 0),
        value(SQL_DATE, data=bytes(8)),  # of Java itself
    ],
)
def test_other_bytes_have_no_class(payload: bytes) -> None:
    assert class_hashes(payload) == ()


def test_any_bytes_are_searched() -> None:
    random = generator(11)
    for size in (10, 1_000, 100_000):
        found = class_hashes(bytes(random.choice((0xFE, 0x65, 0x66, 0)) for _ in range(size)))
        assert len(found) <= 5


KNOWN_CLASS, UNKNOWN_CLASS = 1_234_567, -7_654_321
CLOSED = IgniteUnreachable("the connection was closed")


class Patient(Node):
    """A node that knows one class and leaves time for all tries, also on a busy machine."""

    def binary_type(self, type_id: int) -> BinaryType:
        if type_id == class_id(KNOWN_CLASS):
            return BinaryType(type_id, "com.example.Order")
        raise UnknownBinaryType("no such type")


def patient(*answers: Exception | None) -> Patient:
    node = Patient(*answers)
    node.endpoint = IgniteEndpoint(request_timeout_ms=60_000, retry_timeout_ms=60_000)  # a busy machine must not end the tries
    return node


def in_object(value: bytes) -> bytes:
    return bytes([codes.OBJECT]) + bytes(23) + value + bytes(4)


@pytest.mark.parametrize("form", [bytes, in_object])
@pytest.mark.parametrize(
    ("name_hash", "named"),
    [(KNOWN_CLASS, "com.example.Order"), (UNKNOWN_CLASS, f"a class whose name has the hash {UNKNOWN_CLASS}")],
)
def test_nodes_that_close_the_connection_at_a_class_refuse_its_entries(name_hash: int, named: str, form: Any) -> None:
    """A node that cannot load a class sends no status, and replies to everything else."""
    node = patient(CLOSED, CLOSED, None, CLOSED, None, CLOSED, ThinError(FAILED, "the state is not known to this user"))
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(form(value(name_hash))))
        with pytest.raises(EntriesRefused, match=re.escape(f"close the connection at entries of {named}: they cannot load it")) as caught:
            entries.flush()
        assert caught.value.where["cache"] == "c"
        assert "on the class path of every node" in caught.value.remedy
        entries.put(binary(b"k"), binary(b"v"))  # the writer is of use afterwards
        entries.flush()


JAVA_TIME = struct.pack("<Bi", codes.OPTIMIZED, 7 + 13) + struct.pack("<Bih", 101, 104_259_563, 0) + b"\x02" + bytes(12)  # an Instant


@pytest.mark.parametrize(
    ("put", "answers"),
    [
        (b"v", [CLOSED] * 4),  # no class: the network
        (JAVA_TIME, [CLOSED] * 4),  # every node has it
        (value(KNOWN_CLASS), [CLOSED, CLOSED, None, CLOSED, CLOSED, CLOSED, None]),  # nothing was answered in between
        (value(KNOWN_CLASS)[:-1], [CLOSED] * 4),  # bytes that only look like it
    ],
)
def test_other_lost_connections_are_no_refusal(put: bytes, answers: list[Exception | None]) -> None:
    node = patient(*answers)
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(put))
        with pytest.raises(IgniteUnreachable) as caught:
            entries.flush()
    assert not caught.value.final
    assert node.answers == []


def test_a_class_that_a_node_takes_after_all_is_no_refusal() -> None:
    node = patient(CLOSED, CLOSED, None, CLOSED, None, None)
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(value(KNOWN_CLASS)))
        entries.flush()
    assert node.answers == []


def test_a_class_that_was_refused_is_refused_at_the_next_closing() -> None:
    """Many records may have the class, and a node logs each closing."""
    node = patient(CLOSED, CLOSED, None)
    node.refused_classes = {KNOWN_CLASS}
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(value(KNOWN_CLASS)))
        with pytest.raises(EntriesRefused):
            entries.flush()
    assert node.answers == []


def test_of_a_request_with_several_classes_none_is_remembered() -> None:
    """Nodes may have one of them, whose next entries a lost connection must not make bad."""
    node = patient(CLOSED, CLOSED, None, CLOSED, None, CLOSED, None)
    with writer(node) as entries:
        entries.put(binary(b"k"), binary(value(KNOWN_CLASS) + value(KNOWN_CLASS + 1)))
        with pytest.raises(EntriesRefused):
            entries.flush()
    assert not node.refused_classes
