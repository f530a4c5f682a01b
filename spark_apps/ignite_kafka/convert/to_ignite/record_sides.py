"""Keys, values and key headers of a batch of records, each deserialized only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask, RowIndex
from ...kafka.headers import last_values
from ...kafka.records import Consumed
from ..connect.columns import ConnectPart, Deserialized, Deserializer, JoiningDeserializer
from ..ignite_types.converted_side import ConvertedSide, Reader, read_rows
from ..json.read_rows import is_json
from ..json_with_schemas.deserializer import ConnectJsonDeserializer
from .connect_values import ConnectReader

AnyReader = Reader | ConnectReader
"""Reader of keys or values, from their bytes or from deserialized Connect columns."""


@dataclass(frozen=True)
class ReadSide:
    """Keys, values or one header of N records, deserialized and changed by transforms.

    :param values: values of the rows that have one.
    :param valid: N flags: whether the record has a value on this side that is not null.
    :param present: N flags: whether the record has this side; only headers can be missing.
    """

    values: Deserialized
    valid: Mask
    present: Mask


@dataclass(frozen=True)
class SideReaders:
    """Deserializers of record keys, values and headers to Connect columns.

    :param deserializers: deserializers by side, except sides in Ignite's binary format; None: JSON without schemas.
    :param header: name of the header used as key; empty: no header is.
    :param joined: whether values of many schemas are read at once.
    """

    deserializers: Mapping[str, Deserializer | None]
    topic: str
    header: str = ""
    joined: bool = True

    def deserialize(self, side: str, data: pa.BinaryArray, head: bytes = b"") -> Deserialized:
        """Deserialize keys, values or headers, given as a binary array without nulls.

        :param head: bytes before each value, missing in `data`, for JSON with schemas
            (:func:`.connect_converters.head_of`).
        """
        deserializer = self.deserializers[side]
        assert deserializer is not None, side
        if head:
            assert isinstance(deserializer, ConnectJsonDeserializer)
            return deserializer.deserialize(data, self.topic, head)
        if side == "value" and self.joined and isinstance(deserializer, JoiningDeserializer):
            return deserializer.deserialize_joined(data, self.topic)
        return deserializer.deserialize(data, self.topic)


class RecordSides:
    """Keys, values and headers of a batch, deserialized when they are first needed.

    :param read: sides that are already read, by name.
    """

    def __init__(self, consumed: Consumed, readers: SideReaders, read: Mapping[str, ReadSide]) -> None:
        self.consumed = consumed
        self._readers = readers
        self._read = dict(read)

    def convert(self, side: str, reader: AnyReader, rows: Mask) -> ConvertedSide:
        """Convert the keys, values or headers of the selected rows, all of which have one."""
        if isinstance(reader, ConnectReader):
            return reader.read(self._read_side(side).values)
        return read_rows(reader, self._find_bytes(side)[0], rows)

    def valid(self, side: str) -> Mask:
        """Return a mask of the records whose key, value or header is not null."""
        if side in self._read:
            return self._read[side].valid
        return np.array(self._find_bytes(side)[0].is_valid())

    def present(self, side: str) -> Mask:
        """Return a mask of the records that have the header, null or not; keys and values are always there."""
        return self._read[side].present if side in self._read else self._find_bytes(side)[1]

    def unread(self, side: str, rows: Sequence[int]) -> set[int]:
        """Return the rows, among the given ones, whose key, value or header its converter cannot read.

        :param rows: rows of records without an entry.
        """
        if self._is_connect(side):
            return {row for row, _ in self._read_side(side).values.bad}
        data = self._find_bytes(side)[0]
        texts = [(row, data[row].as_py()) for row in rows if data[row].is_valid]
        if side in self._readers.deserializers:
            return {row for row, text in texts if not is_json(text)}
        return {row for row, _ in texts}  # bytes in Ignite's binary format are used unchanged

    def _is_connect(self, side: str) -> bool:
        return side in self._read or self._readers.deserializers.get(side) is not None

    def _read_side(self, side: str) -> ReadSide:
        if side not in self._read:
            data, present = self._find_bytes(side)
            valid: Mask = np.array(data.is_valid())
            head = self.consumed.head if side == "value" else b""
            if valid.all():
                values = self._readers.deserialize(side, data, head)
            else:
                rows = np.flatnonzero(valid)
                values = at_rows(self._readers.deserialize(side, data.take(pa.array(rows)), head), rows)
            self._read[side] = ReadSide(values, valid, present)
        return self._read[side]

    def _find_bytes(self, side: str) -> tuple[pa.BinaryArray, Mask]:
        """Return the bytes of all keys, values or headers, and a mask of the records that have them."""
        if side == "header":
            return self._header
        data = self.consumed.keys if side == "key" else self.consumed.values
        return data, np.ones(len(data), bool)

    @cached_property
    def _header(self) -> tuple[pa.BinaryArray, Mask]:
        assert self.consumed.headers is not None, "records whose headers were not read"
        return last_values(self.consumed.headers, self._readers.header)


def at_rows(values: Deserialized, rows: RowIndex) -> Deserialized:
    """Return values deserialized from some rows, renumbered to the rows of the whole batch."""
    parts = tuple(ConnectPart(rows[part.rows], part.column) for part in values.parts)
    return Deserialized(parts, tuple((int(rows[row]), why) for row, why in values.bad))
