"""Header converter `simple`, Connect's default: it writes values as text, and guesses types when it reads.

A text that resembles a number is read as a number: ``"12"`` becomes an INT8, and ``"007"`` becomes 7. Header converter
`string` keeps texts as they are.

Source: org.apache.kafka.connect.storage.SimpleHeaderConverter and Values.convertToString (4.3.1), in a JVM whose time
zone is UTC.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UnsupportedType
from ...java.text import java_text
from ..connect.columns import ConnectColumn, ConnectPart, Deserialized
from ..connect.schema import TIME, ConnectSchema, ConnectType, arrow_type
from ..rules.json_bytes import bytes_to_json
from .parse_string import NestedTooDeep, Parsed, parse_string

_CONTAINERS = frozenset({ConnectType.STRUCT, ConnectType.MAP, ConnectType.ARRAY})
_DAY_MS = 86_400_000
_MOST_DIGITS = 38


class SimpleSerializer:
    """Serializer of scalar header values as text: bytes in base64, dates and times in ISO 8601."""

    name = "simple"

    def check(self, schema: ConnectSchema, topic: str) -> None:
        """Raise UnsupportedType for a schema of structs, maps or arrays."""
        if schema.type in _CONTAINERS:
            what = f"the value is of type {schema.type}, which the header converter simple does not write here"
            raise UnsupportedType(what, "Use the header converter json.")

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Return the text of each value; null for null."""
        assert column.schema is not None, "a header without a schema"
        self.check(column.schema, topic)
        data = column.data
        if pa.types.is_binary(data.type):
            return bytes_to_json(data).cast(pa.binary())
        if pa.types.is_temporal(data.type):
            return _moments(data).cast(pa.binary())
        return java_text(data).cast(pa.binary())


def iso_text(array: pa.Array) -> pa.StringArray:
    """Return dates, times or timestamps as ISO 8601 text, the only form in which `simple` reads them back."""
    _, days, clock = _days_and_clock(array)
    if pa.types.is_date32(array.type):
        return days
    return clock if pa.types.is_time32(array.type) else pc.binary_join_element_wise(days, clock, "T")


def _days_and_clock(array: pa.Array) -> tuple[pa.Int64Array, pa.StringArray, pa.StringArray]:
    """Return moments as milliseconds since 1970, as text of the date, and as text of the time."""
    if pa.types.is_date32(array.type):
        ms = array.cast(pa.int32()).cast(pa.int64())
        ms = pc.multiply(ms, _DAY_MS)
    else:
        ms = array.cast(pa.int32()).cast(pa.int64()) if pa.types.is_time32(array.type) else array.cast(pa.int64())
    moments = ms.cast(pa.timestamp("ms"))
    return ms, pc.strftime(moments, "%Y-%m-%d"), pc.binary_join_element_wise(pc.strftime(moments, "%H:%M:%S"), "Z", "")


def _moments(array: pa.Array) -> pa.StringArray:
    """Return dates, times or timestamps as text, in the form that Connect's ``Values.dateFormatFor`` chooses.

    That is only the time on 1970-01-01 and before, only the date at midnight, and otherwise both.
    """
    ms, days, clock = _days_and_clock(array)
    whole = pc.equal(pc.subtract(ms, pc.multiply(pc.divide(ms, _DAY_MS), _DAY_MS)), 0)
    return pc.if_else(
        pc.less(ms, _DAY_MS), clock, pc.if_else(whole, days, pc.binary_join_element_wise(days, clock, "T"))
    )


class SimpleDeserializer:
    """Deserializer of header texts as the numbers, dates or other values they look like."""

    name = "simple"

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Parse header texts as values; text null becomes null, and bytes that are not UTF-8 are bad.

        Each distinct text is parsed once.
        """
        encoded = data.dictionary_encode()
        parsed = [_parse(item) for item in encoded.dictionary.to_pylist()]
        of_row = encoded.indices.to_numpy(zero_copy_only=False)
        groups: dict[ConnectSchema | None, list[int]] = defaultdict(list)
        bad: list[tuple[int, str]] = []
        for row, at in enumerate(of_row.tolist()):
            header = parsed[at]
            if isinstance(header, str):
                bad.append((row, header))
            else:
                groups[header.schema].append(row)
        parts = tuple(_part(schema, rows, [parsed[of_row[row]] for row in rows]) for schema, rows in groups.items())
        return Deserialized(parts, tuple(bad))


def _parse(data: bytes) -> Parsed | str:
    try:
        parsed = parse_string(data.decode())
    except UnicodeDecodeError as error:
        return f"byte {error.start} of the header is no text in UTF-8"
    except NestedTooDeep as error:
        return f"the header is not read: {error}"
    if parsed.schema is not None and parsed.schema.name == TIME and not 0 <= parsed.value < _DAY_MS:
        return "the header's time is not within a day"
    if parsed.schema is not None and parsed.schema.type in _CONTAINERS:
        what = f"the header is of type {parsed.schema.type}, which is not read here"
        return f"{what}: header_converter=string or json reads it"
    return parsed


def _part(schema: ConnectSchema | None, rows: list[int], headers: list[Any]) -> ConnectPart:
    if schema is None:
        column = ConnectColumn(pa.nulls(len(rows), pa.binary()), None)
        return ConnectPart(np.array(rows, np.int64), column)
    values = [header.value for header in headers]
    kind = arrow_type(schema)
    if pa.types.is_decimal(kind) and any(len(value.as_tuple().digits) > _MOST_DIGITS for value in values):
        kind = pa.string()
    data = pa.array(
        [str(value) for value in values] if kind == pa.string() and schema.type is ConnectType.BYTES else values, kind
    )
    return ConnectPart(np.array(rows, np.int64), ConnectColumn(data, schema))
