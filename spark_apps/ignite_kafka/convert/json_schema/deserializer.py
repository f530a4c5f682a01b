"""Deserializer of JSON documents with the id of their JSON Schema, as Confluent's JsonSchemaConverter reads them.

Documents with the same id are read together, as :mod:`~.json_with_schemas.deserializer` reads payloads of one schema.

Source: io.confluent.connect.json.JsonSchemaConverter.toConnectData.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import RegistryError
from ...registry.client import Registry
from ...registry.errors import NOT_FOUND
from ...registry.schema import JSON, RegistrySchema
from ...settings.converters import JSON_SCHEMA
from ..connect import ConnectColumn, ConnectPart, ConnectSchema, Deserialized
from ..connect.map_entries import has_listed, listed_schema, to_maps
from ..json.read_rows import parse
from ..json.values import Refused
from ..json_with_schemas.deserializer import ConnectJsonDeserializer
from ..json_with_schemas.known_schemas import KnownSchema
from ..rules.registry_header import HEADER_BYTES, schema_ids
from .schema_to_connect import SchemaReader

_MOST_BYTES = 2**31 - 1
_PLAIN = "records that were not written by a converter with a schema registry need converter json"
_NULL_KEY = "a map has a null key, which Arrow's maps cannot hold"


class JsonSchemaDeserializer:
    """Deserializer of keys or values that are JSON documents behind the id of their JSON Schema.

    :param required: do not allow null for members that are not required (not ``use.optional.for.nonrequired``).
    """

    name = JSON_SCHEMA

    def __init__(self, registry: Registry, *, required: bool = True) -> None:
        self._registry = registry
        self._required = required
        self._listed: dict[ConnectSchema, ConnectSchema] = {}  # schemas with maps, by the same schemas with lists
        self._reader = ConnectJsonDeserializer(
            kept=registry.config.properties["max.schemas.per.subject"], schema_of=self._schema_of
        )

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Deserialize N keys or values; return one column or more for each schema.

        :raises RegistryError: the registry refuses the credentials, or the server is not a registry.
        :raises RegistryUnavailable: the registry did not answer for ``retry_timeout_ms``.
        """
        id_of, headless = schema_ids(data)
        bad = [(row, f"{reason}; {_PLAIN}") for row, reason in headless.items()]
        rows = np.flatnonzero(id_of >= 0)
        distinct = pa.array(id_of[rows]).dictionary_encode()
        ids = distinct.dictionary.to_numpy()
        codes = np.asarray(distinct.indices)
        schemas, refused = self._schemas(ids.tolist())
        if refused:
            wrong = np.isin(codes, list(refused))
            bad += [(row, refused[code]) for row, code in zip(rows[wrong].tolist(), codes[wrong].tolist(), strict=True)]
            rows = rows[~wrong]
            codes = codes[~wrong]
        records = data if rows.size == len(data) else data.take(pa.array(rows))
        documents = pc.binary_slice(records, HEADER_BYTES, _MOST_BYTES)
        groups = [(np.flatnonzero(codes == code), schema) for code, schema in schemas.items()]
        payloads = self._reader.deserialize_payloads(documents, groups)
        parts = []
        for part in payloads.parts:
            mapped, null_keys = self._maps(part)
            bad += [(int(rows[row]), _NULL_KEY) for row in null_keys]
            parts.append(ConnectPart(rows[mapped.rows], mapped.column))
        bad += [(int(rows[row]), reason) for row, reason in payloads.bad]
        return Deserialized(tuple(parts), tuple(sorted(bad)))

    def _schemas(self, ids: list[int]) -> tuple[dict[int, KnownSchema], dict[int, str]]:
        """Return the schema for each schema id or, for an unreadable schema, the reason; both by index in `ids`."""
        schemas = {}
        refused = {}
        for place, id in enumerate(ids):
            try:
                schemas[place] = self._reader.schemas.get(str(id))
            except Refused as error:
                refused[place] = error.reason
        return schemas, refused

    def _schema_of(self, text: str) -> ConnectSchema:
        """Return the Connect schema of the JSON Schema with an id, given as text."""
        try:
            registered = self._registry.schema(int(text))
            if registered.type != JSON:
                raise Refused(f"its schema {text} is of type {registered.type}: use the converter of that type")
            schema = SchemaReader(
                parse(registered.text.encode()), self._resolve(registered), required=self._required
            ).schema()
        except RegistryError as error:
            if error.where.get("code") not in NOT_FOUND:  # the error does not depend on the record
                raise
            raise Refused(str(error)) from error
        if not has_listed(schema):
            return schema
        listed = listed_schema(schema)
        self._listed[listed] = schema
        return listed

    def _resolve(self, registered: RegistrySchema) -> Any:
        references = {reference.name: reference for reference in registered.references}

        def read(name: str) -> Any:
            return parse(self._registry.referenced(references[name]).text.encode()) if name in references else None

        return read

    def _maps(self, part: ConnectPart) -> tuple[ConnectPart, list[int]]:
        """Return a column with maps in place of lists of entries, and the rows whose maps have a null key."""
        assert part.column.schema
        schema = self._listed.get(part.column.schema)
        if schema is None:
            return part, []
        maps, wrong = to_maps(part.column.data, schema)
        if wrong.any():
            maps = maps.filter(pa.array(~wrong))
        return ConnectPart(part.rows[~wrong], ConnectColumn(maps, schema)), part.rows[wrong].tolist()
