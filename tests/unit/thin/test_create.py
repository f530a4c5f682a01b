"""Requests that make binary types and caches, and what clashes with a type that is there."""

from __future__ import annotations

import struct
from dataclasses import replace

import pyarrow as pa
import pytest

from ignite_kafka.convert.types import field_of
from ignite_kafka.errors import TypeClash
from ignite_kafka.thin import codes, control, protocol
from ignite_kafka.thin.codec import ObjectLayout
from ignite_kafka.thin.create import NewCache, binary_type_bytes, cache_configuration, merged_type
from ignite_kafka.thin.model import BinaryField, BinaryType

LAYOUT = ObjectLayout("org.example.Thing", (pa.field("id", pa.int64()), field_of("amount", pa.decimal128(38, 2), "decimal")), "id")
COLOR = BinaryType(9, "Color", None, (), {}, True, {0: "RED", 5: "BLUE"})


@pytest.mark.parametrize("binary", [LAYOUT.metadata, COLOR])
def test_a_type_is_sent_as_it_is_read(binary: BinaryType) -> None:
    assert control.read_binary_type(memoryview(b"\1" + binary_type_bytes(binary))) == binary


def test_only_settings_that_are_given_are_sent() -> None:
    assert cache_configuration(NewCache("a", write_synchronization=None)) == struct.pack("<ihh", 10, 1, 0) + protocol.string("a")
    sent = cache_configuration(NewCache("a", atomicity="TRANSACTIONAL", backups=1))
    assert sent[4:] == struct.pack("<hh", 4, 0) + protocol.string("a") + struct.pack("<hihihi", 2, 0, 3, 1, 4, 0)


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
