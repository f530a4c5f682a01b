"""Selection of value fields by setting ``select``; other fields are not even decoded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from ...common.arrow_layout import null_mask
from ...errors import UnsupportedType
from ...ignite.binary import EntryGroup
from ...ignite.types.model import BinaryField, BinaryType, CacheInfo, QueryEntity, QueryField, TypeSource
from ...java.hash_code import java_hash
from ...sql import SelectedField
from ..filter.columns import check_absent, declared_fields, no_column

_SETTING = "select"


@dataclass(frozen=True)
class SelectedFields:
    """Value fields in the order of setting ``select``, with their names in records; not empty."""

    fields: tuple[SelectedField, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names that the selected fields have in the cache."""
        return tuple(field.name for field in self.fields)

    def needed(self, others: Iterable[str]) -> frozenset[str]:
        """Return the lower-case names of all value fields that must be decoded.

        :param others: further fields of values, used as keys or timestamps of records.
        """
        return frozenset(name.lower() for name in (*self.names, *others))

    def check(self, cache: CacheInfo, types: TypeSource) -> None:
        """Check the selected fields against the types that query entities declare.

        :raises UnsupportedType: no declared type has a selected field.
        """
        declared = declared_fields(cache, types)
        for name in self.names:
            if declared and name.lower() not in declared:
                raise no_column(_SETTING, name, cache.name, declared)

    def of_types(self, cache: CacheInfo, types: TypeSource) -> TypeSource:
        """Return the cluster's types with only the selected fields in the cache's value types."""
        ids = {java_hash(entity.value_type.lower()) for entity in cache.query_entities}
        return _SelectedTypes(types, frozenset(ids), self.fields)

    def of_cache(self, cache: CacheInfo) -> CacheInfo:
        """Return the cache with only the selected value fields in its query entities, under their new names.

        Declared scales are found by the new names.
        """
        return replace(
            cache,
            query_entities=tuple(
                replace(entity, fields=self._select_columns(entity)) for entity in cache.query_entities
            ),
        )

    def _select_columns(self, entity: QueryEntity) -> tuple[QueryField, ...]:
        """Return a query entity's columns for the key and for the selected fields."""
        fields = [field for field in entity.fields if field.is_key]
        for selected in self.fields:
            for field in entity.fields:
                name, point, rest = field.name.partition(".")
                if not field.is_key and name.lower() == selected.name.lower():
                    fields.append(replace(field, name=f"{selected.renamed(name)}{point}{rest}"))
        return tuple(fields)

    def of_values(self, group: EntryGroup, cache: CacheInfo, types: TypeSource) -> pa.Array:
        """Return a group's values with only the selected fields, in their order.

        A field missing in the type is left out.

        :raises UnsupportedType: values are no objects, or no type has a selected field.
        """
        values = group.value
        if pa.types.is_null(values.type):
            return values
        if not pa.types.is_struct(values.type):
            what = f"values are of type {group.value_type.name}, which has no fields, and select names some"
            raise UnsupportedType(what, "Leave select out for this cache (overrides).", cache=cache.name)
        places = {field.name.lower(): at for at, field in enumerate(values.type)}
        for name in self.names:
            if name.lower() not in places:
                check_absent(_SETTING, group, cache, types, name)
        chosen = [
            (places[selected.name.lower()], selected) for selected in self.fields if selected.name.lower() in places
        ]
        if not chosen:
            return pa.array([{}] * len(values), pa.struct([]))
        fields = [(own := values.type.field(at)).with_name(selected.renamed(own.name)) for at, selected in chosen]
        return pa.StructArray.from_arrays([values.field(at) for at, _ in chosen], fields=fields, mask=null_mask(values))


@dataclass(frozen=True)
class _SelectedTypes:
    """Binary types of a cluster, some of them reduced to the selected fields."""

    types: TypeSource
    ids: frozenset[int]
    fields: tuple[SelectedField, ...]

    def binary_type(self, type_id: int) -> BinaryType:
        """Return a type's metadata, reduced to the selected fields; raise UnknownBinaryType."""
        binary = self.types.binary_type(type_id)
        if type_id not in self.ids:
            return binary
        of_name = {field.name.lower(): field for field in binary.fields}
        fields = tuple(
            _rename(of_name[selected.name.lower()], selected)
            for selected in self.fields
            if selected.name.lower() in of_name
        )
        order = tuple(field.field_id for field in fields)
        return replace(binary, fields=fields, schemas={0: order})  # one schema, so that the fields keep this order


def _rename(field: BinaryField, selected: SelectedField) -> BinaryField:
    name = selected.renamed(field.name)
    return field if name == field.name else replace(field, name=name, field_id=java_hash(name.lower()))
