"""Decoding of pages to Arrow: one group of entries for each pair of key type and value type."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ..types import type_codes as codes
from ..types.key_kind import KeyKind
from ..types.model import CacheInfo, Page, TypeSource
from ..types.type_table import code_name
from .decode_columns import ColumnDecoder
from .decode_scalars import EnumPolicy
from .entry_bounds import EntryBounds
from .field_order import FieldOrder
from .java_classes import type_name
from .joined_pages import JoinedPages
from .key_kinds import key_kinds
from .object_headers import read_headers
from .page_buffer import PageBuffer, Positions

Fields = Collection[str] | None
Containers = Mapping[str, Collection[int]]
"""Type codes of arrays, collections and maps by their paths, see :class:`~ignite_kafka.ignite.types.model.TypeUse`."""


@dataclass(frozen=True)
class TypeRef:
    """Ignite type of the keys or values in a group of decoded entries.

    :param type_id: binary type id of objects. :param mark: mark of the column. :param enum: type name of enums.
    """

    code: int
    name: str
    type_id: int | None = None
    mark: str | None = None
    enum: str | None = None


@dataclass(frozen=True)
class EntryGroup:
    """Decoded entries with the same key type and the same value type, as Arrow columns.

    `rows` (int64, ascending) are the entries' positions among all entries of the pages. Objects are a StructArray with
    fields by :class:`FieldOrder`, absent fields null; other values are a plain array. Only fields are nullable.
    For documents, `key_kinds` are the kinds of keys, and `key_samples` has a key of each kind, unwrapped, with its
    position in the group. `containers` are the type codes of arrays, collections and maps, by path, of keys and of
    values, in all groups decoded together.
    """

    rows: Positions
    key: pa.Array
    value: pa.Array
    key_type: TypeRef
    value_type: TypeRef
    key_samples: tuple[tuple[int, bytes], ...] = ()
    key_kinds: frozenset[KeyKind] = frozenset()
    containers: tuple[Containers, Containers] = field(default_factory=lambda: ({}, {}))


def decode_entries(
    pages: Sequence[Page],
    cache: CacheInfo,
    types: TypeSource,
    *,
    enums: EnumPolicy = EnumPolicy.SHORT_NAME,
    documents: bool = False,
    own_fields: bool = False,
    keys: bool = True,
    values: bool = True,
    key_fields: Fields = None,
    value_fields: Fields = None,
    date_zone: str = "UTC",
) -> list[EntryGroup]:
    """Decode all entries of pages to Arrow columns, in groups by key type and value type.

    Pass many small pages at once: below 20,000 rows the calls cost more than the decoding.

    :param documents: True: an object's fields are those of its own schema, in its order; values have their type's
        other fields after them. False: all fields of the type in one order, for tables.
    :param own_fields: with `documents`, values also have only the fields of their own schema, as keys have.
    :param keys: False: keys are not decoded, and are null; `values` is the same for values.
    :param key_fields: names in lower case of the only fields to decode in keys that are objects; None: all.
        `value_fields` is the same for values.
    :param date_zone: time zone at whose midnight the java.sql.Dates were made.
    :raises DecodeError: for bytes that are no values, naming cache, partition, type id and position in the page's data.
    :raises UnsupportedType: for a value that no Arrow column holds (raw-data objects, self-containing objects).
    """
    wire, bounds = JoinedPages.of(pages, cache, types).entries
    orders = (FieldOrder.OWN if documents else FieldOrder.TYPE,) * 2
    if documents and not own_fields:
        orders = FieldOrder.OWN, FieldOrder.OWN_FIRST
    decoders = [
        ColumnDecoder(wire, enums, order, date_zone, fields) if is_decoded else None
        for order, is_decoded, fields in zip(orders, (keys, values), (key_fields, value_fields), strict=True)
    ]
    return _decode(wire, bounds, decoders)


def decode_arrays(
    keys: pa.BinaryArray,
    values: pa.BinaryArray,
    cache: CacheInfo,
    types: TypeSource,
    *,
    key_fields: Fields = None,
    value_fields: Fields = None,
    date_zone: str = "UTC",
) -> list[EntryGroup]:
    """Decode N keys and N values, given as encoded bytes instead of pages; none may be wrapped or null.

    Objects have all fields of their type, as :func:`decode_entries` returns them without `documents`.

    Errors name no partition.
    """
    data = [pa.py_buffer(b"") if not len(array) else array.buffers()[2] for array in (keys, values)]
    parts = [np.frombuffer(part, np.uint8) for part in data]
    whole = np.concatenate(parts)
    wire = PageBuffer.of([Page(-1, len(keys), memoryview(whole.data), True)], cache, types)
    offsets = [_offsets(keys), _offsets(values) + parts[0].size]
    bounds = EntryBounds(offsets[0][:-1], offsets[0][1:], offsets[1][:-1], offsets[1][1:])
    decoders = [
        ColumnDecoder(wire, order=FieldOrder.TYPE, date_zone=date_zone, fields=fields)
        for fields in (key_fields, value_fields)
    ]
    return _decode(wire, bounds, decoders)


def _offsets(array: pa.BinaryArray) -> Positions:
    if not len(array):
        return np.zeros(1, np.int64)
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)


def _decode(wire: PageBuffer, bounds: EntryBounds, decoders: Sequence[ColumnDecoder | None]) -> list[EntryGroup]:
    if bounds.key_start.size == 0:
        return []
    nothing = np.zeros(bounds.key_start.size, np.int64)
    key_types = _signatures(wire, bounds.key_start, bounds.key_end) if decoders[0] is not None else nothing
    value_types = _signatures(wire, bounds.value_start, bounds.value_end) if decoders[1] is not None else nothing
    return [_group(wire, decoders, bounds, rows) for rows in _groups(key_types, value_types)]


def _signatures(wire: PageBuffer, start: Positions, end: Positions) -> Positions:
    """Compute a number that identifies the type of each value: type code, and for objects the type id."""
    code = wire.data[start]
    signature: Positions = code.astype(np.int64)
    objects = code == codes.OBJECT
    if objects.all():
        return signature | (wire.ints(start + 4) << 8)
    if objects.any():
        rows = np.flatnonzero(objects)
        signature[rows] |= wire.ints(start[rows] + 4) << 8
    return signature


def _groups(keys: Positions, values: Positions) -> list[Positions]:
    """Group rows by key type and value type; groups are in the order of their first rows."""
    if (keys == keys[0]).all() and (values == values[0]).all():
        return [np.arange(keys.size)]
    key_index = np.unique(keys, return_inverse=True)[1].ravel()
    value_kinds, value_index = np.unique(values, return_inverse=True)
    pair = key_index * value_kinds.size + value_index.ravel()
    order = np.argsort(pair, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(pair[order])) + 1)
    return sorted(parts, key=lambda rows: int(rows[0]))


def _group(
    wire: PageBuffer, decoders: Sequence[ColumnDecoder | None], bounds: EntryBounds, rows: Positions
) -> EntryGroup:
    if rows.size == bounds.key_start.size:
        spans = bounds.key_start, bounds.key_end, bounds.value_start, bounds.value_end
    else:
        spans = bounds.key_start[rows], bounds.key_end[rows], bounds.value_start[rows], bounds.value_end[rows]
    key, key_type = _column(decoders[0], spans[0], spans[1])
    value, value_type = _column(decoders[1], spans[2], spans[3])
    if decoders[0] is None or decoders[0].order is FieldOrder.TYPE:
        return EntryGroup(rows, key, value, key_type, value_type)
    seen = [{} if decoder is None else decoder.containers for decoder in decoders]
    kinds, samples = key_kinds(decoders[0], spans[0], spans[1])
    shown = tuple((row, wire.data[spans[0][row] : spans[1][row]].tobytes()) for row in samples)
    return EntryGroup(rows, key, value, key_type, value_type, shown, kinds, (seen[0], seen[1]))


def _column(decoder: ColumnDecoder | None, start: Positions, end: Positions) -> tuple[pa.Array, TypeRef]:
    if decoder is None:
        return pa.nulls(start.size), TypeRef(codes.NULL, "not decoded")
    wire = decoder.wire
    code = int(wire.data[start[0]])
    if code == codes.OBJECT:
        headers = read_headers(wire, start, end)
        type_id = int(headers.type_id[0])
        return decoder.struct(headers, 0).data, TypeRef(code, type_name(wire.types, type_id), type_id)
    column = decoder.decode(start, end)
    return column.data, TypeRef(code, code_name(code), None, column.mark, column.type_name)
