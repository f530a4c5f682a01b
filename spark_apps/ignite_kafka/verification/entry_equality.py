"""Equality of a cache's entry with the entry that the sink makes of a record, by meaning.

Equal bytes are equal. Values whose bytes differ are decoded and compared: another order of fields, or another version
of a type's schema, is no difference.
"""

from __future__ import annotations

from typing import Any

from ..common.redaction import in_message
from ..ignite.binary import decode_rows
from ..ignite.binary.row_values import Document
from ..ignite.cluster import Cluster
from ..ignite.types import type_codes as codes
from ..ignite.types.model import CacheInfo, Page
from .differences import Kind

_NULL = bytes([codes.NULL])


class EntryEquality:
    """Comparison of the entries of one cache with expected values, both in Ignite's binary format."""

    def __init__(self, cluster: Cluster, info: CacheInfo) -> None:
        self._cluster = cluster
        self._info = info

    def describe_difference(self, key: bytes, value: bytes | None, held: bytes | None) -> tuple[Kind | None, str]:
        """Return kind and description of a difference; None and an empty text if the values are equal.

        :param value: value of the record that counts; None for a tombstone.
        :param held: value of the entry; None if the cache has no entry.
        """
        if value == held:
            return None, ""
        if held is None:
            return "missing", f"no entry of key {self.format_key(key)}"
        if value is None:
            return "unexpected", f"key {self.format_key(key)}: the last record removes the entry, which is there"
        gives, has = (self._decode(_NULL, item)[1] for item in (value, held))
        if value[0] == held[0] and _normalize(gives) == _normalize(has):
            return None, ""
        details = in_message(_describe_fields(gives, has))
        shown = in_message(repr(gives)), in_message(repr(has))
        return (
            "different",
            f"key {self.format_key(key)}: {details}the record gives {shown[0]}, the entry is {shown[1]}",
        )

    def _decode(self, key: bytes, value: bytes) -> tuple[Any, Any]:
        ((first, other),) = decode_rows([Page(-1, 1, memoryview(key + value), True)], self._info, self._cluster)
        return first, other

    def format_key(self, key: bytes) -> str:
        """Return a key as text for messages."""
        return in_message(repr(self._decode(key, _NULL)[0]))


def _normalize(value: Any) -> str:
    """Convert a decoded value to a text, equal for equal values, so that order of fields does not matter.

    Objects with equal fields are equal in any order of the fields; an absent field equals null.
    """
    if isinstance(value, Document):
        fields = {name: _normalize(item) for name, item in sorted(value.fields.items()) if item is not None}
        return repr((value.type_id, fields))
    if isinstance(value, (list, tuple)):
        return repr([_normalize(item) for item in value])
    return repr(value)


def _describe_fields(gives: Any, has: Any) -> str:
    """Describe the differing fields of two objects for a message; an empty text for other values."""
    if not isinstance(gives, Document) or not isinstance(has, Document):
        return ""
    names = dict.fromkeys([*gives.fields, *has.fields])
    differing = [name for name in names if repr(gives.fields.get(name)) != repr(has.fields.get(name))]
    parts = [
        f"{name} is {gives.fields.get(name)!r} in the record, {has.fields.get(name)!r} in the entry"
        for name in differing
    ]
    return f"{'; '.join(parts)}: " if parts else ""
