"""Decoder of Avro bodies into columns of Connect values, one field at a time for all rows at once.

Each node of the schema has a reader. It is called once or, within arrays and maps, once for each position of an item,
notes where the values are, and makes the column of all values at the end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask, RowIndex
from ..connect.schema import ConnectSchema
from .cursor import Bodies, Cursor
from .decode_items import EntriesReader, ItemsReader
from .decode_scalars import BooleanReader, BytesReader, EnumReader, FloatReader, NumberReader, Reader
from .to_connect import is_entries, nullable
from .types import AvroType

ROWS = 16_384
"""Number of rows decoded in one pass."""

_SCALARS: Mapping[str, Callable[[ConnectSchema, str], Reader]] = {
    "boolean": BooleanReader,
    "float": FloatReader,
    "double": FloatReader,
    "int": NumberReader,
    "long": NumberReader,
}


def decode(
    data: pa.BinaryArray, avro: AvroType, connect: ConnectSchema, skip: int = 0
) -> tuple[list[tuple[RowIndex, pa.Array]], dict[int, str]]:
    """Decode Avro bodies of one schema; return columns with their rows, and the reason for each broken row.

    There are several columns if decimals of some rows need another Arrow type than decimals of other rows.

    :param data: bodies without nulls. :param avro: the schema that the bodies were written with.
    :param connect: its Connect schema (:func:`.to_connect.to_connect`). :param skip: bytes before each body.
    """
    by_type: dict[pa.DataType, tuple[list[RowIndex], list[pa.Array]]] = {}
    bad: dict[int, str] = {}
    for start in range(0, len(data), ROWS):
        rows, values, broken = _decode(data.slice(start, ROWS), avro, connect, skip)
        bad |= {start + row: reason for row, reason in broken.items()}
        if rows.size:
            parts = by_type.setdefault(values.type, ([], []))
            parts[0].append(rows + start)
            parts[1].append(values)
    return [(np.concatenate(rows), pa.concat_arrays(columns)) for rows, columns in by_type.values()], bad


def _decode(
    data: pa.BinaryArray, avro: AvroType, connect: ConnectSchema, skip: int
) -> tuple[RowIndex, pa.Array, dict[int, str]]:
    bodies = Bodies(data)
    cursor = bodies.cursor(skip)
    reader = reader_of(avro, connect, "")
    reader.read(cursor)
    rest = cursor.at < cursor.ends
    if rest.any():
        cursor.fail(rest, "bytes follow the value")
    values = reader.finish(bodies)
    rows = np.arange(len(data))
    if bodies.bad:
        kept = np.ones(len(data), np.bool_)
        kept[list(bodies.bad)] = False
        rows = rows[kept]
        values = values.filter(pa.array(kept))
    return rows, values, bodies.bad


def reader_of(avro: AvroType, connect: ConnectSchema, path: str) -> Reader:
    """Return the reader that decodes the values of an Avro schema into a column."""
    place = path or "the value"
    kind = avro.kind
    inner = nullable(avro)
    if inner is not None:
        return _Nullable(reader_of(inner, connect, path), avro.branches[0].kind == "null", connect, place)
    if kind == "union" and len(avro.branches) == 1 and not _is_struct_of_union(avro, connect):
        return _Union([reader_of(avro.branches[0], connect, path)], avro, None, place)
    if kind == "union":
        readers: list[Reader | None] = []
        fields = iter(connect.fields)
        for branch in avro.branches:
            field = None if branch.kind == "null" else next(fields)
            readers.append(None if field is None else reader_of(branch, field.schema, _member(path, field.name)))
        return _Union(readers, avro, connect, place)
    if kind == "record":
        children = [
            reader_of(member.type, field.schema, _member(path, field.name))
            for member, field in zip(avro.fields, connect.fields, strict=True)
        ]
        return _Record(children, connect)
    if kind == "array" and is_entries(avro):
        return _entries(avro, connect, place)
    if kind == "array":
        assert connect.value_schema is not None
        return ItemsReader(
            reader_of(avro.content(), connect.value_schema, f"{path}[]"), place, has_bytes=_has_bytes(avro.content())
        )
    if kind == "map":
        assert connect.key_schema is not None
        assert connect.value_schema is not None
        key = BytesReader(connect.key_schema, f"{path}{{key}}", None)
        return EntriesReader([key, reader_of(avro.content(), connect.value_schema, f"{path}{{}}")], place)
    if kind in _SCALARS:
        return _SCALARS[kind](connect, place)
    if kind == "enum":
        return EnumReader(avro.symbols, place)
    return BytesReader(connect, place, avro.size if kind == "fixed" else None)


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _entries(avro: AvroType, connect: ConnectSchema, place: str) -> Reader:
    assert connect.key_schema is not None
    assert connect.value_schema is not None
    schemas = {"key": connect.key_schema, "value": connect.value_schema}
    members = [field.name for field in avro.content().fields]
    readers = [
        reader_of(field.type, schemas[field.name], f"{place}{{{field.name}}}") for field in avro.content().fields
    ]
    return EntriesReader(readers, place, key=members.index("key"), has_bytes=_has_bytes(avro.content()))


def _has_bytes(avro: AvroType) -> bool:
    """Return whether every encoded value of a schema has at least one byte, so that its count can be checked."""
    if avro.kind == "record":
        return any(_has_bytes(field.type) for field in avro.fields)
    return avro.size > 0 if avro.kind == "fixed" else avro.kind != "null"


def _is_struct_of_union(avro: AvroType, connect: ConnectSchema) -> bool:
    return connect.type == "struct" and len(connect.fields) == 1 and avro.branches[0].name != connect.name


class _Record:
    """Reader of Avro records, with a reader for each field."""

    def __init__(self, children: Sequence[Reader], connect: ConnectSchema) -> None:
        self._children = children
        self._connect = connect
        self._count = 0

    def read(self, cursor: Cursor) -> None:
        self._count += len(cursor)
        for child in self._children:
            child.read(cursor)

    def finish(self, bodies: Bodies) -> pa.Array:
        columns = [child.finish(bodies) for child in self._children]
        if not columns:
            return pa.array([{}] * self._count, pa.struct([]))
        fields = [
            pa.field(field.name, column.type) for field, column in zip(self._connect.fields, columns, strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=fields)


class _Nullable:
    """Reader of Avro unions of null and one other type."""

    def __init__(self, inner: Reader, null_first: bool, connect: ConnectSchema, path: str) -> None:
        self._inner = inner
        self._connect = connect
        self._path = path
        self._of_value = 2 if null_first else 0
        self._valid: list[Mask] = []

    def read(self, cursor: Cursor) -> None:
        branch = cursor.byte(self._path)
        valid = branch == self._of_value
        wrong = ~valid & (branch != 2 - self._of_value)
        if wrong.any():
            cursor.fail(wrong, f"{self._path}: a branch that its union does not have")
        if valid.all():
            self._inner.read(cursor)
        else:
            some = cursor.of(valid)
            self._inner.read(some)
            cursor.put(valid, some)
        self._valid.append(valid)

    def finish(self, bodies: Bodies) -> pa.Array:
        return spread(self._inner.finish(bodies), _join(self._valid))


class _Union:
    """Reader of Avro unions of several types, as structs with a field for each type, of which one is set."""

    def __init__(
        self, branches: Sequence[Reader | None], avro: AvroType, connect: ConnectSchema | None, path: str
    ) -> None:
        self._branches = branches
        self._avro = avro
        self._connect = connect
        self._path = path
        self._chosen: list[RowIndex] = []

    def read(self, cursor: Cursor) -> None:
        chosen = cursor.number(self._path)
        wrong = (chosen < 0) | (chosen >= len(self._branches))
        if wrong.any():
            cursor.fail(wrong, f"{self._path}: a branch that its union does not have")
            chosen[wrong] = -1
        for index, branch in enumerate(self._branches):
            in_branch = chosen == index
            if branch is not None:
                some = cursor.of(in_branch)
                branch.read(some)
                cursor.put(in_branch, some)
        self._chosen.append(chosen)

    def finish(self, bodies: Bodies) -> pa.Array:
        chosen = np.concatenate(self._chosen) if self._chosen else np.zeros(0, np.int64)
        columns = [
            spread(branch.finish(bodies), chosen == index)
            for index, branch in enumerate(self._branches)
            if branch is not None
        ]
        if self._connect is None:
            return columns[0]
        fields = [
            pa.field(field.name, column.type) for field, column in zip(self._connect.fields, columns, strict=True)
        ]
        nulls = functools.reduce(
            np.logical_or, [chosen == i for i, reader in enumerate(self._branches) if reader is None], chosen < 0
        )
        return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array(nulls))


def spread(values: pa.Array, valid: Mask) -> pa.Array:
    """Put the values, in their order, into the valid rows of a longer column; other rows are null."""
    if len(values) == valid.size:
        return values
    index = np.cumsum(valid) - 1
    return values.take(pa.array(index, mask=~valid))


def _join(parts: list[Mask]) -> Mask:
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, np.bool_)
