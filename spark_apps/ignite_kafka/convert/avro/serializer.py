"""Serializer of Connect values in Confluent's wire format: zero byte, schema id of four bytes, Avro body."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

import numpy as np
import pyarrow as pa

from ... import events
from ...errors import RegistryError, UnsupportedType
from ...registry.schema import AVRO, Registered, RegistrySchema
from ..connect.columns import ConnectColumn, SparseColumn
from ..connect.schema import ConnectSchema
from ..rules.registry_header import HEADER_BYTES, registry_header
from .encode import encode, encode_sparse
from .from_connect import from_connect
from .options import AvroOptions
from .references import parse_with_references
from .refused_schemas import LatestSchemas, explained
from .types import AvroType, to_text

"""Number of bytes before the Avro body."""


class SchemaIds(LatestSchemas, Protocol):
    """Interface of a registry, with the methods that the Avro serializer calls."""

    def subject(self, topic: str, record_name: str | None) -> str:
        """Return the registry subject for a record's schema; raise UnsupportedType if a needed name is missing."""

    def registered(self, subject: str, schema: RegistrySchema) -> Registered:
        """Return a schema's id and the schema to write with; raise RegistryError or RegistryUnavailable."""


@dataclass(frozen=True)
class _Form:
    prefix: bytes
    avro: AvroType


class AvroSerializer:
    """Serializer of keys or values, as Confluent's AvroConverter writes them: the schema id, then the Avro body.

    :param kept: maximum number of schemas kept, ``schemas.cache.config``.
    """

    name = "avro"

    def __init__(self, registry: SchemaIds, options: AvroOptions, kept: int = 1_000) -> None:
        self._registry = registry
        self._options = options
        self._kept = max(1, kept)
        self._forms: OrderedDict[tuple[str, str], _Form] = OrderedDict()
        self._names: dict[str, str] = {}
        self._lock = Lock()

    def check(self, schema: ConnectSchema, topic: str) -> None:
        """Check that a schema can be written as Avro, without registering it.

        Reports several record types in one subject.

        :raises UnsupportedType: Avro has no form for the schema, or the subject's strategy finds no name.
        """
        self._subject(from_connect(schema, self._options), topic)

    def register(self, schema: ConnectSchema, topic: str) -> None:
        """Register a schema, or look it up if the settings do not allow registration.

        :raises UnsupportedType: Avro has no form for the schema, or the registered schema is another.
        :raises RegistryError: the registry refuses the schema.
        :raises RegistryUnavailable: the registry did not answer.
        """
        self._form(schema, topic)

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes of each value, with the schema's id in front; null for null.

        :raises UnsupportedType: Avro has no form for the schema or a value, or the registered schema is another.
        :raises RegistryError: the registry refuses the schema.
        :raises RegistryUnavailable: the registry did not answer.
        """
        if column.schema is None:
            if column.data.null_count == len(column.data):
                return pa.nulls(len(column.data), pa.binary())
            remedy = "Set is_schemaless to false, or use converter json with schemas.enable=false."
            raise UnsupportedType(
                "converter avro writes values with a schema, and these have none", remedy, topic=topic
            )
        if not len(column.data):
            return pa.array([], pa.binary())
        form = self._form(column.schema, topic)
        return encode(
            column.data, column.schema, form.avro, form.prefix, fill_defaults=not self._options.ignore_nullable_default
        )

    def serialize_sparse(self, column: SparseColumn, topic: str) -> pa.BinaryArray:
        """Return the bytes of structs of different schemas; raise the errors of :meth:`serialize`."""
        schema = column.whole.schema
        assert schema is not None
        prefixes = np.array([self._form(row_schema, topic).prefix for row_schema in column.schemas], f"V{HEADER_BYTES}")
        return encode_sparse(column.whole.data, schema, from_connect(schema, self._options), prefixes[column.schema_of])

    def _form(self, schema: ConnectSchema, topic: str) -> _Form:
        key = topic, repr(schema)
        with self._lock:
            if key in self._forms:
                self._forms.move_to_end(key)
                return self._forms[key]
        form = self._register(schema, topic)
        with self._lock:
            self._forms[key] = form
            if len(self._forms) > self._kept:
                self._forms.popitem(last=False)
        return form

    def _register(self, schema: ConnectSchema, topic: str) -> _Form:
        avro = from_connect(schema, self._options)
        text = to_text(avro)
        subject = self._subject(avro, topic)
        try:
            registered = self._registry.registered(subject, RegistrySchema(text, AVRO))
        except RegistryError as error:
            raise explained(error, subject, avro, self._registry) from error
        if registered.schema.text != text and not _same_body(
            parse_with_references(registered.schema, self._registry), avro
        ):
            what = (
                f"the registry has schema {registered.id} for these values, whose fields or types differ from those of "
                "the entries"
            )
            remedy = "Set auto.register.schemas=true, or register the entries' schema under the subject."
            raise UnsupportedType(what, remedy, subject=subject, topic=topic)
        return _Form(registry_header(registered.id), avro)

    def _subject(self, avro: AvroType, topic: str) -> str:
        record = next((branch for branch in (avro, *avro.branches) if branch.kind == "record"), None)
        name = record.name if record is not None else None
        subject = self._registry.subject(topic, name)
        self._note_name(subject, name or avro.kind)
        return subject

    def _note_name(self, subject: str, name: str) -> None:
        """Report once that one subject gets schemas of two types, because the registry compares them as versions."""
        with self._lock:
            first = self._names.setdefault(subject, name)
            if first == name or first == "":
                return
            self._names[subject] = ""
        events.emit(events.SEVERAL_TYPES_IN_SUBJECT, subject=subject, first=first, second=name)


def _same_body(first: AvroType, second: AvroType) -> bool:
    """Return whether values written with either schema have the same bytes, so that one schema can stand for the other.

    Names, types and order of fields, constants and sizes must be equal.
    """
    if (
        first.kind != second.kind
        or len(first.fields) != len(second.fields)
        or len(first.branches) != len(second.branches)
    ):
        return False
    if (first.symbols, first.size) != (second.symbols, second.size):
        return False
    if first.items is not None and second.items is not None and not _same_body(first.items, second.items):
        return False
    fields = zip(first.fields, second.fields, strict=True)
    branches = zip(first.branches, second.branches, strict=True)
    return all(a.name == b.name and _same_body(a.type, b.type) for a, b in fields) and all(
        _same_body(a, b) for a, b in branches
    )
