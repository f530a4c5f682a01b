"""Arrow fields with marks in their metadata, for types that Arrow lacks, and for unknown types.

Such fields have the null type and a mark. `object` refers to a binary type by name; the type may get new fields, or
contain itself. The values of an `any` field have their own types (objects have the named type). An `unknown` field was
always null so far. An `undecided` field has a class unknown to the cluster, so it may be an object or an enum. A
`refused` field can only be null, and has the reason.
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
    """Return a field marked as holding objects of a binary type, named but not expanded."""
    return _null(name, OBJECT, {TYPE_NAME: type_name.encode()})


def any_kind(name: str, type_name: str) -> pa.Field:
    """Return a field marked as holding values of any type; objects in it have the named binary type."""
    return _null(name, ANY, {TYPE_NAME: type_name.encode()})


def unknown(name: str) -> pa.Field:
    """Return a field marked as untyped, because all its values were null so far."""
    return _null(name, UNKNOWN, {})


def undecided(name: str, java_type: str) -> pa.Field:
    """Return a field of a Java class unknown to the cluster, so that it may be an object or an enum."""
    return _null(name, UNDECIDED, {TYPE_NAME: java_type.encode()})


def undecided_class(field: pa.Field) -> str:
    """Return the Java class, unknown to the cluster, of a field or its elements; empty if the type is known."""
    element = field.type.value_field if pa.types.is_list(field.type) else field
    return str(element.metadata[TYPE_NAME], "utf-8") if is_a(element, UNDECIDED) else ""


def is_open(field: pa.Field) -> bool:
    """Return whether a field has no type yet, so that it can be neither written nor registered."""
    return is_a(field, UNKNOWN) or bool(undecided_class(field))


def refused(name: str, reason: str) -> pa.Field:
    """Return a field marked as accepting only null, with the reason for messages.

    The reason is the predicate of a sentence.
    """
    return _null(name, REFUSED, {REASON: reason.encode()})


def untyped_enum(field: pa.Field) -> pa.Field:
    """Mark a field as an enum of an unknown class, so that only a constant's full name can be stored."""
    return field.with_metadata({**(field.metadata or {}), _UNTYPED_ENUM: b"1"})


def is_untyped_enum(field: pa.Field) -> bool:
    """Return whether a field is an enum whose class is unknown."""
    return _UNTYPED_ENUM in (field.metadata or {})


def is_a(field: pa.Field, mark: str) -> bool:
    """Return whether a field has the null type and this mark."""
    return pa.types.is_null(field.type) and mark_of(field) == mark


def spelled(field: pa.Field, name: str) -> pa.Field:
    """Mark a field with the JSON spelling of its name, if it differs in case from Ignite's.

    Ignite ignores the case of names.
    """
    return field.with_metadata({**(field.metadata or {}), SPELLING: name.encode()})


def spelling(field: pa.Field) -> str:
    """Return a field's name as JSON spells it."""
    name = (field.metadata or {}).get(SPELLING)
    return field.name if name is None else str(name, "utf-8")


def declared(field: pa.Field) -> pa.Field:
    """Mark a field whose class a query entity declares."""
    return field.with_metadata({**(field.metadata or {}), DECLARED: b"1"})


def is_declared(field: pa.Field) -> bool:
    """Return whether a query entity declares the class of a field."""
    return DECLARED in (field.metadata or {})


def of_column(field: pa.Field, java_type: str) -> pa.Field:
    """Mark a value's field with the Java class of the key column that has its name."""
    return field.with_metadata({**(field.metadata or {}), _COLUMN: java_type.encode()})


def column_class(field: pa.Field) -> str:
    """Return the Java class of the key column that has the field's name; empty without such a column."""
    return str((field.metadata or {}).get(_COLUMN, b""), "utf-8")


def guessed(field: pa.Field) -> pa.Field:
    """Mark a field's type as a guess, because its only values so far are texts such as NaN."""
    return field.with_metadata({**(field.metadata or {}), _GUESSED: b"1"})


def is_guessed(field: pa.Field) -> bool:
    """Return whether a field's type is a guess, made from texts such as NaN."""
    return _GUESSED in (field.metadata or {})


def settled(field: pa.Field) -> pa.Field:
    """Return a field whose type is no longer marked as a guess."""
    return field.with_metadata({name: item for name, item in (field.metadata or {}).items() if name != _GUESSED})


def collection_of(name: str, element: pa.Field) -> pa.Field:
    """Return a field for a java.util.Collection of such elements."""
    return pa.field(name, pa.list_(element), metadata={MARK: b"collection"})


def objects_of(name: str, element: pa.Field) -> pa.Field:
    """Return a field for a Java Object[], even if its elements would imply an array of another class."""
    return pa.field(name, pa.list_(element), metadata={MARK: b"objects"})


def map_of(name: str, type_name: str) -> pa.Field:
    """Return a field for a java.util.Map of any keys and values; objects in it have the named binary type."""
    key = any_kind("key", type_name).with_nullable(False)
    item = any_kind("value", type_name)
    return pa.field(name, pa.map_(key, item))


def _null(name: str, mark: str, more: dict[bytes, bytes]) -> pa.Field:
    return pa.field(name, pa.null(), metadata={MARK: mark.encode(), **more})
