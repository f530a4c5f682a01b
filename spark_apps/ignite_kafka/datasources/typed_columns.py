"""Typed columns `key` and `value` of data source `kafka-tx`, serialized and deserialized by converters.

The data source's options name the converters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ..common.arrays import RowIndex
from ..convert.connect import ConnectColumn, ConnectSchema, Deserialized, Deserializer, Serializer
from ..convert.connect_converters import deserializer, serializer
from ..convert.json.write_columns import JsonFormat
from ..convert.json_with_schemas.deserializer import ConnectJsonDeserializer
from ..convert.json_with_schemas.schema_from_connect import schema_json
from ..convert.json_with_schemas.serializer import ConnectJsonSerializer
from ..convert.to_ignite.conversion_rules import SideRules
from ..errors import DecodeError, SettingsError
from ..registry.config import config_of
from ..registry.registries import provide_registry
from ..settings import converters
from ..settings.client_config import canonical
from .frame_schemas import schema_of, to_connect, to_frame
from .options import KafkaOptions

SIDES = ("key", "value")
_PLAIN = {
    converters.STRING: pa.string(), converters.BYTES: pa.binary(), "boolean": pa.bool_(), "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(), "float": pa.float32(), "double": pa.float64(),
}  # fmt: skip
"""Types of the converters whose values always have the same type."""


@dataclass(frozen=True)
class SideConverterOptions:
    """Options of the converter for the keys or the values.

    :param properties: all properties of the converter, see :func:`~ignite_kafka.settings.converters.parse_properties`.
    :param connection: connection with the secrets of a schema registry, and Kafka's secrets for a registry that shares
        them.
    """

    side: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    connection: KafkaOptions | None = None

    @property
    def frame_type(self) -> pa.DataType | None:
        """Column type that the converter always gives; None if the DataFrame's schema determines it."""
        return _PLAIN.get(self.name)

    def register_registry(self) -> None:
        """Make the converter's schema registry, if it has one, available in this process.

        :raises SettingsError: the registry's URL or a credential is missing, the connection is not protected, or
            options decide where a login is sent.
        """
        if self.connection is not None and converters.uses_registry(self.name):
            secrets = self.connection.secrets()
            insecure = self.connection.allow_insecure
            kafka = canonical({**self.connection.kafka, **secrets.kafka})
            of_side = secrets.registry_of(self.side)
            option = f"{self.side}.converter"
            provide_registry(
                self.side,
                self.properties,
                config_of(self.side, self.properties, of_side, kafka, insecure=insecure, setting=option),
            )


def parse_converter_options(
    values: Mapping[str, Any], texts: Mapping[str, str], connection: KafkaOptions | None = None, *, reading: bool
) -> dict[str, SideConverterOptions]:
    """Parse the options `key.converter` and `value.converter` with their properties.

    Without a converter the column has bytes or text.

    :param values: values of the option table.
    :param texts: all options.
    :param connection: see :class:`SideConverterOptions`.
    :raises SettingsError: a property is unknown or wrong, or is given without a converter.
    """
    by_side = {}
    for side in SIDES:
        option = f"{side}.converter"
        properties = {
            name.removeprefix(f"{option}."): value for name, value in texts.items() if name.startswith(f"{option}.")
        }
        name = values[option]
        if name is None:
            if properties:
                raise SettingsError(
                    f"{option}.{next(iter(properties))} is given without {option}",
                    f"Give {option}, too.",
                    option=option,
                )
            continue
        if name == converters.IGNITE_BINARY:
            remedy = "Leave it out, and read or write binary columns."
            raise SettingsError(f"{option} is {name}, which has no columns", remedy, option=option)
        parsed = converters.parse_properties(option, name, properties, sink=reading)
        if "decimal.format" in parsed:
            parsed["decimal.format"] = parsed["decimal.format"] or "BASE64"
        by_side[side] = SideConverterOptions(side, name, parsed, connection)
    return by_side


