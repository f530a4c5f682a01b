"""Conversion of record keys back to Ignite keys, which reconciling removed keys needs.

The kinds of the cache's keys decide; a result is used only if it converts to the same record key again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from ...ignite.binary import EntryGroup
from ...ignite.types import type_codes as codes
from ...ignite.types.key_kind import OBJECT_KIND, KeyKind
from ...ignite.types.model import CacheInfo, Page, TypeSource
from ...ignite.types.type_table import java_code
from .bad_entries import ENTRY_ERRORS
from .converter import Converter, KeyConverter, SideContext
from .object_keys import all_turn_back

_NULL = bytes([codes.NULL])


def declared_kinds(cache: CacheInfo) -> set[KeyKind]:
    """Return the simple key kinds that a cache's query entities declare."""
    return {(code,) for entity in cache.query_entities if (code := java_code(entity.key_type)) is not None}


def proved_kinds(group: EntryGroup, keys: pa.BinaryArray, side: KeyConverter, context: SideContext) -> set[KeyKind]:
    """Return the kinds of a group's keys, if sample record keys convert back to the same Ignite keys.

    If an object does not convert back, such as an object of an unknown client, return only the kind of any object.

    :param keys: record keys of the group.
    """
    samples = [(row, key) for row, key in group.key_samples if key[0] == codes.OBJECT]
    if not samples:
        return set(group.key_kinds)
    forms = side.key_forms([keys[row].as_py() for row, _ in samples], group.key_kinds, context)
    return (
        set(group.key_kinds)
        if all(key in candidates for (_, key), candidates in zip(samples, forms, strict=True))
        else {OBJECT_KIND}
    )


class KeyReader:
    """Converter from the record keys of a topic back to the keys of one cache.

    :param kinds: all kinds of the cache's keys.
    """

    def __init__(
        self, converter: Converter, kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, topic: str = ""
    ) -> None:
        self._converter = converter
        self._cache = cache
        self._types = types
        self._topic = topic
        self._kinds = frozenset(kinds)
        self._complete = all_turn_back(kinds)

    def read_back(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the Ignite key of each record key; None if there is none or more than one."""
        candidates = self.forms(keys, self._kinds) if self._complete else [[] for _ in keys]
        return [forms[0] if len(forms) == 1 else None for forms in candidates]

    def forms(self, keys: Sequence[bytes], kinds: Collection[KeyKind]) -> list[list[bytes]]:
        """Return for each record key all Ignite keys, of the given kinds, that convert to it again."""
        tried = self._converter.key_forms(keys, kinds, self._cache, self._types, topic=self._topic)
        again = iter(self._convert([form for forms in tried for form in forms]))
        return [[form for form in forms if next(again) == key] for key, forms in zip(keys, tried, strict=True)]

    def _convert(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the record key of each Ignite key; None for a key that cannot be converted."""
        if not keys:
            return []
        data = b"".join(_entry(key) for key in keys)
        page = Page(-1, len(keys), memoryview(data), True)
        try:
            records = self._converter.convert([page], self._cache, self._types, topic=self._topic, in_order=True)
        except ENTRY_ERRORS:
            return [None] if len(keys) == 1 else [converted for key in keys for converted in self._convert([key])]
        keys_of_values: list[bytes | None] = records.keys.to_pylist()
        return keys_of_values


def _entry(key: bytes) -> bytes:
    """Return the bytes of an entry with this key and a null value, as a page has them."""
    if key[0] != codes.OBJECT:
        return key + _NULL
    return bytes([codes.WRAPPED]) + len(key).to_bytes(4, "little") + key + bytes(4) + _NULL
