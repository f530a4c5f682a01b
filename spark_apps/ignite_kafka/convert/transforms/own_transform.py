"""Transforms that users write as Python functions of Arrow record batches.

A function is marked by ``transform_function`` and named ``package.module:function`` in settings. It gets a
``pyarrow.RecordBatch`` of N records, and the transform's other properties as keyword arguments:

=========  ================================================================================
column     content
=========  ================================================================================
row        int64, the record's row, by which the result refers to records
key        the key in the Arrow type of its schema; without a schema: binary, its JSON text
value      the value, likewise
topic      string
timestamp  int64, milliseconds since 1970; null for a record without a time
headers    struct with one field for each header, in the Arrow type of its schema
=========  ================================================================================

The function returns a batch of these columns. A record without its row in this batch is dropped; a column missing in
the batch stays unchanged. Without column ``row`` the batch must have all records in their order. A column of the same
Arrow type keeps its schema; a column of another type gets a schema with optional fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.exact_decimals import exact_cast
from ...common.heartbeat import beat
from ...common.user_functions import TRANSFORM, user_function
from ...errors import SettingsError
from ..connect.columns import ConnectColumn
from ..connect.schema import ConnectField, ConnectSchema, ConnectType, arrow_type, date, decimal, time, timestamp
from .batch import NO_TIME, BadRow, ConnectBatch, Header, Transformed
from .json_objects import joined_sides
from .thrown import DATA_EXCEPTION

OwnFunction = Callable[..., Any]
ROW = "row"
KEY = "key"
VALUE = "value"
TOPIC = "topic"
TIMESTAMP = "timestamp"
HEADERS = "headers"
_COLUMNS = (ROW, KEY, VALUE, TOPIC, TIMESTAMP, HEADERS)
_PLAIN = {
    pa.int8(): ConnectType.INT8, pa.int16(): ConnectType.INT16, pa.int32(): ConnectType.INT32,
    pa.int64(): ConnectType.INT64,
    pa.float32(): ConnectType.FLOAT32, pa.float64(): ConnectType.FLOAT64, pa.bool_(): ConnectType.BOOLEAN,
    pa.string(): ConnectType.STRING, pa.large_string(): ConnectType.STRING,
    pa.binary(): ConnectType.BYTES, pa.large_binary(): ConnectType.BYTES,
}  # fmt: skip


def own_transform(name: str, properties: Mapping[str, str]) -> OwnTransform:
    """Return the transform that calls a user's function, named ``package.module:function``.

    :param name: name of the function, ``package.module:function``.
    :raises SettingsError: there is no such module or function, the function is not marked, or it does not accept the
        properties.
    """
    function = user_function(name, TRANSFORM, value=name)
    try:
        inspect.signature(function).bind(None, **properties)
    except TypeError as error:
        takes = "It takes a record batch, and the transform's properties as keyword arguments."
        raise SettingsError(f"function {name} cannot be called: {error}", takes, value=name) from error
    return OwnTransform(function, properties)


class OwnTransform:
    """Transform that calls a user's function; an exception fails only the record causing it."""

    def __init__(self, function: OwnFunction, properties: Mapping[str, str]) -> None:
        self._function = function
        self._properties = dict(properties)

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Call the user's function on a batch; after an exception, repeat it on ever smaller batches.

        If the result has a wrong form, all records of the call are bad.
        """
        if unread := [header for header in batch.headers if header.unread]:
            reasons = [f"header {unread[0].name}: {why}" for why in unread[0].column.data.to_pylist()]
            return Transformed(
                (),
                tuple(BadRow(row, DATA_EXCEPTION, why) for row, why in zip(batch.rows.tolist(), reasons, strict=True)),
            )
        batch = joined_sides(batch)
        beat()
        try:
            returned = self._function(_arguments(batch), **self._properties)
        # any exception of the user's code is an error of the record, as in Kafka Connect
        except Exception as error:  # noqa: BLE001
            if len(batch) == 1:
                return _refuse(batch, error)
            half = len(batch) // 2
            parts = [self.apply(_rows_of(batch, np.arange(*span))) for span in ((0, half), (half, len(batch)))]
            return Transformed(parts[0].batches + parts[1].batches, parts[0].bad + parts[1].bad)
        try:
            result = _result(batch, returned)
        except (TypeError, ValueError, NotImplementedError) as error:  # including Arrow's errors
            return _refuse(batch, error)
        return Transformed((result,) if len(result) else ())


def _refuse(batch: ConnectBatch, error: Exception) -> Transformed:
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    return Transformed((), tuple(BadRow(row, name, str(error)) for row in batch.rows.tolist()))


def _arguments(batch: ConnectBatch) -> pa.RecordBatch:
    fields = [pa.field(header.name, header.column.data.type) for header in batch.headers]
    nothing = pa.array([{}] * len(batch), pa.struct([]))
    headers = (
        pa.StructArray.from_arrays([own_header.column.data for own_header in batch.headers], fields=fields)
        if fields
        else nothing
    )
    times = pa.array(batch.times_ms, mask=batch.times_ms == NO_TIME)
    return pa.RecordBatch.from_arrays(
        [pa.array(batch.rows), batch.key.data, batch.value.data, batch.topics, times, headers], names=list(_COLUMNS)
    )


def _result(batch: ConnectBatch, returned: Any) -> ConnectBatch:
    if not isinstance(returned, pa.RecordBatch | pa.Table):
        raise TypeError(f"the function returned {type(returned).__name__}, which is no pyarrow.RecordBatch")
    columns = {name: _whole(returned.column(name)) for name in returned.schema.names}
    if unknown := [name for name in columns if name not in _COLUMNS]:
        raise ValueError(f"the function returned column {unknown[0]!r}: the columns are {', '.join(_COLUMNS)}")
    rows = np.asarray(columns[ROW].cast(pa.int64())) if ROW in columns else batch.rows
    if len(rows) != returned.num_rows:
        raise ValueError(
            f"the function returned {returned.num_rows} of {len(batch)} records without column {ROW}, which says which "
            "they are"
        )
    places = np.searchsorted(batch.rows, rows).clip(0, len(batch) - 1)
    if len(np.unique(rows)) != len(rows) or not np.array_equal(batch.rows[places], rows):
        raise ValueError(f"the function returned a {ROW} twice, or one that it did not get")
    order = np.argsort(rows)
    kept = _rows_of(batch, places[order])
    ordered = {name: column.take(pa.array(order)) for name, column in columns.items()}
    headers = kept.headers
    if HEADERS in ordered:
        headers = _headers(ordered[HEADERS], kept.headers)
    return replace(
        kept,
        key=_column(ordered[KEY], kept.key) if KEY in ordered else kept.key,
        value=_column(ordered[VALUE], kept.value) if VALUE in ordered else kept.value,
        topics=ordered[TOPIC].cast(pa.string()) if TOPIC in ordered else kept.topics,
        times_ms=np.asarray(ordered[TIMESTAMP].cast(pa.int64()).fill_null(NO_TIME))
        if TIMESTAMP in ordered
        else kept.times_ms,
        headers=headers,
    )


def _headers(column: pa.Array, before: tuple[Header, ...]) -> tuple[Header, ...]:
    column_of = {header.name: header.column for header in before}
    return tuple(
        Header(field.name, _column(array, column_of.get(field.name, ConnectColumn(pa.nulls(0), None))))
        for field, array in zip(column.type, column.flatten(), strict=True)
    )


def _column(data: pa.Array, before: ConnectColumn) -> ConnectColumn:
    """Return a column of the function's result, with its former schema or one for its new Arrow type."""
    if data.type == before.data.type:
        return ConnectColumn(data, before.schema)
    if pa.types.is_null(data.type):
        return ConnectColumn(data, None)
    schema = _schema(data.type, before.schema)
    return ConnectColumn(exact_cast(data, arrow_type(schema)), schema)


