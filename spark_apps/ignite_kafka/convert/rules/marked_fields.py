"""Arrow fields with marks, for types unknown to Arrow and for types not yet known.

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
    """Return a field for objects of a binary type, given by its name."""
    return _null(name, OBJECT, {TYPE_NAME: type_name.encode()})


def any_kind(name: str, type_name: str) -> pa.Field:
    """Return a field for values of any type; objects among them have the named type."""
    return _null(name, ANY, {TYPE_NAME: type_name.encode()})


def unknown(name: str) -> pa.Field:
    """Return a field that has been null so far."""
    return _null(name, UNKNOWN, {})


def undecided(name: str, java_type: str) -> pa.Field:
    """Return a field with a class unknown to the cluster."""
    return _null(name, UNDECIDED, {TYPE_NAME: java_type.encode()})


def undecided_class(field: pa.Field) -> str:
    """Return the class of an undecided field, or of an undecided array's elements; empty for other fields."""
    element = field.type.value_field if pa.types.is_list(field.type) else field
    return str(element.metadata[TYPE_NAME], "utf-8") if is_a(element, UNDECIDED) else ""


def is_open(field: pa.Field) -> bool:
    """Return whether a field has no type yet, so that it is neither written nor registered."""
    return is_a(field, UNKNOWN) or bool(undecided_class(field))


def refused(name: str, reason: str) -> pa.Field:
    """Return a field that can only be null, with a reason as the predicate of a sentence."""
    return _null(name, REFUSED, {REASON: reason.encode()})


def untyped_enum(field: pa.Field) -> pa.Field:
    """Mark a field of an enum without a declared type; only a constant's full name has the type."""
    return field.with_metadata({**(field.metadata or {}), _UNTYPED_ENUM: b"1"})


def is_untyped_enum(field: pa.Field) -> bool:
    """Return whether a field has an enum without a declared type."""
    return _UNTYPED_ENUM in (field.metadata or {})


def is_a(field: pa.Field, mark: str) -> bool:
    """Return whether a field has the null type and a mark."""
    return pa.types.is_null(field.type) and mark_of(field) == mark


def spelled(field: pa.Field, name: str) -> pa.Field:
    """Mark a field with the spelling of its name in JSON, where it differs from Ignite's spelling.

    Ignite ignores the case of names.
    """
    return field.with_metadata({**(field.metadata or {}), SPELLING: name.encode()})


def spelling(field: pa.Field) -> str:
    """Return the spelling of a field's name in JSON."""
    name = (field.metadata or {}).get(SPELLING)
    return field.name if name is None else str(name, "utf-8")


def declared(field: pa.Field) -> pa.Field:
    """Mark a field as declared by a query entity."""
    return field.with_metadata({**(field.metadata or {}), DECLARED: b"1"})


def is_declared(field: pa.Field) -> bool:
    """Return whether a query entity declares the class of a field."""
    return DECLARED in (field.metadata or {})


def of_column(field: pa.Field, java_type: str) -> pa.Field:
    """Mark a field of a value with the class of the key's column of the same name."""
    return field.with_metadata({**(field.metadata or {}), _COLUMN: java_type.encode()})


def column_class(field: pa.Field) -> str:
    """Return the class of the key's column with the field's name; empty if there is no such column."""
    return str((field.metadata or {}).get(_COLUMN, b""), "utf-8")


def guessed(field: pa.Field) -> pa.Field:
    """Mark a field as guessed: all its values so far are texts that may be floats, such as NaN."""
    return field.with_metadata({**(field.metadata or {}), _GUESSED: b"1"})


def is_guessed(field: pa.Field) -> bool:
    """Return whether the type of a field is a guess, because of texts such as NaN."""
    return _GUESSED in (field.metadata or {})


def settled(field: pa.Field) -> pa.Field:
    """Return a field without the mark that its type is a guess."""
    return field.with_metadata({name: item for name, item in (field.metadata or {}).items() if name != _GUESSED})


def collection_of(name: str, element: pa.Field) -> pa.Field:
    """Return a field for a java.util.Collection."""
    return pa.field(name, pa.list_(element), metadata={MARK: b"collection"})


def objects_of(name: str, element: pa.Field) -> pa.Field:
    """Return a field for an Object[], even if its elements alone would imply an array of another class."""
    return pa.field(name, pa.list_(element), metadata={MARK: b"objects"})


def map_of(name: str, type_name: str) -> pa.Field:
    """Return a field for a java.util.Map with any keys and values; objects among them have the named type."""
    key = any_kind("key", type_name).with_nullable(False)
    item = any_kind("value", type_name)
    return pa.field(name, pa.map_(key, item))


def _null(name: str, mark: str, more: dict[bytes, bytes]) -> pa.Field:
    return pa.field(name, pa.null(), metadata={MARK: mark.encode(), **more})
