"""Transform TimestampConverter: it converts times between texts, numbers, Date, Time and Timestamp.

Source: org.apache.kafka.connect.transforms.TimestampConverter (4.3.1).
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Int64Array, Mask
from ...common.python_compat import UTC
from ...java.date_format import Part, formatted, parts_of
from ...java.date_parse import TimeParser, time_parser
from ...settings.fields import choice
from ..connect import schema as connect
from ..connect.columns import ConnectColumn
from ..connect.schema import DATE, TIME, TIMESTAMP, ConnectField, ConnectSchema, ConnectType
from .batch import ConnectBatch, Transformed
from .json_objects import objects_of
from .json_tokens import JAVA_CLASSES, Kind, changed_by_kind, longs, texts, tokens_of, with_nulls
from .properties import REPLACE_NULL, WITH_DEFAULT, ComponentProperties, Properties, Property
from .schemaless import members, parsed, require_map, row_by_row, written
from .sides import Side, changed
from .structs import basics, field_values, put, refuse_others, struct_column
from .thrown import CONNECT_EXCEPTION, NULL_POINTER, Failures, Thrown

_PURPOSE = "converting timestamp formats"
FIELD = "field"
TARGET = "target.type"
FORMAT = "format"
PRECISION = "unix.precision"
_TEXT = "string"
_UNIX = "unix"
_DATE = "Date"
_TIME = "Time"
_TIMESTAMP = "Timestamp"
_PER_MS = {"nanoseconds": (1_000_000, 1), "microseconds": (1_000, 1), "milliseconds": (1, 1), "seconds": (1, 1_000)}
PROPERTIES: Properties = {
    FIELD: Property(default=""),
    TARGET: Property(choice(_TEXT, _UNIX, _DATE, _TIME, _TIMESTAMP)),
    FORMAT: Property(default=""),
    PRECISION: Property(choice(*_PER_MS), "milliseconds"),
    **REPLACE_NULL,
}
_SCHEMAS = {
    _TEXT: ConnectSchema(ConnectType.STRING), _UNIX: ConnectSchema(ConnectType.INT64), _DATE: connect.date(),
    _TIME: connect.time(),
    _TIMESTAMP: connect.timestamp(),
}  # fmt: skip
_DAY_MS = 86_400_000
_LIMITS = np.iinfo(np.int64)


@dataclass(frozen=True)
class TimestampConverter:
    """Transform TimestampConverter, for a field or for the whole key or value.

    :param field: name of the field; empty: the whole key or value.
    :param target: form of the result: string, unix, Date, Time or Timestamp.
    :param format: format of texts; None: texts are neither read nor written.
    :param parser: parser of texts by the format; None: the format cannot be read.
    """

    side: Side
    field: str
    target: str
    pattern: str
    format: tuple[Part, ...] | None
    parser: TimeParser | None
    precision: str
    use_default: bool

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Convert the times; nulls stay null."""
        return changed(batch, self._change)

    def _change(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        column = self.side.of(batch)
        if column.schema is None:
            result = self._without_schema(column, failures)
        elif not self.field:
            result = self._convert(column.data, column.schema, failures)
        else:
            result = self._with_schema(column, failures)
        return self.side.replaced(batch, result)

    def _with_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        schema = column.schema
        assert schema is not None
        refuse_others(column, _PURPOSE, failures, null_reason="Cannot list fields on non-struct type")
        is_valid = column.data.is_valid()
        fields = []
        columns = []
        for number, field in enumerate(schema.fields):
            member = ConnectColumn(field_values(column, number, use_default=self.use_default), field.schema)
            if field.name == self.field:
                member = self._convert_field(member, is_valid, failures)
            assert member.schema is not None
            put(field.name, member.schema, member.data, failures, is_valid)
            fields.append(ConnectField(field.name, member.schema))
            columns.append(member.data)
        shell = replace(basics(schema), optional=schema.optional, default=schema.default)
        result = struct_column(fields, columns, shell, len(column.data))
        if not column.data.null_count:
            return result
        places = np.arange(len(result.data))
        return ConnectColumn(result.data.take(pa.array(places, mask=~np.asarray(is_valid))), result.schema)

    def _convert_field(self, column: ConnectColumn, is_valid: pa.BooleanArray, failures: Failures) -> ConnectColumn:
        """Convert a field's values; all records fail if its type is no time."""
        schema = column.schema
        assert schema is not None
        try:
            return self._convert(column.data, schema, failures)
        except Thrown as error:
            failures.add(is_valid, error.reason, error.exception)
            target_schema = _SCHEMAS[self.target].as_optional(schema.optional)
            return ConnectColumn(pa.nulls(len(column.data), connect.arrow_type(target_schema)), target_schema)

    def _convert(self, data: pa.Array, schema: ConnectSchema, failures: Failures) -> ConnectColumn:
        target_schema = _SCHEMAS[self.target].as_optional(schema.optional)
        kind = _kind_of(schema)
        times, is_valid = self._times(data, kind, failures)
        if self.target == _DATE:
            failures.add(
                is_valid & (np.abs(times // _DAY_MS) >= 1 << 31),
                "The date is too far from 1970 for the 32 bits of a Date",
            )
        return ConnectColumn(self._values(times, is_valid), target_schema)

    def _times(self, data: pa.Array, kind: str, failures: Failures) -> tuple[Int64Array, Mask]:
        """Convert times in any form to milliseconds; return them and a mask of the valid times."""
        is_valid = np.asarray(data.is_valid())
        if kind == _TEXT:
            return self._read(data, is_valid, failures)
        if kind == _UNIX:
            return self._of_unix(np.asarray(data.fill_null(0))), is_valid
        numbers = data.view(pa.int64() if data.type.bit_width == 64 else pa.int32())
        values = np.asarray(numbers.fill_null(0)).astype(np.int64)
        return values * _DAY_MS if pa.types.is_date32(data.type) else values, is_valid

    def _read(self, data: pa.StringArray, is_valid: Mask, failures: Failures) -> tuple[Int64Array, Mask]:
        if not is_valid.any():
            return np.zeros(len(data), np.int64), is_valid
        if self.format is None:
            missing = 'because "config.format" is null'
            failures.add(is_valid, f'Cannot invoke "java.text.SimpleDateFormat.parse(String)" {missing}', NULL_POINTER)
            return np.zeros(len(data), np.int64), np.zeros(len(data), bool)
        if self.parser is None:
            raise Thrown(f"Could not parse timestamp: texts are not read by the pattern ({self.pattern})")
        times, read = self.parser.parse(data)
        read = np.asarray(read)
        reason = "Could not parse timestamp: value ({}) does not match pattern ({})"
        failures.add(is_valid & ~read, lambda row: reason.format(data[row].as_py(), self.pattern))
        return times, is_valid & read

    def _of_unix(self, values: Int64Array) -> Int64Array:
        """Convert numbers in ``unix.precision`` to milliseconds, as Java's ``TimeUnit.toMillis`` does."""
        per_ms, ms_per = _PER_MS[self.precision]
        return _cut(values, per_ms) if ms_per == 1 else _scale(values, ms_per)

    def _values(self, times: Int64Array, is_valid: Mask) -> pa.Array:
        kind = connect.arrow_type(_SCHEMAS[self.target])
        if self.target == _TEXT:
            assert self.format is not None
            return formatted(times, self.format).take(pa.array(np.arange(len(times)), mask=~is_valid))
        if self.target == _UNIX:
            per_ms, ms_per = _PER_MS[self.precision]
            return pa.array(_scale(times, per_ms) if ms_per == 1 else _cut(times, ms_per), kind, mask=~is_valid)
        if self.target == _DATE:
            return pa.array(np.floor_divide(times, _DAY_MS).astype(np.int32), pa.int32(), mask=~is_valid).view(kind)
        if self.target == _TIME:
            return pa.array(np.mod(times, _DAY_MS).astype(np.int32), pa.int32(), mask=~is_valid).view(kind)
        return pa.array(times, pa.int64(), mask=~is_valid).view(kind)

    def _without_schema(self, column: ConnectColumn, failures: Failures) -> ConnectColumn:
        objects = objects_of(column) if self.field else None
        if objects is not None:
            converted = with_nulls(self._tokens(objects.tokens(self.field), failures))
            return objects.with_members({**objects.members, self.field: converted}).column()
        values = parsed(column)
        if not self.field:
            return ConnectColumn(self._tokens(written(values).data, failures), None)
        maps = row_by_row(
            values, lambda _, value: None if value is None else dict(require_map(value, _PURPOSE)), failures
        )
        items = parsed(ConnectColumn(self._tokens(written(members(maps, self.field)).data, failures), None))
        for mapping, item in zip(maps, items, strict=True):
            if mapping is not None:
                mapping[self.field] = item
        return written(maps)

    def _tokens(self, tokens: pa.BinaryArray, failures: Failures) -> pa.BinaryArray:
        """Convert times in JSON strings or integers to JSON texts in the form of ``target.type``; null stays null.

        With target Date, Time or Timestamp the results are milliseconds.
        """

        def change(kind: Kind, kind_tokens: pa.BinaryArray, refused: Failures) -> pa.BinaryArray:
            if kind is Kind.LONG:
                return self._write_tokens(longs(kind_tokens), _UNIX, refused)
            if kind is Kind.STRING:
                return self._write_tokens(texts(kind_tokens, refused), _TEXT, refused)
            if kind is not Kind.NULL:
                refused.add_all(
                    Thrown(f"TimestampConverter does not support class {JAVA_CLASSES[kind]} objects as timestamps")
                )
            return pa.nulls(len(kind_tokens), pa.binary())

        return changed_by_kind(tokens, change, failures)

    def _write_tokens(self, data: pa.Array, kind: str, failures: Failures) -> pa.BinaryArray:
        """Convert times in one form to JSON texts in the form of ``target.type``."""
        values = self._values(*self._times(data, kind, failures))
        if self.target == _DATE:
            return tokens_of(pc.multiply(values.view(pa.int32()).cast(pa.int64()), _DAY_MS))
        return tokens_of(
            values if self.target == _TEXT else values.view(pa.int32() if self.target == _TIME else pa.int64())
        )


def _cut(values: Int64Array, divisor: int) -> Int64Array:
    """Divide integers, rounding towards zero."""
    down = values // divisor
    result: Int64Array = down + ((values < 0) & (down * divisor != values))
    return result


def _scale(values: Int64Array, factor: int) -> Int64Array:
    """Multiply integers; a result beyond 64 bits becomes the largest or smallest integer."""
    most = _LIMITS.max // factor
    inside = np.clip(values, -most, most) * factor
    return np.where(values > most, _LIMITS.max, np.where(values < -most, _LIMITS.min, inside)) if factor > 1 else values


def _kind_of(schema: ConnectSchema) -> str:
    """Return the form in which a schema's values give times, such as unix or Date.

    :raises Thrown: values of the schema are no times.
    """
    kinds = {TIMESTAMP: _TIMESTAMP, DATE: _DATE, TIME: _TIME}
    if schema.name in kinds:
        return kinds[schema.name]
    if schema.type is ConnectType.STRING:
        return _TEXT
    if schema.type is ConnectType.INT64:
        return _UNIX
    name = f"{schema.name}:" if schema.name is not None else ""
    reason = f"Schema Schema{{{name}{schema.type.name}}} does not correspond to a known timestamp type format"
    raise Thrown(reason, CONNECT_EXCEPTION)


def timestamp_converter(config: ComponentProperties, side: Side) -> TimestampConverter:
    """Return the transform TimestampConverter that the properties configure.

    :raises SettingsError: the target is string and the format is missing, or the format cannot be used.
    """
    pattern = config[FORMAT]
    target = config[TARGET]
    if target == _TEXT and not pattern:
        raise config.refused(FORMAT, f"it is empty, and {TARGET} is {_TEXT}")
    format = None
    parser = None
    if pattern:
        try:
            format = parts_of(pattern)
            parser = time_parser(format, datetime.datetime.now(UTC).date())
        except ValueError as error:
            if format is None or target != _TEXT:  # a format for writing texts need not be readable
                raise config.refused(FORMAT, str(error)) from None
    return TimestampConverter(
        side, config[FIELD], target, pattern, format, parser, config[PRECISION], config[WITH_DEFAULT]
    )
