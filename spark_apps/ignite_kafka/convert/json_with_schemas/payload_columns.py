"""Reader of payloads of JSON with schemas as columns, much faster than reading them one by one.

Payloads are parsed as plain Arrow types and then converted to the types of their schema. Rows that do not match are
returned as a mask; :mod:`.payload_rows` finds the reason or the value.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...common.arrow_layout import list_starts, null_mask
from ..connect import ConnectSchema, ConnectType
from ..connect.schema import DECIMAL, arrow_type, default_array, scale_of
from ..json.parser import parsed
from ..rules.connect_decimals import decimals_from_bytes
from ..rules.json_bytes import bytes_from_json
from ..rules.json_times import DAY_MS, outside

_MOST_DIGITS = 38


@functools.lru_cache(maxsize=1_000)
def parsed_as(schema: ConnectSchema, numeric: bool) -> pa.DataType | None:
    """Return the plain Arrow type to parse a schema's payloads as; None if they must be read one by one.

    :param numeric: whether decimals are numbers, not base64.
    """
    if schema.type is ConnectType.STRUCT:
        inner = [(field.name, parsed_as(field.schema, numeric)) for field in schema.fields]
        return None if not inner or any(kind is None for _, kind in inner) else pa.struct(inner)
    if schema.type is ConnectType.ARRAY:
        if numeric and any(not name for name, _ in decimal_members(schema)):
            return None  # uncertain_decimals checks only the first element
        element = parsed_as(schema.value_schema, numeric) if schema.value_schema else None
        return None if element is None else pa.list_(element)
    if schema.type is ConnectType.MAP:
        return None
    kind = arrow_type(schema)
    if schema.name == DECIMAL:
        if not pa.types.is_decimal(kind):
            return None
        return kind if numeric else pa.string()
    if pa.types.is_temporal(kind):
        return pa.int64() if pa.types.is_timestamp(kind) else pa.int32()
    return pa.string() if pa.types.is_binary(kind) else kind


def decimal_members(schema: ConnectSchema) -> Iterator[tuple[str, int]]:
    """Yield the name and scale of each member that is a decimal or an array of decimals.

    The name of the whole payload is empty.
    """
    scale = scale_of(schema)
    if scale is not None:
        yield "", scale
    for field in schema.fields:
        yield from ((name or field.name, of_name) for name, of_name in decimal_members(field.schema))
    if schema.type is ConnectType.ARRAY and schema.value_schema:
        yield from decimal_members(schema.value_schema)


class PayloadColumns:
    """Reader that parses payloads as columns and converts them to a schema's types.

    :param defaults: read a null of a field with a default as the default.
    :param numeric: whether decimals are numbers, not base64.
    """

    def __init__(self, *, defaults: bool, numeric: bool) -> None:
        self._defaults = defaults
        self._numeric = numeric

    def read(
        self, payloads: pa.BinaryArray, schema: ConnectSchema, kind: pa.DataType, most: int
    ) -> tuple[list[tuple[RowIndex, pa.Array, pa.Array]], RowIndex]:
        """Parse payloads, none the text ``null``, as values of a schema.

        :param kind: plain type by :func:`parsed_as`.
        :param most: number of refused payloads after which all remaining ones are refused.
        :returns: places of payloads with their parsed and their typed values, and places that must be read one by one.
        """
        pieces = []
        rest = [np.arange(0)]
        refused = 0
        # with ignore, a member behind a payload that is no object would be ignored, too
        for part, array in parsed(payloads, kind, ignore=pa.types.is_struct(kind)):
            places: RowIndex = np.arange(part.start, part.stop)
            if array is None:
                refused += len(places)
                rest.append(places)
                if refused >= most:
                    rest.append(np.arange(part.stop, len(payloads)))
                    break
                continue
            data, wrong = self.typed(array, schema)
            if wrong.any():
                right = pa.array(~wrong)
                rest.append(places[wrong])
                places = places[~wrong]
                array = array.filter(right)
                data = data.filter(right)
            pieces.append((places, array, data))
        return pieces, np.concatenate(rest)

    def typed(self, array: pa.Array, schema: ConnectSchema, parent: pa.Array | None = None) -> tuple[pa.Array, Mask]:
        """Convert a parsed column to its schema's type; return it and a mask of the rows whose values do not fit.

        Values in wrong rows are undefined.

        :param parent: struct array that contains the column; its null rows have no value in the column.
        """
        values, wrong = self._typed_present(array, schema)
        if not array.null_count:
            return values, wrong
        missing = np.asarray(array.is_null())
        if parent is not None and parent.null_count:
            missing &= np.asarray(parent.is_valid())
        if schema.default is not None and self._defaults:
            try:
                default = default_array(schema, values.type)
            except pa.ArrowException:  # too many digits: rows read one by one have decimals as text
                return values, wrong | missing
            rows = np.where(missing, len(values), np.arange(len(values)))
            return pa.concat_arrays([values, default]).take(pa.array(rows)), wrong
        return values, wrong if schema.optional else wrong | missing

    def _typed_present(self, array: pa.Array, schema: ConnectSchema) -> tuple[pa.Array, Mask]:
        right = np.zeros(len(array), bool)
        if schema.type is ConnectType.STRUCT:
            return self._struct(array, schema)
        if schema.type is ConnectType.ARRAY:
            return self._list(array, schema)
        kind = arrow_type(schema)
        if schema.name == DECIMAL:
            return (array, right) if self._numeric else decimals_from_bytes(*bytes_from_json(array), kind)
        if pa.types.is_time(kind):
            return array.view(kind), outside(array, 0, DAY_MS)
        if pa.types.is_temporal(kind):
            return array.view(kind), right
        if pa.types.is_floating(kind):
            return array, ~np.asarray(pc.is_finite(array).fill_null(True))
        return bytes_from_json(array) if pa.types.is_binary(kind) else (array, right)

    def _struct(self, array: pa.StructArray, schema: ConnectSchema) -> tuple[pa.Array, Mask]:
        wrong = np.zeros(len(array), bool)
        columns = []
        for number, field in enumerate(schema.fields):
            column, bad = self.typed(array.field(number), field.schema, array)
            columns.append(column)
            wrong |= bad
        missing = null_mask(array)
        if missing is not None:
            wrong &= ~np.asarray(missing)
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(schema)), mask=missing), wrong

    def _list(self, array: pa.ListArray, schema: ConnectSchema) -> tuple[pa.Array, Mask]:
        assert schema.value_schema
        values, bad = self.typed(array.flatten(), schema.value_schema)
        wrong = np.zeros(len(array), bool)
        if bad.any():
            wrong[np.asarray(pc.list_parent_indices(array))[bad]] = True
        return pa.ListArray.from_arrays(
            list_starts(array), values, type=arrow_type(schema), mask=null_mask(array)
        ), wrong


def uncertain_decimals(texts: pa.BinaryArray, members: Collection[tuple[str, int]]) -> Mask:
    """Return a mask of the texts with a decimal that Arrow's parser may misread as a number.

    Such a decimal may be base64 that consists of digits only. Or it has more digits before the point than the type, for
    which the parser returns a different number (:mod:`~ignite_kafka.common.exact_decimals`).

    :param members: see :func:`decimal_members`.
    """
    digits = max(1, _MOST_DIGITS + 1 - max(scale for _, scale in members))
    number = rf"-?[0-9]{{{digits}}}|-?[0-9.]+[eE]"
    if any(not name for name, _ in members):
        return np.asarray(pc.match_substring_regex(texts, rf'"|^[ \t\r\n]*(?:{number})'))
    choice = "|".join(re.escape(name) for name, _ in sorted(members))
    return np.asarray(pc.match_substring_regex(texts, rf'"(?:{choice})"[ \t\r\n]*:[ \t\r\n\[]*(?:"|{number})|\\u'))


def number_decimals(texts: pa.BinaryArray, members: Collection[tuple[str, int]]) -> Mask:
    """Return a mask of the texts with a decimal that is a JSON number; parameters as in :func:`uncertain_decimals`."""
    if any(not name for name, _ in members):
        return np.asarray(pc.match_substring_regex(texts, r"^[ \t\r\n\[]*-?[0-9]"))
    choice = "|".join(re.escape(name) for name, _ in sorted(members))
    return np.asarray(pc.match_substring_regex(texts, rf'"(?:{choice})"[ \t\r\n]*:[ \t\r\n\[]*-?[0-9]'))
