"""Serializer of Connect columns as JSON documents behind the id of their JSON Schema.

Confluent's JsonSchemaConverter writes the same bytes: 0x00, the schema's id in the registry in four bytes, and the JSON
document.

Source: io.confluent.connect.json.JsonSchemaConverter and JsonSchemaData.fromConnectData.
"""

from __future__ import annotations

import functools
import json

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import RegistryError, UnsupportedType
from ...registry.client import Registry
from ...registry.schema import JSON, RegistrySchema
from ...settings.converters import JSON_SCHEMA
from ..connect import ConnectColumn, ConnectSchema
from ..connect.columns import SparseColumn
from ..connect.map_entries import has_listed, listed_schema, to_lists
from ..json.write_columns import JsonFormat
from ..json_with_schemas.payloads import payload, sparse_payload
from ..rules.registry_header import registry_header
from .compatibility import find_refusal
from .schema_from_connect import json_schema_text

_BINARY = pa.binary()
_NOTHING = pa.scalar(b"", _BINARY)
_KEPT = 1_000
_REMEDY = "Set isSchemaless to false (is_schemaless), or use converter json"


class JsonSchemaSerializer:
    """Serializer of keys or values as JSON documents behind the id of their JSON Schema.

    :param additional: whether objects may have members that the schema does not name
        (``object.additional.properties``).
    :param defaults: write a null of a field with a default as the default (not ``ignore.default.for.nullables``).
    """

    name = JSON_SCHEMA

    def __init__(
        self, registry: Registry, form: JsonFormat | None = None, *, additional: bool = True, defaults: bool = True
    ) -> None:
        self._registry = registry
        self._form = form or JsonFormat()
        self._defaults = defaults
        self._text = functools.lru_cache(maxsize=_KEPT)(
            lambda schema: json_schema_text(schema, self._form, additional=additional)
        )

    def check(self, schema: ConnectSchema, topic: str) -> None:
        """Raise UnsupportedType if a Connect schema has no JSON Schema; nothing is registered."""
        self._registry.subject(topic, schema.name)
        self._text(schema)

    def register(self, schema: ConnectSchema, topic: str) -> None:
        """Register a schema, or look it up if settings do not allow registration; errors as :meth:`serialize`."""
        self._prefix(schema, topic)

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes of each value, with the schema's id in front; null for a null without a schema.

        :raises UnsupportedType: a value has no schema, or a required field without a default is null.
        :raises RegistryError, RegistryUnavailable: see :meth:`~ignite_kafka.registry.client.Registry.registered`.
        """
        schema = column.schema
        data = column.data
        if schema is None:
            if data.null_count < len(data):
                raise UnsupportedType("converter json-schema writes no value without a schema", _REMEDY)
            return data
        prefix = self._prefix(schema, topic)
        if has_listed(schema):
            schema, data = listed_schema(schema), to_lists(data, schema)
        values = payload(ConnectColumn(data, schema), self._form, defaults=self._defaults)
        return pc.binary_join_element_wise(pa.scalar(prefix, _BINARY), values, _NOTHING)

    def serialize_sparse(self, column: SparseColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes of structs of different schemas; raise the errors of :meth:`serialize`."""
        schema = column.whole.schema
        data = column.whole.data
        assert schema is not None
        prefixes = pa.array([self._prefix(row_schema, topic) for row_schema in column.schemas], _BINARY)
        if has_listed(schema):
            schema, data = listed_schema(schema), to_lists(data, schema)
        values = sparse_payload(ConnectColumn(data, schema), self._form)
        return pc.binary_join_element_wise(prefixes.take(pa.array(column.schema_of)), values, _NOTHING)

    def _prefix(self, schema: ConnectSchema, topic: str) -> bytes:
        subject = self._registry.subject(topic, schema.name)
        registered = self._registry.registered(subject, RegistrySchema(self._text(schema), JSON))
        if registered.schema.type != JSON:
            what = f"the schema to write with is of type {registered.schema.type}"
            raise RegistryError(
                what, "Use the converter of that type, or another subject.", subject=subject, id=registered.id
            )
        if registered.strict and (
            at := find_refusal(json.loads(registered.schema.text), json.loads(self._text(schema)))
        ):
            what = f"the registered schema does not read the entries': {at}"
            remedy = (
                "Register a schema that does, or set latest.compatibility.strict or id.compatibility.strict to false."
            )
            raise RegistryError(what, remedy, subject=subject, id=registered.id)
        return registry_header(registered.id)
