"""Cache keys by key policy: from the record's key, value or header, or from topic, partition and offset.

Source: settings keyPolicy and keyFields of the reference. A single field becomes a plain key, unless the cache's key
type is an object.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from ...errors import SettingsError, TypeClash
from ...ignite.binary.encode import encoded
from ...ignite.types.type_table import TYPE_NAME, mark_of, object_field
from ..ignite_types.converted_side import ConvertedSide
from ..ignite_types.object_types import ObjectTypes
from ..rules.marked_fields import ANY, OBJECT, is_a
from .header_keys import WAY_OUT
from .readers import Readers
from .record_sides import AnyReader, RecordSides

KAFKA_FIELDS = ("__connect_topic", "__connect_partition", "__connect_offset")
_KAFKA_TYPES = (pa.string(), pa.int32(), pa.int64())

_NOT_TEXT = "; converter json reads text in quotes only: plain text needs a converter of its own"


class Keys(Protocol):
    """Interface of the source of a batch's cache keys, one class per key policy."""

    def read(self, sides: RecordSides) -> ConvertedSide:
        """Return the cache keys in Ignite's binary format, and the records from which no key can be made."""


@dataclass(frozen=True)
class RecordKeys:
    """Cache keys from the records' keys."""

    reader: AnyReader

    def read(self, sides: RecordSides) -> ConvertedSide:
        """Return the records' keys as cache keys; a record without a key is bad."""
        return _read_present(sides, "key", self.reader, "the record has no key, and key_policy is key")


@dataclass(frozen=True)
class ValueKeys:
    """Cache keys from fields of the records' values."""

    reader: AnyReader

    def read(self, sides: RecordSides) -> ConvertedSide:
        """Return cache keys made of the value's fields; a tombstone, without a value, is bad."""
        return _read_present(
            sides, "value", self.reader, "a tombstone has no fields to make a key of: key_policy is value"
        )


@dataclass(frozen=True)
class HeaderKeys:
    """Cache keys from a header: the last of its name in each record.

    :param reads_types: whether the header converter reads texts as the types they resemble.
    """

    reader: AnyReader
    header: str
    reads_types: bool = False

    def read(self, sides: RecordSides) -> ConvertedSide:
        """Return the header's values as cache keys; a record without the header is bad.

        A tombstone with the header removes the header's key.
        """
        is_present = sides.present("header")
        valid = sides.valid("header")
        missing = [
            (int(row), f"the record has no header {self.header}, and key_policy is header")
            for row in np.flatnonzero(~is_present)
        ]
        null = is_present & ~valid
        missing += [
            (int(row), f"header {self.header} is null, and key_policy is header") for row in np.flatnonzero(null)
        ]
        keys = sides.convert("header", self.reader, valid)
        bad = tuple((row, self._name_header(why)) for row, why in keys.bad)
        return _drop_nulls(replace(keys, bad=bad), missing)

    def _name_header(self, why: str) -> str:
        """Add the header's name to a reason, and a remedy if the converter may have misread the text."""
        advice = f"; {WAY_OUT}" if self.reads_types and "header_converter=" not in why else ""
        return f"header {self.header}: {why}{advice}"


@dataclass(frozen=True)
class KafkaKeys:
    """Cache keys that are objects of the record's topic, partition and offset."""

    type_name: str
    names: tuple[str, ...]
    objects: ObjectTypes

    def read(self, sides: RecordSides) -> ConvertedSide:
        """Return cache keys made of topic, partition and offset.

        :raises TypeClash: another program has meanwhile registered the type with other fields.
        """
        consumed = sides.consumed
        fields = self._register()
        if _are_misplaced(self.names, fields):
            what = "the type of the cache's keys was registered with other fields meanwhile"
            raise TypeClash(
                what, "Start again: its fields are checked then.", key_type=self.type_name, topic=consumed.topic
            )
        count = len(consumed)
        parts = (
            pa.repeat(pa.scalar(consumed.topic), count),
            pa.repeat(pa.scalar(consumed.partition, pa.int32()), count),
            pa.array(consumed.offsets, pa.int64()),
        )
        by_name = {name.lower(): part for name, part in zip(self.names, parts, strict=True)}
        columns = pa.StructArray.from_arrays([by_name[field.name.lower()] for field in fields], fields=list(fields))
        return ConvertedSide(np.arange(count), encoded(columns, object_field("", self.type_name, fields)), ())

    def _register(self) -> tuple[pa.Field, ...]:
        """Register the key type; return its fields in the cluster's order.

        If another task has registered the type first, the fields are read again.
        """
        fields = self.objects.fields(self.type_name)
        return fields if self.objects.register() else self.objects.fields(self.type_name)


