"""Fields of Java classes that the cluster does not know: whether they hold objects or enums.

An object and an enum have different type codes in the metadata, and the cluster never changes the code of a field. So
such a field is not registered until a value decides, or an application registers the class.
"""

from __future__ import annotations

import pyarrow as pa

from ...errors import UnknownBinaryType
from ...ignite.binary.java_classes import refreshed
from ...ignite.types.model import BinaryType, TypeSource
from ...ignite.types.type_table import enum_field
from ...java.hash_code import java_hash
from ..rules.marked_fields import is_untyped_enum, reference, undecided_class


class UnknownClasses:
    """Lookup that decides whether fields of unknown classes hold objects or enums.

    Threads must not share it.
    """

    def __init__(self, types: TypeSource) -> None:
        self._types = types
        self._asked: set[str] = set()

    def new_batch(self) -> bool:
        """Allow each class to be looked up again; return whether a lookup of the last batch failed."""
        asked = bool(self._asked)
        self._asked.clear()
        return asked

    def decided(self, field: pa.Field) -> pa.Field:
        """Return the field with its class if the cluster knows the class by now; otherwise unchanged."""
        name = undecided_class(field)
        try:
            return _of_class(field, self._types.binary_type(java_hash(name.lower()))) if name else field
        except UnknownBinaryType:
            return field

    def by_value(self, field: pa.Field, *, is_object: bool) -> pa.Field | None:
        """Decide, by the cluster or else by a value, what a field of an unknown class holds; None if it stays open.

        The cluster is asked first; if it does not know the class, a value that is an object decides.

        :param is_object: whether the value is an object, or an array of objects.
        """
        name = undecided_class(field)
        if name not in self._asked:
            try:
                return _of_class(field, refreshed(self._types, java_hash(name.lower())))
            except UnknownBinaryType:
                self._asked.add(name)
        return (
            _of_element(field, reference(_element(field).name, name))
            if is_object and not is_untyped_enum(field)
            else None
        )


def unknown_class(name: str) -> str:
    """Return the reason why a value of an unknown class cannot be stored, with a remedy.

    The text is the predicate of a sentence.
    """
    what = f"is of class {name}, which the cluster does not know: a text fits only if this is an enum"
    remedy = (
        "register it (put an object that has one by a Java client), or let types_topic name the types of a source that "
        "has it"
    )
    return f"{what}; {remedy}"


def _of_class(field: pa.Field, binary: BinaryType) -> pa.Field:
    name = _element(field).name
    return _of_element(field, enum_field(name, binary) if binary.is_enum else reference(name, binary.name))


def _element(field: pa.Field) -> pa.Field:
    return field.type.value_field if pa.types.is_list(field.type) else field


def _of_element(field: pa.Field, element: pa.Field) -> pa.Field:
    """Return a field with the type of `element`; for a list, a list of such elements."""
    typed = pa.field(field.name, pa.list_(element)) if pa.types.is_list(field.type) else element
    return typed.with_nullable(field.nullable)
