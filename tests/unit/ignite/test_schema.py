"""Requests that make binary types and caches, and what clashes with a type that is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from ignite_kafka.errors import TypeClash
from ignite_kafka.ignite import metadata_replies as control
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.binary import ObjectLayout
from ignite_kafka.ignite.schema import binary_type_bytes, merged_type, register_type
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryField, BinaryType, class_id
from ignite_kafka.ignite.types.type_table import field_of
from tests.support.ignite_bytes import Types

LAYOUT = ObjectLayout("org.example.Thing", (pa.field("id", pa.int64()), field_of("amount", pa.decimal128(38, 2), "decimal")), "id")
COLOR = BinaryType(9, "Color", None, (), {}, True, {0: "RED", 5: "BLUE"})


@pytest.mark.parametrize("binary", [LAYOUT.metadata, COLOR])
def test_a_type_is_sent_as_it_is_read(binary: BinaryType) -> None:
    assert control.read_binary_type(memoryview(b"\1" + binary_type_bytes(binary))) == binary


def test_a_field_of_another_type_clashes() -> None:
    known = LAYOUT.metadata
    assert merged_type(known, known) == known
    wanted = ObjectLayout(known.name, (pa.field("ID", pa.string()), pa.field("new", pa.int8()))).metadata
    with pytest.raises(TypeClash, match=r"Field ID of binary type org\.example\.Thing is long in the cluster, and String is to be written"):
        merged_type(known, wanted)


def test_two_types_of_one_id_clash() -> None:
    other = BinaryType(LAYOUT.type_id, "other", None, (BinaryField("id", codes.LONG, 1),))
    with pytest.raises(TypeClash, match=r"org\.example\.Thing and other have one type id"):
        merged_type(other, LAYOUT.metadata)


def test_a_field_that_is_object_takes_any_type_and_stays_object() -> None:
    first, second = LAYOUT.metadata.fields
    known = replace(LAYOUT.metadata, fields=(replace(first, type_code=codes.OBJECT),))
    merged = merged_type(known, LAYOUT.metadata)
    assert merged.fields == (replace(first, type_code=codes.OBJECT), second)


class Registering:
    """A cluster that takes binary types; `named` happens when it is told of a name, as another client may send its type just then."""

    endpoint = SimpleNamespace(request_timeout_ms=1_000)

    def __init__(self, named: Callable[[Types], object] = lambda types: None) -> None:
        self.types, self._named, self.sent = Types(), named, 0
        self.names: list[bytes] = []
        self.binary_type = self.types.binary_type

    def ask(self, question: Callable[[Any], Any]) -> Any:
        return question(self)

    def request(self, op: int, payload: bytes) -> bytes:
        if op == protocol.BINARY_CONFIGURATION:
            return bytes([True, 0])
        if op == protocol.BINARY_TYPE_NAME_PUT:
            self.names.append(payload)
            self._named(self.types)
        if op == protocol.BINARY_TYPE_PUT:
            self.sent += 1
            made = control.read_binary_type(memoryview(b"\1" + payload))
            assert made is not None
            held = self.types.known.get(made.type_id, made)
            self.types.known[made.type_id] = replace(made, schemas={**held.schemas, **made.schemas})
        return b""

    def forget_types(self) -> None:
        pass


def registered(cluster: Registering, *names: str, unless_known: bool) -> int:
    """How often the type of these fields was sent."""
    layout = ObjectLayout("Key", tuple(pa.field(name, pa.int64()) for name in names))
    register_type(cast(Any, cluster), layout.metadata, unless_known=unless_known)
    return cluster.sent


def test_a_type_is_left_as_it_is_where_it_is_wanted_only_if_it_is_unknown() -> None:
    cluster = Registering()
    assert registered(cluster, "a", unless_known=True) == 1
    assert registered(cluster, "a", "b", unless_known=True) == 1
    assert registered(cluster, "a", "b", unless_known=False) == 2


def test_a_type_is_looked_at_again_right_before_it_is_sent() -> None:
    cluster = Registering(lambda types: types.add("Key", {"a": codes.LONG}))
    assert registered(cluster, "a", "b", unless_known=True) == 0


def test_of_a_class_without_a_binary_type_the_name_alone_is_sent() -> None:
    wanted = BinaryType(class_id(-2), "java.util.CollSer")
    cluster = Registering(lambda types: types.known.update({wanted.type_id: wanted}))
    register_type(cast(Any, cluster), wanted)
    assert (cluster.sent, cluster.names) == (0, [b"\0\xfe\xff\xff\xff" + protocol.string("java.util.CollSer")])
