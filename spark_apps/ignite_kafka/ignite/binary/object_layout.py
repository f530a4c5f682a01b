"""Layout of binary objects to encode: type id, field ids and order, schema, metadata to register.

Source: `BinaryBasicIdMapper` (lower-cased names hashed as Java does), `BinaryUtils.updateSchemaId` of Ignite 2.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from ...errors import UnsupportedType
from ...java.hash_code import java_hash
from ..types.model import BinaryField, BinaryType
from ..types.type_table import type_code, type_name_of

_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193
_OPTIONAL = b"ignite.optional"


def optional(field: pa.Field) -> pa.Field:
    """Mark a field as optional, so that an object with null there lacks the field.

    Objects always have the fields of their type that are not optional.
    """
    return field.with_metadata({**(field.metadata or {}), _OPTIONAL: b"1"})


def is_optional(field: pa.Field) -> bool:
    """Return whether objects may lack a field instead of having null."""
    return _OPTIONAL in (field.metadata or {})


def as_optional(field: pa.Field, other: pa.Field) -> pa.Field:
    """Copy the mark optional from another field."""
    return optional(field) if is_optional(other) else field


def schema_id_of(field_ids: Sequence[int]) -> int:
    """Compute the id of a schema as Ignite does: FNV1 over the bytes of the field ids."""
    number = _FNV_OFFSET
    for field_id in field_ids:
        for byte in field_id.to_bytes(4, "little", signed=True):
            number = ((number ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


@dataclass(frozen=True)
class ObjectLayout:
    """Binary type with its fields in the order of encoding.

    :param affinity_field: the field that decides a key's partition; None: the whole key.
    :param compact: whether footers are compact, the default of a cluster's nodes; nodes find no keys of the other form.
    :raises UnsupportedType: two fields have one id: their names differ in case only, or have one hash.
    """

    type_name: str
    fields: tuple[pa.Field, ...]
    affinity_field: str | None = None
    compact: bool = True

    def __post_init__(self) -> None:
        seen: dict[int, str] = {}
        for field, field_id in zip(self.fields, self.field_ids, strict=True):
            if field_id in seen:
                what = f"Fields {seen[field_id]} and {field.name} of {self.type_name} have one field id"
                raise UnsupportedType(
                    what,
                    "Rename one: Ignite does not tell their names apart",
                    field=field.name,
                    value_type=self.type_name,
                )
            seen[field_id] = field.name

    @classmethod
    def of(cls, field: pa.Field, *, compact: bool = True) -> ObjectLayout:
        """Make the layout for a struct field; its metadata names the binary type."""
        return cls(type_name_of(field), tuple(field.type), compact=compact)

    @cached_property
    def type_id(self) -> int:
        """Type id of the objects: Java's hash of the lower-cased type name."""
        return java_hash(self.type_name.lower())

    @cached_property
    def field_ids(self) -> tuple[int, ...]:
        """Ids of the fields: Java's hashes of the lower-cased field names."""
        return tuple(java_hash(field.name.lower()) for field in self.fields)

    @cached_property
    def schema_id(self) -> int:
        """Schema id of objects that have all fields."""
        return schema_id_of(self.field_ids)

    @cached_property
    def metadata(self) -> BinaryType:
        """Metadata of the type to register in the cluster; UnsupportedType for a field without an Ignite type."""
        fields = tuple(
            BinaryField(field.name, type_code(field), field_id)
            for field, field_id in zip(self.fields, self.field_ids, strict=True)
        )
        schemas = {self.schema_id: self.field_ids} if fields else {}
        return BinaryType(self.type_id, self.type_name, self.affinity_field, fields, schemas)
