"""Source conversion of keys or values to bytes by way of Kafka Connect's data model."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...ignite.binary import EntryGroup, TypeRef
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.type_table import MARK, TYPE_NAME
from ...kafka.records import KeyType, gather
from ...settings.converters import STRING
from ..connect.columns import (
    ConnectColumn,
    ConnectPart,
    Deserializer,
    Registering,
    Serializer,
    SparsePart,
    SparseSerializer,
)
from ..connect.schema import ConnectSchema
from ..rules.decimal_scales import declared_scales, with_scales
from .connect_columns import connect_parts
from .connect_schemas import SchemaRules
from .converter import KeyConverter, SideContext, naming_cache, writing
from .declared_schemas import declared_schemas
from .first_schemas import FirstSchemas
from .key_types import connect_key_types_of, text_key_types_of
from .key_values import python_values
from .object_keys import KeyForms
from .read_back import proved_kinds
from .sparse_columns import sparse_parts


@dataclass(frozen=True)
class SchemaPolicy:
    """Settings of a source that determine the schemas of its records.

    :param eager: keep null fields in the schema (``fieldNullabilityPolicy``); otherwise leave them out of schema and
        value.
    :param first: first schemas of types, used for all their values (``isSchemaDynamic`` false); None: each value has
        its own schema.
    :param zone: ``date_time_zone``.
    """

    eager: bool = False
    schemaless: bool = False
    first: FirstSchemas | None = None
    zone: str = "UTC"


class ConnectSide:
    """Source converter of keys or of values to bytes with Connect schemas.

    :param part: `key` or `value`.
    :param plain: converter to JSON texts, for values without a schema.
    :param deserializer: function that returns the deserializer for converting record keys back; called when needed.
    """

    def __init__(
        self,
        part: str,
        serializer: Serializer,
        policy: SchemaPolicy,
        plain: KeyConverter,
        deserializer: Callable[[], Deserializer | None] = lambda: None,
    ) -> None:
        self._part = part
        self._serializer = serializer
        self._policy = policy
        self._plain = plain
        self._deserializer = functools.cache(deserializer)  # threads must not share a deserializer
        self._reading = threading.Lock()
        self.name = serializer.name

    def check(self, context: SideContext) -> None:
        """Check that the types in the cache's metadata can be written, before the first record.

        :raises UnsupportedType: JSON without schemas cannot hold a type, or the serializer refuses its schema; the
            message names the cache.
        """
        if self._policy.schemaless:
            self._plain.check(context)
            return
        self._of_declared(context, self._serializer.check)

    def register(self, context: SideContext) -> None:
        """Register the declared schemas of keys, or of values that always have all their fields.

        :raises UnsupportedType: the serializer refuses a schema; the message names the cache.
        :raises RegistryError: the registry refuses a schema.
        :raises RegistryUnavailable: the registry did not answer.
        """
        whole = self._part == "key" or self._policy.eager
        if isinstance(self._serializer, Registering) and whole and not self._policy.schemaless:
            self._of_declared(context, self._serializer.register)

    def _of_declared(self, context: SideContext, action: Callable[[ConnectSchema, str], None]) -> None:
        for schema in declared_schemas(context.cache, context.types, key=self._part == "key"):
            with naming_cache(context.cache):
                action(schema, context.topic)

    def convert(self, values: pa.Array, kind: TypeRef, context: SideContext) -> pa.BinaryArray:
        """Convert each value to bytes with its own schema; a removal becomes null.

        :raises UnsupportedType: Kafka Connect or the serializer has no form for a value; the message names cache and
            field.
        """
        if pa.types.is_null(values.type):  # removals: their values are not sent, and must not add a schema
            return pa.nulls(len(values), pa.binary())
        with naming_cache(context.cache):
            parts = self._parts(values, kind, context)
            serialized = [self._serialize_part(part, context.topic) for part in parts]
        if len(parts) == 1:
            return serialized[0]
        return (
            gather(serialized).take(pa.array(np.argsort(np.concatenate([part.rows for part in parts]))))
            if parts
            else pa.array([], pa.binary())
        )

    def columns(self, values: pa.Array, kind: TypeRef, context: SideContext) -> list[ConnectPart]:
        """Return the values as Connect columns, the input of transforms.

        It raises the errors of :meth:`convert`, except the serializer's.
        """
        with naming_cache(context.cache):
            parts = self._parts(values, kind, context, sparse=False)
        return [part for part in parts if isinstance(part, ConnectPart)]

    def serialize(self, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        """Serialize a column's values; a null stays null where its row has no schema.

        :raises ValueNotWritten: the format cannot hold a value.
        """
        if column.schema is None and column.data.null_count == len(column.data):
            return pa.nulls(len(column.data), pa.binary())
        with writing():
            return self._serializer.serialize(column, topic)

    def _serialize_part(self, part: ConnectPart | SparsePart, topic: str) -> pa.BinaryArray:
        if isinstance(part, ConnectPart):
            return self.serialize(part.column, topic)
        assert isinstance(self._serializer, SparseSerializer)
        with writing():
            return self._serializer.serialize_sparse(part.column, topic)

    def _parts(
        self, values: pa.Array, kind: TypeRef, context: SideContext, *, sparse: bool = True
    ) -> Sequence[ConnectPart | SparsePart]:
        if self._policy.schemaless:
            texts = self._plain.convert(values, kind, context)
            return [ConnectPart(np.arange(len(values)), ConnectColumn(texts, None))]
        key = self._part == "key"
        field = with_scales(_field(values, kind), declared_scales(context.cache, kind.type_id, key=key))
        rules = SchemaRules(context.types, whole=key or self._policy.eager, neighbours=not key)
        first = None if key or kind.type_id is None else self._policy.first
        sparse = sparse and not rules.whole and isinstance(self._serializer, SparseSerializer)
        if first is None and sparse and pa.types.is_struct(values.type):
            return sparse_parts(values, field, rules, self._policy.zone)
        parts = connect_parts(values, field, rules, self._policy.zone)
        if first is None:
            return parts
        return [first.applied(context.cache.name, kind.name, part) for part in parts]

    def key_kinds(self, group: EntryGroup, keys: pa.BinaryArray, context: SideContext) -> set[KeyKind]:
        """Return how Ignite marshalled the keys of a group, which the record keys do not show."""
        return proved_kinds(group, keys, self, context)

    def key_forms(self, keys: Sequence[bytes], kinds: Collection[KeyKind], context: SideContext) -> list[list[bytes]]:
        """Return for each record key all Ignite keys, of the given kinds, that may have been written as it."""
        candidates: list[list[bytes]] = [[] for _ in keys]
        with self._reading:
            deserializer = self._deserializer()
            parts = (
                deserializer.deserialize(pa.array(keys, pa.binary()), context.topic).parts
                if deserializer is not None
                else ()
            )
        forms = KeyForms(kinds, context.cache, context.types, context.enums, unscaled=False)
        for part in parts:
            if part.column.schema is None:
                part_candidates = self._plain.key_forms(part.column.data.to_pylist(), kinds, context)
            else:
                part_candidates = [
                    forms.of_scalar(value) for value in python_values(part.column.data, part.column.schema)
                ]
            for row, key_candidates in zip(part.rows.tolist(), part_candidates, strict=True):
                candidates[row] = key_candidates
        return candidates

    def key_types(self, group: EntryGroup, keys: pa.BinaryArray) -> set[KeyType]:
        """Return the types of a group's keys, to find types whose record keys may be equal.

        Two Ignite types with the same Connect type, such as char and int, can give the same bytes.
        """
        return text_key_types_of(group, keys) if self.name == STRING else connect_key_types_of(group)


def _field(values: pa.Array, kind: TypeRef) -> pa.Field:
    metadata = {MARK: kind.mark.encode()} if kind.mark else {}
    if kind.type_id is not None:
        metadata[TYPE_NAME] = kind.name.encode()
    return pa.field("", values.type, metadata=metadata or None)