@dataclass(frozen=True)
class ColumnWriter:
    """Serializer of a typed column, created on the driver and used in Spark tasks.

    :raises UnsupportedType: the converter, or Kafka Connect, cannot write the column's type.
    """

    options: SideConverterOptions
    schema: ConnectSchema

    @classmethod
    def of(cls, options: SideConverterOptions, column: pa.Field, topic: str) -> ColumnWriter:
        """Make the writer of a column, after checking that the converter supports the column's type."""
        schema = schema_of(column).as_optional(False)
        cls(options, schema)._serializer.check(schema, topic)
        return cls(options, schema)  # a new object without serializer, which cannot be pickled

    @cached_property
    def _serializer(self) -> Serializer:
        options = self.options
        options.register_registry()
        own = serializer(options.name, options.side, options.properties)
        return own or ConnectJsonSerializer(JsonFormat(options.properties["decimal.format"]), schemas=False)

    def write(self, array: pa.Array, topic: str) -> pa.BinaryArray:
        """Serialize the values of a column; null stays null."""
        is_valid = array.is_valid()
        written = self._serializer.serialize(
            ConnectColumn(to_connect(array.filter(is_valid), self.schema), self.schema), topic
        )
        if not array.null_count:
            return written
        rows = np.cumsum(np.asarray(is_valid)) - 1
        return written.take(pa.array(rows, mask=~np.asarray(is_valid)))


@dataclass(frozen=True)
class ColumnReader:
    """Deserializer of a typed column, used in a Spark task."""

    options: SideConverterOptions
    column: pa.Field

    @cached_property
    def _deserializer(self) -> Deserializer | None:
        """Deserializer of the converter; None if records are JSON without schemas."""
        self.options.register_registry()
        return deserializer(self.options.side, SideRules(self.options.name, self.options.properties))

    @cached_property
    def _json_deserializer(self) -> ConnectJsonDeserializer:
        """Deserializer of JSON without schemas, by the type of the DataFrame's column."""
        return ConnectJsonDeserializer(content=schema_json(_make_optional(schema_of(self.column)), JsonFormat()))

    def read(self, data: pa.BinaryArray, topic: str) -> pa.Array:
        """Deserialize keys or values to the DataFrame's column type; null stays null.

        :raises DecodeError: a record is no value of the converter; `row` is its position.
        :raises UnsupportedType: the column's type cannot hold a value.
        """
        valid = np.flatnonzero(np.asarray(data.is_valid()))
        texts = data if valid.size == len(data) else data.take(pa.array(valid))
        deserialized = self._deserialize(texts, topic)
        if deserialized.bad:
            raise self._bad_record_error(deserialized.bad[0], valid)
        place = np.full(len(data), -1)
        parts = list[pa.Array]()
        count = 0
        for part in deserialized.parts:
            rows = valid[part.rows]
            column = part.column
            if column.schema is None:  # JSON texts, of a converter that reads both forms
                plain = self._json_deserializer.deserialize(column.data, topic)
                if plain.bad:
                    raise self._bad_record_error(plain.bad[0], rows)
                inner = [(rows[plain_part.rows], plain_part.column.data) for plain_part in plain.parts]
            else:
                inner = [(rows, column.data)]
            for rows_of_part, values in inner:
                place[rows_of_part] = count + np.arange(len(rows_of_part))
                parts.append(to_frame(values, self.column.type, self.options.side))
                count += len(rows_of_part)
        if not parts:
            return pa.nulls(len(data), self.column.type)
        return pa.concat_arrays(parts).take(pa.array(np.maximum(place, 0), mask=place < 0))

    def _deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        return (self._deserializer or self._json_deserializer).deserialize(data, topic)

    def _bad_record_error(self, bad: tuple[int, str], rows: RowIndex) -> DecodeError:
        row, reason = bad
        what = f"the {self.options.side} of a record is no value of {self.options.name}: {reason}"
        remedy = f"Correct {self.options.side}.converter or its properties, or read the record as binary without it."
        return DecodeError(what, remedy, row=int(rows[row]))


def _make_optional(schema: ConnectSchema) -> ConnectSchema:
    """Make all fields of a Connect schema optional, as JSON may lack any."""
    fields = tuple(replace(field, schema=_make_optional(field.schema)) for field in schema.fields)
    inner = _make_optional(schema.value_schema) if schema.value_schema else None
    return replace(schema, optional=True, fields=fields, value_schema=inner)
