"""Order of a key's entries by a field of their values, for sinks with setting `order_field`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.arrays import Int64Array, Mask
from ..convert.filter.failed_rows import Decided, decide_each_row
from ..convert.rules.failure_stages import Stage
from ..convert.to_ignite import BadRecord, Entries
from ..ignite.binary import EntryGroup, decode_arrays
from ..ignite.types import type_codes as codes
from ..ignite.types.model import CacheInfo, TypeSource

_ORDERED = frozenset({codes.BYTE, codes.SHORT, codes.INT, codes.LONG, codes.DATE, codes.TIMESTAMP})
_ANY_KEY = bytes((codes.BOOL, 1))
_DAY_US = 86_400_000_000
_MOST_MS = (1 << 63) // 1000 - 1


def with_order(entries: Entries, field: str, cache: CacheInfo, types: TypeSource, date_zone: str = "UTC") -> Entries:
    """Return the entries with the numbers that order them; removals, and values without the field, are bad records.

    Numbers are those that nodes compare (FieldOrder in backlog-service/): whole numbers as they are, dates and
    timestamps by their microseconds since 1970.

    :param field: name of a field of the values, without case.
    :param types: source of the values' binary types.
    :param date_zone: time zone at whose midnight java.sql.Dates were made.
    """
    put = np.asarray(entries.values.is_valid())
    positions = np.flatnonzero(put)
    values = entries.values.filter(pa.array(put))
    order = np.zeros(len(entries), np.int64)

    def part(first: int, last: int) -> Decided:
        numbers, has_number = _numbers(values[first:last], field, cache, types, date_zone)
        order[positions[first:last]] = numbers
        return has_number, {}

    has_number, errors = decide_each_row(len(values), part)
    reasons = {
        int(row): f"order_field is {field}, and the record is a removal, which has no field"
        for row in np.flatnonzero(~put)
    }
    for row in np.flatnonzero(~has_number).tolist():
        error = errors.get(row)
        reasons[int(positions[row])] = (
            f"order_field is {field}, and the value has no such field that is a whole number, a date or a timestamp"
            if error is None
            else error.what
        )
    where = {"setting": "order_field", "cache": cache.name}
    bad = [BadRecord(int(entries.rows[row]), Stage.PUT, reason, where) for row, reason in sorted(reasons.items())]
    ordered = replace(entries, order=order)
    return ordered.without(bad) if bad else ordered


def _numbers(
    values: pa.BinaryArray, field: str, cache: CacheInfo, types: TypeSource, date_zone: str
) -> tuple[Int64Array, Mask]:
    """Return the number of each of N values, and a flag for each that has one.

    :raises DecodeError: a value's bytes are broken.
    """
    numbers = np.zeros(len(values), np.int64)
    has_number = np.zeros(len(values), bool)
    needed = frozenset({field.lower()})
    keys = pa.repeat(pa.scalar(_ANY_KEY, pa.binary()), len(values))  # the decoder needs keys
    nothing = frozenset[str]()
    groups = decode_arrays(keys, values, cache, types, key_fields=nothing, value_fields=needed, date_zone=date_zone)
    for group in groups:
        column = _column(group, field, types)
        if column is not None:
            numbers[group.rows] = _as_numbers(column)
            has_number[group.rows] = np.asarray(column.is_valid())
    return numbers, has_number


def _column(group: EntryGroup, field: str, types: TypeSource) -> pa.Array | None:
    """Return the field of a group's values; None if their type has none, or of a type that is not ordered."""
    type_id = group.value_type.type_id
    if type_id is None or not pa.types.is_struct(group.value.type):
        return None
    for declared in types.binary_type(type_id).fields:
        if declared.name.lower() == field.lower() and declared.type_code in _ORDERED:
            return group.value.field(declared.name)
    return None


def _as_numbers(column: pa.Array) -> Int64Array:
    """Return the numbers of a column of whole numbers, dates or timestamps; 0 for null."""
    kind = column.type
    stored = column.cast(pa.int32()) if pa.types.is_date32(kind) else column
    numbers: Int64Array = np.asarray(pc.fill_null(stored.cast(pa.int64()), 0))
    if pa.types.is_date32(kind):
        return numbers * _DAY_US
    if pa.types.is_timestamp(kind) and kind.unit == "ms":
        return np.clip(numbers, -_MOST_MS, _MOST_MS) * 1000
    return numbers
