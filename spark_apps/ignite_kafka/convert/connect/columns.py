"""Columns of Connect data, and the interfaces of the serializers and deserializers that convert whole columns.

The counterparts of Kafka Connect's ``SchemaAndValue`` and ``org.apache.kafka.connect.storage.Converter`` for
many records at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from ...common.arrays import RowIndex
from .schema import ConnectSchema


@dataclass(frozen=True)
class ConnectColumn:
    """N values of one Connect schema, as an Arrow array.

    :param data: values in the Arrow type of :func:`~.schema.arrow_type`; a Decimal may also be decimal256 or string.
        Without a schema: ``pa.binary()``, the JSON text of each value.
    :param schema: None if the values have no schema.
    """

    data: pa.Array
    schema: ConnectSchema | None


@dataclass(frozen=True)
class ConnectPart:
    """A column of values of one schema, and the rows (int64, ascending) of the batch that have these values."""

    rows: RowIndex
    column: ConnectColumn


@dataclass(frozen=True)
class SparseColumn:
    """N structs of several schemas that differ only in their sets of fields.

    :param whole: the structs, none null, with the fields of all schemas. A field is null in exactly those rows whose
        schema does not have it.
    :param schemas: the distinct schemas.
    :param schema_of: for each row, the index of its schema in `schemas`.
    """

    whole: ConnectColumn
    schemas: tuple[ConnectSchema, ...]
    schema_of: RowIndex


@dataclass(frozen=True)
class SparsePart:
    """A sparse column, and the rows (int64, ascending) of the batch that have its structs."""

    rows: RowIndex
    column: SparseColumn


class Serializer(Protocol):
    """Interface of a serializer of keys or of values. It has no state but caches, so threads may share it."""

    @property
    def name(self) -> str:
        """Name of the converter in the settings, such as avro."""

    def check(self, schema: ConnectSchema, topic: str) -> None:
        """Check, when a run is planned, that records of a schema can be written to the topic.

        :raises UnsupportedType: no value of the schema can be written.
        """

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes of each value as ``pa.binary()``; null where Kafka Connect's converter returns null.

        :raises UnsupportedType: the format cannot hold a value; the message names the field.
        """


@runtime_checkable
class Registering(Protocol):
    """Interface of a serializer that registers its schemas in a schema registry."""

    def register(self, schema: ConnectSchema, topic: str) -> None:
        """Register a schema before the run's first record, or look it up if the settings do not allow registration.

        :raises UnsupportedType: no value of the schema can be written.
        :raises RegistryError: the registry refuses the schema.
        :raises RegistryUnavailable: the registry did not answer.
        """


@runtime_checkable
class SparseSerializer(Protocol):
    """Interface of a serializer that writes structs of many schemas at once; the schemas differ only in their fields.

    An additional schema costs far less than an additional column.
    """

    def serialize_sparse(self, column: SparseColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes of each struct, written with its own schema as by :meth:`Serializer.serialize`."""


@dataclass(frozen=True)
class Deserialized:
    """Result of deserializing N byte strings: every row is in one part, or in `bad` with the reason."""

    parts: tuple[ConnectPart, ...]
    bad: tuple[tuple[int, str], ...] = ()


class Deserializer(Protocol):
    """Interface of a deserializer of keys or of values. Threads must not share it."""

    @property
    def name(self) -> str:
        """Name of the converter in the settings, such as avro."""

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Deserialize the values of a binary array without nulls."""


@runtime_checkable
class JoiningDeserializer(Protocol):
    """Interface of a deserializer that joins structs in one column although their schemas have different fields.

    An additional schema costs far less than an additional part.
    """

    def deserialize_joined(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Deserialize values; join the structs of one name into one column with the fields of all their schemas.

        STRUCTs are joined only if their schemas do not contradict each other. The part has the fields of all these
        schemas in the order of the records; a field is null where a record's schema does not have it.
        """