def keys_by_policy(policy: str, names: tuple[str, ...], readers: Readers) -> Keys:
    """Return the source of cache keys for a key policy.

    :raises SettingsError: the fields `names` do not make a key of the cache's key type.
    """
    types = readers.entry_types
    objects = readers.objects
    root = types.key
    plain = not (is_a(types.key, OBJECT) or is_a(types.key, ANY))
    if policy == "key" and not names:
        return RecordKeys(readers.key("key", root))
    if policy == "header":
        return HeaderKeys(readers.key("header", root), names[0], readers.reads_types_of_headers)
    if policy == "kafka":
        return _make_kafka_keys(names or KAFKA_FIELDS, root, objects)
    if not names and is_a(root, OBJECT):  # keys of a declared type have the fields of the type
        names = tuple(field.name for field in objects.fields(str(root.metadata[TYPE_NAME], "utf-8")))
    if plain and not names:
        what = f"key_policy is 'value' without key_fields, and the cache's keys are of {root.type}, which has no fields"
        raise SettingsError(what, "Name the one field that holds the key.", setting="key_fields")
    if plain and len(names) > 1:
        what = f"there are {len(names)} key_fields, and the cache's keys are of {root.type}"
        raise SettingsError(what, "Name the one field that holds the key.", setting="key_fields")
    if plain:
        objects = ObjectTypes(objects.types, {"key": (root.with_name(names[0]),)}, local=frozenset({"key"}))
        root = pa.field("", pa.null(), metadata={b"ignite": OBJECT.encode(), TYPE_NAME: b"key"})
    elif is_a(root, OBJECT):
        _require_all_names(names, root, objects)
    alone = len(names) == 1 and not is_a(types.key, OBJECT)
    if is_a(root, ANY):
        root = root.with_metadata({**root.metadata, b"ignite": OBJECT.encode()})
    reader = readers.key(policy, root, objects, names, alone=alone)
    return ValueKeys(reader) if policy == "value" else RecordKeys(reader)


def _make_kafka_keys(names: tuple[str, ...], root: pa.Field, objects: ObjectTypes) -> Keys:
    name = (root.metadata or {}).get(TYPE_NAME, b"").decode()
    if not name:
        what = (
            f"key_policy is 'kafka', and the cache's keys are of {root.type}, which cannot hold a topic, a partition "
            "and an offset"
        )
        raise SettingsError(what, "Use another key_policy, or a cache whose keys are objects.", setting="key_policy")
    if not objects.fields(name):
        for label, kind in zip(names, _KAFKA_TYPES, strict=True):
            objects.declare(name, pa.field(label, kind))
    fields = objects.fields(name)
    if _are_misplaced(names, fields):
        what = (
            f"key_policy is 'kafka', and {name}, the type of the cache's keys, has fields "
            f"{', '.join(field.name for field in fields)}"
        )
        remedy = f"It must have {', '.join(names)} (String, Integer, Long) and no other; name them in key_fields."
        raise SettingsError(what, remedy, setting="key_fields")
    return KafkaKeys(name, names, objects)


def _are_misplaced(names: tuple[str, ...], fields: tuple[pa.Field, ...]) -> bool:
    """Return whether a key type has other fields than topic, partition and offset."""
    by_name = {field.name.lower(): field for field in fields}
    wrong = [
        label
        for label, kind in zip(names, _KAFKA_TYPES, strict=True)
        if _find_plain_type(by_name.get(label.lower())) != kind
    ]
    return bool(wrong) or len(by_name) != len(names)


def _find_plain_type(field: pa.Field | None) -> pa.DataType | None:
    return None if field is None or mark_of(field) else field.type


def _require_all_names(names: tuple[str, ...], root: pa.Field, objects: ObjectTypes) -> None:
    """Refuse key_fields that omit a field of the declared key type, because the keys would be different."""
    type_name = str(root.metadata[TYPE_NAME], "utf-8")
    fields = {field.name.lower(): field.name for field in objects.fields(type_name)}
    if fields and {name.lower() for name in names} != set(fields):
        what = (
            f"key_fields are {', '.join(names)}, and {type_name}, the type of the cache's keys, has fields "
            f"{', '.join(fields.values())}"
        )
        raise SettingsError(what, "Name all of them and no other.", setting="key_fields")


def _read_present(sides: RecordSides, side: str, reader: AnyReader, why_bad: str) -> ConvertedSide:
    """Return cache keys from the records' keys or values; a record with a null there is bad."""
    valid = sides.valid(side)
    missing = [(int(row), why_bad) for row in np.flatnonzero(~valid)]
    return _drop_nulls(sides.convert(side, reader, valid), missing)


def _drop_nulls(side: ConvertedSide, missing: list[tuple[int, str]]) -> ConvertedSide:
    """Return cache keys without nulls; the records with null or missing keys become bad."""
    bad = [(row, why + _NOT_TEXT if why.startswith("not JSON") else why) for row, why in side.bad] + missing
    data = side.data
    rows = side.rows
    if data.null_count:
        is_valid = np.asarray(data.is_valid())
        bad += [(int(row), "the key is null") for row in rows[~is_valid]]
        data = data.filter(pa.array(is_valid))
        rows = rows[is_valid]
    return ConvertedSide(rows, data, tuple(sorted(bad)))
