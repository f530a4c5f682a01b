"""Serializer of Connect columns as JSON, as Kafka's JsonConverter writes it, with or without schemas.

``{"schema":…,"payload":…}`` has the constant text of the column's schema, and then the payload of the row. Without
``schemas.enable`` a record is only the payload.

Source: org.apache.kafka.connect.json.JsonConverter.fromConnectData (4.3.1), compared by tests/integration/convert.
"""

from __future__ import annotations

import functools

import pyarrow as pa
import pyarrow.compute as pc

from ...settings.converters import JSON
from ..connect import ConnectColumn, ConnectSchema
from ..connect.columns import SparseColumn
from ..json.write_columns import JsonFormat
from .payloads import payload, sparse_payload
from .schema_from_connect import schema_json

_BINARY = pa.binary()
_NOTHING = pa.scalar(b"", _BINARY)
_CLOSE = pa.scalar(b"}", _BINARY)
_SCHEMALESS = b'{"schema":null,"payload":'


class ConnectJsonSerializer:
    """Serializer of Connect columns as JSON, as Kafka's JsonConverter writes it.

    :param schemas: write the schema with each value (``schemas.enable``).
    :param defaults: write a null of a field with a default as the default (``replace.null.with.default``).
    :param kept: maximum number of schemas with a kept text (``schemas.cache.size``).
    """

    name = JSON

    def __init__(
        self, form: JsonFormat | None = None, *, schemas: bool = True, defaults: bool = True, kept: int = 1_000
    ) -> None:
        self._form = form or JsonFormat()
        self._schemas = schemas
        self._defaults = defaults
        self._prefix = functools.lru_cache(maxsize=kept)(self._prefix_of)

    def check(self, schema: ConnectSchema, topic: str) -> None:
        """Raise UnsupportedType if a schema has a default that does not fit it."""
        if self._schemas:
            schema_json(schema, self._form)

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Return the JSON of each value; null for a null without a schema.

        :raises UnsupportedType: a required field without a default is null, or a decimal is not exact at its schema's
            scale.
        """
        if column.schema is None:
            return self._wrap(pa.scalar(_SCHEMALESS, _BINARY), column.data) if self._schemas else column.data
        values = payload(column, self._form, defaults=self._defaults)
        return self._wrap(pa.scalar(self._prefix(column.schema), _BINARY), values) if self._schemas else values

    def serialize_sparse(self, column: SparseColumn, topic: str) -> pa.BinaryArray:
        """Return the JSON of structs of different schemas; raise the errors of :meth:`serialize`."""
        values = sparse_payload(column.whole, self._form)
        if not self._schemas:
            return values
        prefixes = pa.array([self._prefix(schema) for schema in column.schemas], _BINARY)
        return self._wrap(prefixes.take(pa.array(column.schema_of)), values)

    def _prefix_of(self, schema: ConnectSchema) -> bytes:
        return f'{{"schema":{schema_json(schema, self._form)},"payload":'.encode()

    @staticmethod
    def _wrap(prefix: pa.BinaryScalar | pa.BinaryArray, values: pa.BinaryArray) -> pa.BinaryArray:
        return pc.binary_join_element_wise(prefix, values, _CLOSE, _NOTHING)
