"""Schemas of objects with optional fields, limited in number, because Ignite keeps every schema for ever.

Ignite keeps each schema of a type for ever, in metadata held by all nodes and clients and sent as a whole at each
change. So a type has a budget (`MAX_SCHEMA_FIELDS`); beyond it, objects have all fields of their type, with nulls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...common.record_limits import MAX_SCHEMA_FIELDS
from ...errors import UnknownBinaryType
from ...ignite.binary.encode_sparse import Schema
from ...ignite.binary.object_layout import schema_id_of
from ...ignite.types.model import TypeSource
from ...java.hash_code import java_hash

_EACH = 10  # cost of a schema in addition to its fields, counted in fields


def _cost(schema: Schema) -> int:
    return len(schema) + _EACH


class ObjectSchemas:
    """Schemas of each binary type: those of the cluster, and new ones to register. Threads must not share it."""

    def __init__(self, types: TypeSource) -> None:
        self._types = types
        self._held: dict[str, set[Schema]] = {}
        self._new: dict[str, set[Schema]] = defaultdict(set)

    def accepted(self, type_name: str, schemas: Sequence[Schema], *, limited: bool) -> list[bool]:
        """Return for each schema whether objects may be written with it; an accepted new schema is registered later.

        The schema of objects without fields is always accepted: Java registers it, too, and other clients look it up.

        :param limited: whether the type has a budget.
        """
        held = self._of_cluster(type_name)
        new = self._new[type_name]
        left = MAX_SCHEMA_FIELDS - sum(map(_cost, (*held, *new)))
        flags = []
        for schema in schemas:
            is_accepted = schema in held or schema in new
            if not is_accepted and (not limited or not schema or _cost(schema) <= left):
                new.add(schema)
                is_accepted = True
                left = left - _cost(schema)
            flags.append(is_accepted)
        return flags

    def use(self, type_name: str, schema: Schema) -> None:
        """Accept a schema even beyond the type's limit, to be registered later."""
        if schema not in self._of_cluster(type_name):
            self._new[type_name].add(schema)

    def new(self, type_name: str) -> dict[int, Schema]:
        """Return the schemas of a type that must still be registered, by their ids."""
        return {schema_id_of(schema): schema for schema in sorted(self._new.get(type_name, ()))}

    def registered(self, type_name: str, held: Mapping[int, Schema]) -> None:
        """Take over the schemas that the cluster has after a registration."""
        self._held[type_name] = {tuple(schema) for schema in held.values()}
        self._new.pop(type_name, None)

    def forget(self, type_name: str) -> None:
        """Forget a type's schemas, so that they are fetched again."""
        self._held.pop(type_name, None)
        self._new.pop(type_name, None)

    def _of_cluster(self, type_name: str) -> set[Schema]:
        if type_name not in self._held:
            try:
                held = self._types.binary_type(java_hash(type_name.lower())).schemas
            except UnknownBinaryType:
                held = {}
            self._held[type_name] = {tuple(schema) for schema in held.values()}
        return self._held[type_name]
