"""Binary types of keys and of objects within keys, whose fields must not change.

A record adds no field to such a type, because all its keys would become different keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from ...ignite.types.type_table import TYPE_NAME
from ..rules.marked_fields import ANY, OBJECT, UNDECIDED, is_a
from .entries import EntryTypes


class KeyTypes:
    """Names of key types; a type named ``<type>.<field>`` belongs to the keys of ``<type>``.

    :param keys: types of keys and of objects within keys. :param declared: all types that query entities declare.
    """

    def __init__(self, keys: Iterable[str], declared: Iterable[str]) -> None:
        self._keys = set(keys)
        self._declared = frozenset(declared)

    def add(self, type_name: str) -> None:
        """Add a type as one of keys or of objects within keys."""
        self._keys.add(type_name)

    def __contains__(self, type_name: str) -> bool:
        return _within(type_name, self._keys) and not _within(type_name, self._declared - self._keys)


def types_of_keys(entry_types: EntryTypes) -> frozenset[str]:
    """Return the names of all binary types that a cache's keys, and objects declared within keys, may have.

    If a field of the value has the same class, the objects there get no further fields either.
    """
    names: set[str] = set()
    waiting = [*entry_types.key_objects, *_names(entry_types.key)]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += [inner for field in entry_types.objects.get(name, ()) for inner in _names(field)]
    return frozenset(names)


def _names(field: pa.Field) -> Iterator[str]:
    """Yield the names of the binary types of a field's objects, even of a class unknown to the cluster."""
    kind = field.type
    if any(is_a(field, mark) for mark in (OBJECT, ANY, UNDECIDED)):
        yield str(field.metadata[TYPE_NAME], "utf-8")
    elif pa.types.is_list(kind):
        yield from _names(kind.value_field)
    elif pa.types.is_map(kind):
        yield from _names(kind.key_field)
        yield from _names(kind.item_field)


def _within(type_name: str, outer: Iterable[str]) -> bool:
    return any(type_name == prefix or type_name.startswith(f"{prefix}.") for prefix in outer)
