"""The schemas of objects with optional fields: the accepted ones, and the ones that the cluster lacks yet.

Ignite keeps each schema of a type for ever, in metadata that all nodes and clients hold and that is sent whole at each
change. So a type has a budget (`MAX_SCHEMA_FIELDS`). Objects beyond it have all fields of their type, with nulls.
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

_EACH = 10  # what a schema takes besides its fields, in fields


def _cost(schema: Schema) -> int:
    return len(schema) + _EACH


class ObjectSchemas:
    """Schemas by type name. For one thread."""

    def __init__(self, types: TypeSource) -> None:
        self._types = types
        self._held: dict[str, set[Schema]] = {}
        self._new: dict[str, set[Schema]] = defaultdict(set)

    def accepted(self, type_name: str, schemas: Sequence[Schema], *, limited: bool) -> list[bool]:
        """Return whether objects may have these schemas, in order; accepted ones are new if the cluster lacks them.

        That of objects without fields is accepted in any case. Java registers it, too, and other clients look it up.

        :param limited: the type has a budget.
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
        """Note a schema of objects, whatever the budget."""
        if schema not in self._of_cluster(type_name):
            self._new[type_name].add(schema)

    def new(self, type_name: str) -> dict[int, Schema]:
        """Return schemas to register, by their ids."""
        return {schema_id_of(schema): schema for schema in sorted(self._new.get(type_name, ()))}

    def registered(self, type_name: str, held: Mapping[int, Schema]) -> None:
        """Note the schemas that the cluster holds now."""
        self._held[type_name] = {tuple(schema) for schema in held.values()}
        self._new.pop(type_name, None)

    def forget(self, type_name: str) -> None:
        """Forget a type, because it is read anew."""
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
