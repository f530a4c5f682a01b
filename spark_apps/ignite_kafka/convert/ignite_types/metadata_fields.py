"""Conversion between field types in the cluster's metadata and Arrow fields with marks."""

from __future__ import annotations

import pyarrow as pa

from ...ignite.types import type_codes as codes
from ...ignite.types.model import BinaryField
from ...ignite.types.type_table import BY_CODE, declared_field, mark_of, type_code
from ..rules.marked_fields import (
    any_kind,
    collection_of,
    is_untyped_enum,
    map_of,
    reference,
    refused,
    undecided_class,
    untyped_enum,
)

_UNTYPED = "is of an enum that no query entity names"


def metadata_field(binary: BinaryField, type_name: str, declared: pa.Field | None) -> pa.Field:
    """Return the Arrow field for a field in the cluster's metadata of a type.

    A field with code Object, such as a Java field of class Object, List or Map, holds values of any type.

    :param declared: the field as a query entity declares it: its type is more exact if its code is the same.
    """
    name = binary.name
    code = binary.type_code
    if declared is not None and undecided_class(declared):
        declared = _by_code(declared, code)
        if is_untyped_enum(declared):
            return declared
    if declared is not None and (metadata_code(declared) == code or code == codes.OBJECT):
        return pa.field(name, declared.type, declared.nullable, declared.metadata)
    inner = f"{type_name}.{name}"
    match code:
        case codes.OBJECT:
            return any_kind(name, inner)
        case codes.COLLECTION:
            return collection_of(name, any_kind("item", inner))
        case codes.OBJECT_ARRAY:
            return pa.field(name, pa.list_(any_kind("item", inner)))
        case codes.MAP:
            return map_of(name, inner)
        case codes.ENUM | codes.BINARY_ENUM:
            return untyped_enum(refused(name, _UNTYPED))
        case codes.ENUM_ARRAY:
            return refused(name, _UNTYPED)
    if code not in BY_CODE:
        return refused(name, f"is of type code {code}, which JSON cannot hold")
    field = declared_field(name, code)
    if code in codes.ELEMENT_WIDTH and pa.types.is_list(field.type):
        return field.with_type(pa.list_(field.type.value_field.with_nullable(False)))
    return field


def _by_code(declared: pa.Field, code: int) -> pa.Field:
    """Decide by the metadata's type code whether a field of an unknown class holds objects or enums."""
    if code in (codes.OBJECT, codes.OBJECT_ARRAY):
        element = reference("item" if pa.types.is_list(declared.type) else declared.name, undecided_class(declared))
        return (
            declared.with_type(pa.list_(element))
            if pa.types.is_list(declared.type)
            else element.with_nullable(declared.nullable)
        )
    return untyped_enum(declared) if code in (codes.ENUM, codes.BINARY_ENUM, codes.ENUM_ARRAY) else declared


def metadata_code(field: pa.Field) -> int:
    """Return the type code that the cluster's metadata must have for an Arrow field."""
    if pa.types.is_null(field.type):
        return codes.OBJECT
    if pa.types.is_list(field.type) and pa.types.is_null(field.type.value_type) and mark_of(field) != "collection":
        return codes.OBJECT_ARRAY
    return type_code(field)
