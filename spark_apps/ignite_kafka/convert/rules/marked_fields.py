"""Arrow fields with marks for types unknown to Arrow, or not known yet.

Such fields carry the null type and a mark. `object` refers to a binary type by its name, which may get new fields, or
hold itself; `any` is a field whose values have their own types (its objects get the named type); `unknown` has had only
nulls so far; `undecided` is of a class that the cluster does not know, so that it may be an object or an enum;
`refused` holds no value and has the reason.
"""

from __future__ import annotations

import pyarrow as pa

from ...ignite.types.type_table import MARK, TYPE_NAME, mark_of

OBJECT = "object"
ANY = "any"
UNKNOWN = "unknown"
UNDECIDED = "undecided"
REFUSED = "refused"
SPELLING = b"ignite.json"
REASON = b"ignite.reason"
DECLARED = b"ignite.declared"
_COLUMN = b"ignite.column"
_GUESSED = b"ignite.guessed"
_UNTYPED_ENUM = b"ignite.enum"


def reference(name: str, type_name: str) -> pa.Field:
    """Return a field for objects of a binary type, by its name."""
    return _null(name, OBJECT, {TYPE_NAME: type_name.encode()})


def any_kind(name: str, type_name: str) -> pa.Field:
    """Return a field whose values have their own types; objects among them are of the named type."""
    return _null(name, ANY, {TYPE_NAME: type_name.encode()})


def unknown(name: str) -> pa.Field:
    """Return a field that was only null so far."""
    return _null(name, UNKNOWN, {})


def undecided(name: str, java_type: str) -> pa.Field:
    """Return a field of a class that the cluster does not know."""
    return _null(name, UNDECIDED, {TYPE_NAME: java_type.encode()})


def undecided_class(field: pa.Field) -> str:
    """Return the class of an undecided field, or of an undecided array's elements; empty for other fields."""
    element = field.type.value_field if pa.types.is_list(field.type) else field
    return str(element.metadata[TYPE_NAME], "utf-8") if is_a(element, UNDECIDED) else ""


def is_open(field: pa.Field) -> bool:
    """Return whether the field has no type yet: it is not written, and not registered."""
    return is_a(field, UNKNOWN) or bool(undecided_class(field))


def refused(name: str, reason: str) -> pa.Field:
    """Return a field that can only be null; `reason` is the predicate of a sentence."""
    return _null(name, REFUSED, {REASON: reason.encode()})


def untyped_enum(field: pa.Field) -> pa.Field:
    """Mark the field as one of an enum whose type nothing declares: a constant's full name says it."""
    return field.with_metadata({**(field.metadata or {}), _UNTYPED_ENUM: b"1"})


def is_untyped_enum(field: pa.Field) -> bool:
    """Return whether the field is of an enum whose type nothing declares."""
    return _UNTYPED_ENUM in (field.metadata or {})


def is_a(field: pa.Field, mark: str) -> bool:
    """Return whether the field has that mark."""
    return pa.types.is_null(field.type) and mark_of(field) == mark


def spelled(field: pa.Field, name: str) -> pa.Field:
    """Mark the field with JSON's spelling of its name, where that is not Ignite's spelling.

    For Ignite, names that differ in case are one.
    """
    return field.with_metadata({**(field.metadata or {}), SPELLING: name.encode()})


def spelling(field: pa.Field) -> str:
    """Return the field's name in JSON."""
    name = (field.metadata or {}).get(SPELLING)
    return field.name if name is None else str(name, "utf-8")


def declared(field: pa.Field) -> pa.Field:
    """Mark the field as one whose class a query entity declares."""
    return field.with_metadata({**(field.metadata or {}), DECLARED: b"1"})


def is_declared(field: pa.Field) -> bool:
    """Return whether a query entity declares the field's class."""
    return DECLARED in (field.metadata or {})


def of_column(field: pa.Field, java_type: str) -> pa.Field:
    """Mark the field as one of the same name and class as a column of the key."""
    return field.with_metadata({**(field.metadata or {}), _COLUMN: java_type.encode()})


def column_class(field: pa.Field) -> str:
    """Return the class of the key's column that has the field's name; empty without one."""
    return str((field.metadata or {}).get(_COLUMN, b""), "utf-8")


def guessed(field: pa.Field) -> pa.Field:
    """Mark the field as one with only texts so far that stand for a float as well.

    NaN, Infinity, -Infinity.
    """
    return field.with_metadata({**(field.metadata or {}), _GUESSED: b"1"})


def is_guessed(field: pa.Field) -> bool:
    """Return whether the field's type was guessed from such texts alone."""
    return _GUESSED in (field.metadata or {})


def settled(field: pa.Field) -> pa.Field:
    """Return the field, no longer marked as guessed."""
    return field.with_metadata({name: item for name, item in (field.metadata or {}).items() if name != _GUESSED})


def collection_of(name: str, element: pa.Field) -> pa.Field:
    """Return a field for a java.util.Collection."""
    return pa.field(name, pa.list_(element), metadata={MARK: b"collection"})


def objects_of(name: str, element: pa.Field) -> pa.Field:
    """Return a field for an Object[], also of elements whose own array would be of primitives, texts or enums."""
    return pa.field(name, pa.list_(element), metadata={MARK: b"objects"})


def map_of(name: str, type_name: str) -> pa.Field:
    """Return a field for a java.util.Map of any keys and values; objects among them are of the type named."""
    key = any_kind("key", type_name).with_nullable(False)
    item = any_kind("value", type_name)
    return pa.field(name, pa.map_(key, item))


def _null(name: str, mark: str, more: dict[bytes, bytes]) -> pa.Field:
    return pa.field(name, pa.null(), metadata={MARK: mark.encode(), **more})
