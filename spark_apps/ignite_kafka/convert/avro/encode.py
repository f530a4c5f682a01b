"""Encoder of columns of Connect values as Avro bodies, one per row; no Python code runs per row.

The bytes equal those of Java's GenericDatumWriter with a BinaryEncoder.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...common.arrow_layout import list_sizes
from ...common.redaction import in_message
from ...errors import UnsupportedType
from ..connect.schema import ConnectSchema, arrow_type, scale_of
from ..rules.connect_decimals import unscaled_bytes
from .body_writer import BodyWriter, grouped
from .from_connect import is_union
from .types import AvroType

ROWS = 16_384
"""Number of rows encoded in one pass: few enough for the processor's cache, so memory does not grow with the batch."""

_INTS = {"int": np.int32, "long": np.int64}


def encode(
    data: pa.Array, connect: ConnectSchema, avro: AvroType, prefix: bytes = b"", *, fill_defaults: bool = True
) -> pa.BinaryArray:
    """Encode each value of a column as a prefix and an Avro body; null for a null.

    :param data: values in the Arrow type of :class:`~..connect.columns.ConnectColumn`.
    :param avro: schema of the bodies, which :func:`.from_connect.from_connect` made of `connect`.
    :param fill_defaults: a null field with a default is written as the default.
    :raises UnsupportedType: a value is null and its schema is not optional, or the schema cannot hold the value; the
        message names the field.
    """
    parts = [
        _encode(data.slice(start, ROWS), connect, avro, prefix, fill_defaults) for start in range(0, len(data), ROWS)
    ]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())


def encode_sparse(
    data: pa.StructArray, connect: ConnectSchema, avro: AvroType, prefix: npt.NDArray[np.void]
) -> pa.BinaryArray:
    """Encode structs of different schemas: each without its null fields, after the prefix with its own schema's id.

    It raises the errors of :func:`encode`.

    :param data: structs, none null. :param avro: a record of all fields. :param prefix: N items of equally many bytes.
    """
    parts = []
    for start in range(0, len(data), ROWS):
        rows = data.slice(start, ROWS)
        encoder = _Encoder(len(rows), False)
        encoder.writer.fixed(prefix[start : start + ROWS])
        encoder.write_present(rows, connect, avro)
        parts.append(encoder.writer.rows())
    return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())


def _encode(
    data: pa.Array, connect: ConnectSchema, avro: AvroType, prefix: bytes, fill_defaults: bool
) -> pa.BinaryArray:
    encoder = _Encoder(len(data), fill_defaults)
    encoder.writer.constant(prefix)
    encoder.write(data, connect, avro, None, "")
    rows = encoder.writer.rows()
    return pc.if_else(data.is_valid(), rows, pa.scalar(None, pa.binary())) if data.null_count else rows


