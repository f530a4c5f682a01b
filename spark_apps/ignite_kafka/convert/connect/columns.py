"""Columns of Connect data, and the interfaces between them and the bytes of records, for keys and values alike.

They are the counterparts of Kafka Connect's ``SchemaAndValue`` and ``org.apache.kafka.connect.storage.Converter`` for
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
    """N values of one schema.

    :param data: values in the Arrow type of :func:`~.schema.arrow_type`; a Decimal may also be decimal256 or string.
        Without a schema: ``pa.binary()``, the JSON text of each value.
    :param schema: None: values without a schema.
    """

    data: pa.Array
    schema: ConnectSchema | None


@dataclass(frozen=True)
class ConnectPart:
    """A column, and the rows (int64, rising) of the batch that it has the values of."""

    rows: RowIndex
    column: ConnectColumn


@dataclass(frozen=True)
class SparseColumn:
    """N structs whose schemas differ only in their fields.

    :param whole: the structs, none null, with all fields that any of the schemas has. A field that is not in a row's
        schema is null in this row, and no other one is.
    :param schemas: the schemas of the rows.
    :param schema_of: position in `schemas` of the schema of each row.
    """

    whole: ConnectColumn
    schemas: tuple[ConnectSchema, ...]
    schema_of: RowIndex


@dataclass(frozen=True)
class SparsePart:
    """A sparse column, and the rows (int64, rising) of the batch that it has the values of."""

    rows: RowIndex
    column: SparseColumn


class Serializer(Protocol):
    """Writes one side of records, keys or values. It keeps caches only: one may serve several threads."""

    @property
    def name(self) -> str:
        """Name of the converter in the settings."""

    def check(self, schema: ConnectSchema, topic: str) -> None:
        """Check at plan time a schema that the topic's records will have.

        :raises UnsupportedType: no value of the schema can be written.
        """

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes of each value as ``pa.binary()``; null where Kafka Connect's converter gives null.

        :raises UnsupportedType: a value that the format cannot hold; names the field.
        """


@runtime_checkable
class Registering(Protocol):
    """A serializer whose schemas are in a registry."""

    def register(self, schema: ConnectSchema, topic: str) -> None:
        """Register a schema before the first record of a run, or find it where schemas are not registered.

        :raises UnsupportedType: no value of the schema can be written.
        :raises RegistryError: the registry refuses the schema.
        :raises RegistryUnavailable: it did not answer.
        """


@runtime_checkable
class SparseSerializer(Protocol):
    """A serializer of rows of many schemas at once, which differ in their fields.

    A schema costs far less than a column.
    """

    def serialize_sparse(self, column: SparseColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes that :meth:`Serializer.serialize` gives for each row with its schema; the same errors."""


@dataclass(frozen=True)
class Deserialized:
    """Values read from N bytes: every row is in one part, or in `bad` with the reason."""

    parts: tuple[ConnectPart, ...]
    bad: tuple[tuple[int, str], ...] = ()


class Deserializer(Protocol):
    """Reads one side of records, keys or values. For one thread."""

    @property
    def name(self) -> str:
        """Name of the converter in the settings."""

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Read values of a binary array without nulls."""


@runtime_checkable
class JoiningDeserializer(Protocol):
    """A deserializer of many schemas at once, which differ in their fields.

    A schema costs far less than a part.
    """

    def deserialize_joined(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Read values as :meth:`Deserializer.deserialize` does, but consistent STRUCTs of one name as one part.

        Their schemas must not contradict each other.

        It has the fields of all, in the order of the records, null where a record's schema lacks one.
        """
