"""Conversion of whole entries by one converter for keys and one for values."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ...common.arrays import Int64Array
from ...ignite.binary import EntryGroup, EnumPolicy, TypeRef, decode_entries
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import CacheInfo, Page, TypeSource, TypeUse
from ...kafka.records import KeyType, Records, gather, take_rows
from ..ignite_binary.serializer import IgniteBinaryConverter
from ..rules.failure_stages import Stage
from .converter import KeyConverter, SideContext, SideConverter
from .cut_fractions import CutFractions
from .record_fields import RecordFields
from .selected_fields import SelectedFields
from .type_uses import uses_of


@dataclass(frozen=True)
class DecodedGroup:
    """N decoded entries of one key type and one value type, with the keys and times of their records.

    :param group: the entries, with only the selected fields of values.
    :param key: keys of the records, of type `key_type`.
    :param times_ms: times of the records, in milliseconds since 1970; 0: the time of sending.
    """

    group: EntryGroup
    key: pa.Array
    key_type: TypeRef
    times_ms: Int64Array


class EntryConverter:
    """Converter of entries, composed of a key converter and a value converter.

    :param key: converter of keys; None for Ignite's binary format. `value` likewise. They are not both None:
        :class:`~.ignite_binary.serializer.IgniteBinaryConverter` converts both sides.
    :param fields: fields used as the records' keys or timestamps; None for no such fields.
    :param select: selected fields of values; None for all fields.
    """

    def __init__(
        self,
        key: KeyConverter | None,
        value: SideConverter | None,
        enums: EnumPolicy = EnumPolicy.SHORT_NAME,
        date_zone: str = "UTC",
        fields: RecordFields | None = None,
        select: SelectedFields | None = None,
    ) -> None:
        self._key = key
        self._value = value
        self._enums = enums
        self._date_zone = date_zone
        self._fields = fields or RecordFields()
        self._selected = select
        self._raw = IgniteBinaryConverter()
        self._fractions = CutFractions()

    @property
    def key_name(self) -> str:
        """Name of the key converter in settings."""
        return self._key.name if self._key is not None else self._raw.name

    def component(self, stage: Stage) -> type:
        """Return the class of the key converter for stage KEY, otherwise that of the value converter."""
        return type((self._key if stage == Stage.KEY else self._value) or self._raw)

    def check(self, cache: CacheInfo, types: TypeSource, topic: str = "") -> None:
        """Check that the cache's key and value types can be written; raise UnsupportedType."""
        self.check_sides(("key", "value"), cache, types, topic)

    def check_sides(self, sides: Collection[str], cache: CacheInfo, types: TypeSource, topic: str = "") -> None:
        """Check that the types of keys, values or both can be written; raise UnsupportedType."""
        if self._selected is not None:
            self._selected.check(cache, types)
        for side in self._sides(sides):
            if not (side is self._key and self._fields.key):
                side.check(self._declared_context(side, cache, types, topic))

    def register(self, cache: CacheInfo, types: TypeSource, topic: str) -> None:
        """Register the schemas declared for keys and values; see :meth:`.converter.Converter.register`."""
        self.register_sides(("key", "value"), cache, types, topic)

    def register_sides(self, sides: Collection[str], cache: CacheInfo, types: TypeSource, topic: str) -> None:
        """Register the schemas declared for keys, values or both; see :meth:`.converter.Converter.register`."""
        for side in self._sides(sides):
            side.register(self._declared_context(side, cache, types, topic))

    def _sides(self, names: Collection[str]) -> list[SideConverter]:
        by_name = {"key": self._key, "value": self._value}
        return [side for name, side in by_name.items() if side is not None and name in names]

    def _declared_context(self, side: SideConverter, cache: CacheInfo, types: TypeSource, topic: str) -> SideContext:
        """Return the context to check or register the declared types of keys or values in."""
        if self._selected is not None and side is self._value:
            return self.of_values(self.context(cache, self._selected.of_types(cache, types), topic))
        return self.context(cache, types, topic)

    def context(self, cache: CacheInfo, types: TypeSource, topic: str = "") -> SideContext:
        """Return the context for converting keys, or values with all fields."""
        return SideContext(cache, types, topic, self._enums)

    def of_values(self, context: SideContext) -> SideContext:
        """Return the context for converting values with the selected fields, under their new names."""
        return context if self._selected is None else replace(context, cache=self._selected.of_cache(context.cache))

    def decoded(self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource) -> Iterator[DecodedGroup]:
        """Yield the decoded entries of pages, in groups of one key type and one value type.

        :raises DecodeError: an entry's bytes are broken.
        :raises UnsupportedType: a field for a record's key or time is null or missing, or no value has a selected
            field.
        """
        fields = self._fields
        selected = self._selected
        with_values = self._value is not None or bool(self._fields.key)
        decode = functools.partial(
            decode_entries, pages, cache, types, enums=self._enums, documents=True, keys=self._key is not None,
            values=with_values,
            value_fields=None if selected is None else selected.needed(fields.of_values), date_zone=self._date_zone,
        )  # fmt: skip
        groups = decode()
        # objects in keys have only their own fields, so that a field added to their class later changes no older key
        key_groups = decode(own_fields=True) if fields.key and any(map(fields.has_objects, groups)) else groups
        for group, key_group in zip(groups, key_groups, strict=True):
            key, key_type = fields.record_key(key_group) if fields.key else (group.key, group.key_type)
            times = fields.times_ms(group) if fields.timestamp else np.zeros(len(group.rows), np.int64)
            chosen = group if selected is None else replace(group, value=selected.of_values(group, cache, types))
            if self._key is not None:
                self._fractions.look(cache.name, "key", key, self._key.name)
            if self._value is not None:
                self._fractions.look(cache.name, "value", chosen.value, self._value.name)
            yield DecodedGroup(chosen, key, key_type, times)

    def keys(self, decoded: DecodedGroup, context: SideContext) -> tuple[pa.BinaryArray, set[KeyKind], set[KeyType]]:
        """Return the bytes of a group's record keys, with the kinds and types of the Ignite keys.

        Kinds and types are empty if fields are used as record keys.
        """
        assert self._key is not None
        keys = self._key.convert(decoded.key, decoded.key_type, context)
        if self._fields.key:
            return keys, set(), set()
        return keys, self._key.key_kinds(decoded.group, keys, context), self._key.key_types(decoded.group, keys)

    def values(self, group: EntryGroup, context: SideContext) -> pa.BinaryArray:
        """Return the bytes of a group's record values; null for removals."""
        assert self._value is not None
        if pa.types.is_null(group.value.type):
            return pa.nulls(len(group.rows), pa.binary())
        return self._value.convert(group.value, group.value_type, self.of_values(context))

    def convert(
        self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, topic: str = "", in_order: bool = False
    ) -> Records:
        """Convert all entries of the pages to records.

        :raises DecodeError: an entry's bytes are broken: cache, partition, type id, position.
        :raises UnsupportedType: a value's converter cannot write it.
        """
        context = self.context(cache, types, topic)
        fields = self._fields
        value_context = self.of_values(context)
        raw = None if self._key is not None and self._value is not None else self._raw.convert(pages, cache, types)
        keys = []
        values = []
        times = []
        kinds = set()
        key_types = set()
        rows = []
        uses: set[TypeUse] = set()
        for decoded in self.decoded(pages, cache, types):
            group = decoded.group
            rows.append(group.rows)
            if self._key is None:
                keys.append(_of_rows(raw, group.rows, key=True))
            else:
                group_keys, kinds_of_group, types_of_group = self.keys(decoded, context)
                keys.append(group_keys)
                kinds |= kinds_of_group
                key_types |= types_of_group
                if not fields.key:
                    uses.update(uses_of("key", group.key, group.key_type, group.containers[0]))
            if self._value is None:
                values.append(_of_rows(raw, group.rows, key=False))
            else:
                values.append(self._value.convert(group.value, group.value_type, value_context))
                uses.update(uses_of("value", group.value, group.value_type, group.containers[1]))
            if fields.timestamp:
                times.append(decoded.times_ms)
        sets = raw.type_ids if raw is not None else frozenset[int](), frozenset(kinds), frozenset(key_types)
        times_ms = np.concatenate(times) if times else None
        records = Records(gather(keys), gather(values), *sets, uses=frozenset(uses), times_ms=times_ms)
        return take_rows(records, np.argsort(np.concatenate(rows))) if in_order and len(rows) > 1 else records

    def key_forms(
        self, keys: Sequence[bytes], kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, *, topic: str = ""
    ) -> list[list[bytes]]:
        """Return for each record key all Ignite keys that it may stand for."""
        if self._key is None:
            return self._raw.key_forms(keys, kinds, cache, types)
        return self._key.key_forms(keys, kinds, self.context(cache, types, topic))


def _of_rows(raw: Records | None, rows: np.ndarray, *, key: bool) -> pa.BinaryArray:
    assert raw is not None
    return (raw.keys if key else raw.values).take(pa.array(rows))