class _Encoder:
    """Encoder of N rows to Avro, which skips rows without a value because an outer value is null.

    `present` is everywhere the mask of the rows with a value.
    """

    def __init__(self, count: int, fill_defaults: bool) -> None:
        self.writer = BodyWriter(count)
        self._fill_defaults = fill_defaults

    def write(self, data: pa.Array, connect: ConnectSchema, avro: AvroType, present: Mask | None, path: str) -> None:
        if is_union(connect):
            self._union(data, connect, avro, present, path)
            return
        valid = np.asarray(data.is_valid()) if data.null_count else None
        if avro.kind == "union":
            null = next(index for index, branch in enumerate(avro.branches) if branch.kind == "null")
            of_value = 0 if null else 2
            self.writer.cell(
                of_value if valid is None else np.where(valid, of_value, 2 - of_value).astype(np.uint8), present
            )
            avro = avro.branches[1 - null]
        elif valid is not None and not (valid if present is None else valid | ~present).all():
            raise UnsupportedType(
                f"{_place(path)} is null, and its schema is not optional",
                "Set fieldNullabilityPolicy to EAGER",
                field=path,
            )
        self._value(data, connect, avro, present if valid is None else valid, path)

    def write_present(self, data: pa.StructArray, connect: ConnectSchema, avro: AvroType) -> None:
        """Write each struct without its null fields."""
        for child, field, member in zip(data.flatten(), connect.fields, avro.fields, strict=True):
            present = np.asarray(child.is_valid()) if child.null_count else None
            if is_union(field.schema) or member.type.kind != "union":
                self._value(child, field.schema, member.type, present, field.name)
                continue
            of_value = next(index for index, branch in enumerate(member.type.branches) if branch.kind != "null")
            self.writer.cell(2 * of_value, present)
            self._value(child, field.schema, member.type.branches[of_value], present, field.name)

    def _value(self, data: pa.Array, connect: ConnectSchema, avro: AvroType, present: Mask | None, path: str) -> None:
        kind = avro.kind
        if kind in _INTS:
            self.writer.varint(_numbers(data, connect).astype(_INTS[kind], copy=False), present)
        elif kind in ("float", "double"):
            self.writer.fixed(np.asarray(pc.fill_null(data, 0)), present)
        elif kind == "boolean":
            self.writer.cell(np.asarray(pc.fill_null(data, False)).view(np.uint8), present)
        elif kind == "record":
            self._record(data, connect, avro, present, path)
        elif kind in ("array", "map"):
            self._items(data, connect, avro, present, path)
        elif kind == "enum":
            self._enum(data, avro, present, path)
        else:
            self._bytes(data, connect, avro, present, path)

    def _bytes(self, data: pa.Array, connect: ConnectSchema, avro: AvroType, present: Mask | None, path: str) -> None:
        scale = scale_of(connect)
        data = data.cast(pa.binary()) if scale is None else unscaled_bytes(data, scale, path)
        if avro.kind == "fixed":
            data = _pad(data, avro.size, path) if scale is not None else _of_size(data, avro.size, path)
        else:
            self.writer.varint(np.asarray(pc.fill_null(pc.binary_length(data), 0)), present)
        self.writer.column(data)

    def _enum(self, data: pa.Array, avro: AvroType, present: Mask | None, path: str) -> None:
        index = pc.index_in(data, pa.array(avro.symbols, pa.string()))
        if index.null_count != data.null_count:
            wrong = pc.filter(data, pc.and_(data.is_valid(), index.is_null()))[0].as_py()
            what = f"{_place(path)} holds {in_message(wrong)}, which is no constant of the enum {avro.name}"
            raise UnsupportedType(what, "Add the constant to the schema's parameters", field=path)
        self.writer.varint(np.asarray(pc.fill_null(index, 0)), present)

    def _record(
        self, data: pa.StructArray, connect: ConnectSchema, avro: AvroType, present: Mask | None, path: str
    ) -> None:
        # flatten gives null where the record is null
        for child, field, member in zip(data.flatten(), connect.fields, avro.fields, strict=True):
            inner = f"{path}.{field.name}" if path else field.name
            if child.null_count and field.schema.default is not None and self._fill_defaults:
                default = pa.scalar(field.schema.default, child.type)
                filled = pc.if_else(child.is_valid(), child, default)
                child = (
                    filled if present is None else pc.if_else(pa.array(present), filled, pa.scalar(None, child.type))
                )
            self.write(child, field.schema, member.type, present, inner)

    def _items(self, data: pa.Array, connect: ConnectSchema, avro: AvroType, present: Mask | None, path: str) -> None:
        if pa.types.is_map(data.type):  # as a list of its entries, without copying
            entries = pa.struct([data.type.key_field, data.type.item_field])
            data = data.cast(pa.list_(pa.field("entries", entries, nullable=False)))
        counts = list_sizes(data)
        items = pc.list_flatten(data)
        inner = _Encoder(len(items), self._fill_defaults)
        content = connect.value_schema
        assert content is not None
        if connect.key_schema is not None:
            keys, values = items.flatten()
            if avro.kind == "map":
                inner.write(keys, connect.key_schema.as_optional(False), AvroType("string"), None, f"{path}{{key}}")
                inner.write(values, content, avro.content(), None, f"{path}{{}}")
            else:
                inner.write(keys, connect.key_schema, avro.content().fields[0].type, None, f"{path}{{key}}")
                inner.write(values, content, avro.content().fields[1].type, None, f"{path}{{}}")
        else:
            inner.write(items, content, avro.content(), None, f"{path}[]")
        some = counts > 0
        self.writer.varint(counts, some)
        self.writer.column(grouped(inner.writer.rows(), counts))
        self.writer.cell(0, present)

    def _union(
        self, data: pa.StructArray, connect: ConnectSchema, avro: AvroType, present: Mask | None, path: str
    ) -> None:
        """Write unions, which are structs with a field for each branch; the first field with a value is the branch."""
        first = 1 if connect.optional else 0
        written = np.zeros(len(data), np.bool_) if present is None else ~present
        chosen = np.zeros(len(data), np.int32)
        children = []
        for index, child in enumerate(data.flatten(), first):
            valid = np.asarray(child.is_valid()) & ~written
            chosen[valid] = index
            written |= valid
            children.append((pc.if_else(pa.array(valid), child, pa.scalar(None, child.type)), valid))
        if not connect.optional and not written.all():
            raise UnsupportedType(f"{_place(path)} has no branch of its union, and null is none of them", field=path)
        self.writer.varint(chosen, present)
        for (child, valid), field, branch in zip(children, connect.fields, avro.branches[first:], strict=True):
            self._value(child, field.schema, branch, valid, f"{path}.{field.name}" if path else field.name)


def _numbers(data: pa.Array, connect: ConnectSchema) -> npt.NDArray[Any]:
    kind = arrow_type(connect)
    if not pa.types.is_integer(kind):
        data = data.view(pa.int64() if kind.bit_width == 64 else pa.int32())
    return np.asarray(pc.fill_null(data, 0))


def _of_size(data: pa.BinaryArray, size: int, path: str) -> pa.BinaryArray:
    wrong = pc.filter(data, pc.not_equal(pc.binary_length(data), size))
    if len(wrong):
        raise UnsupportedType(
            f"{_place(path)} has {len(wrong[0].as_py())} bytes, and its schema is a fixed of {size}", field=path
        )
    return data


def _pad(data: pa.BinaryArray, size: int, path: str) -> pa.BinaryArray:
    """Pad unscaled decimals to the size of an Avro fixed, with sign bytes in front."""
    values = data.to_pylist()
    longest = max((len(value) for value in values if value is not None), default=0)
    if longest > size:
        raise UnsupportedType(
            f"{_place(path)} holds a decimal of {longest} bytes, and its schema is a fixed of {size}", field=path
        )
    return pa.array(
        [
            None if value is None else int.from_bytes(value, "big", signed=True).to_bytes(size, "big", signed=True)
            for value in values
        ],
        pa.binary(),
    )


def _place(path: str) -> str:
    return f"field {path}" if path else "the value"