def _schema(kind: pa.DataType, before: ConnectSchema | None) -> ConnectSchema:
    if before is not None and arrow_type(before) == kind:
        return before
    if kind in _PLAIN:
        return ConnectSchema(_PLAIN[kind], True)
    types = pa.types
    if types.is_struct(kind):
        was = before if before is not None and before.type is ConnectType.STRUCT else None
        fields = []
        for field in kind:
            own = None if was is None else was.field(field.name)
            fields.append(ConnectField(field.name, _schema(field.type, None if own is None else own.schema)))
        name, version = (None, None) if was is None else (was.name, was.version)
        return ConnectSchema(ConnectType.STRUCT, True, name, version, fields=tuple(fields))
    if types.is_map(kind):
        return ConnectSchema(
            ConnectType.MAP, True, key_schema=_schema(kind.key_type, None), value_schema=_schema(kind.item_type, None)
        )
    if types.is_list(kind) or types.is_large_list(kind):
        return ConnectSchema(ConnectType.ARRAY, True, value_schema=_schema(kind.value_type, None))
    if types.is_decimal(kind):
        return decimal(kind.scale, optional=True)
    for is_kind, schema_of in ((types.is_date, date), (types.is_time, time), (types.is_timestamp, timestamp)):
        if is_kind(kind):
            return schema_of(optional=True)
    raise TypeError(f"the function returned a column of Arrow type {kind}, which Kafka Connect has no schema for")


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _rows_of(batch: ConnectBatch, places: np.ndarray) -> ConnectBatch:
    if places.size == len(batch):
        return batch
    index = pa.array(places)

    def take(column: ConnectColumn) -> ConnectColumn:
        return ConnectColumn(pc.take(column.data, index), column.schema)

    position = batch.position
    if position is not None:
        position = replace(position, partitions=position.partitions[places], offsets=position.offsets[places])
    return ConnectBatch(
        batch.rows[places], take(batch.key), take(batch.value), batch.topics.take(index), batch.times_ms[places],
        tuple(replace(header, column=take(header.column)) for header in batch.headers), position,
    )  # fmt: skip
