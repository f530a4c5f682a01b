"""Converts whole entries: each side by its own converter, or as the bytes that Ignite has marshalled."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from ...ignite.binary import EnumPolicy, decode_entries
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import CacheInfo, Page, TypeSource, TypeUse
from ...kafka.records import Records, gather, take_rows
from ..rules.stage import Stage
from .converter import KeyConverter, SideContext, SideConverter
from .ignite_binary import IgniteBinaryConverter
from .record_fields import RecordFields
from .selected_fields import SelectedFields
from .type_uses import uses_of


class EntryConverter:
    """Keys and values by converters of their own.

    :param key: None: Ignite's binary format; so is `value`. At least one is given:
        :class:`.ignite_binary.IgniteBinaryConverter` is the converter of both.
    :param fields: fields that make the records' keys or timestamps; None: none does.
    :param select: fields of the values that the records have; None: all.
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
        self._key, self._value, self._enums, self._date_zone = key, value, enums, date_zone
        self._fields, self._selected = fields or RecordFields(), select
        self._raw = IgniteBinaryConverter()

    @property
    def key_name(self) -> str:
        """Name of the converter of keys in the settings."""
        return self._key.name if self._key is not None else self._raw.name

    def component(self, stage: Stage) -> type:
        """The class that converts the side of a stage."""
        return type((self._key if stage == Stage.KEY else self._value) or self._raw)

    def check(self, cache: CacheInfo, types: TypeSource, topic: str = "") -> None:
        """Check both sides; raises UnsupportedType."""
        if self._selected is not None:
            self._selected.check(cache, types)
        for side in (self._key, self._value):
            if side is not None and not (side is self._key and self._fields.key):
                side.check(self._declared(side, cache, types, topic))

    def register(self, cache: CacheInfo, types: TypeSource, topic: str) -> None:
        """Register the declared schemas of both sides; see :meth:`.converter.Converter.register`."""
        for side in (self._key, self._value):
            if side is not None:
                side.register(self._declared(side, cache, types, topic))

    def _declared(self, side: SideConverter, cache: CacheInfo, types: TypeSource, topic: str) -> SideContext:
        """The context in which a side sees the declared types of its records."""
        if self._selected is not None and side is self._value:
            types = self._selected.of_types(cache, types)
        return SideContext(cache, types, topic, enums=self._enums)

    def convert(self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, topic: str = "", in_order: bool = False) -> Records:
        """Records of all entries of the pages, group by group of one key type and one value type, or in their order.

        :raises DecodeError: bytes that do not decode: cache, partition, type id, position.
        :raises UnsupportedType: a value that its converter cannot write.
        """
        context = SideContext(cache, types, topic, self._enums)
        decoded, fields = (self._key is not None, self._value is not None), self._fields
        with_values = decoded[1] or bool(fields.key)
        decode = functools.partial(
            decode_entries, pages, cache, types, enums=self._enums, documents=True, keys=decoded[0], values=with_values,
            value_fields=None if self._selected is None else self._selected.needed(fields.of_values), date_zone=self._date_zone,
        )  # fmt: skip
        groups = decode()
        # objects in keys have their own fields alone, so that a field that their class gets later changes no older key
        key_groups = decode(own_fields=True) if fields.key and any(map(fields.has_objects, groups)) else groups
        raw = None if all(decoded) else self._raw.convert(pages, cache, types)
        keys, values, times, kinds, key_types = [], [], [], set(), set()
        uses: set[TypeUse] = set()
        for group, key_group in zip(groups, key_groups, strict=True):
            if self._key is None:
                keys.append(_of_rows(raw, group.rows, key=True))
            elif fields.key:
                keys.append(self._key.convert(*fields.record_key(key_group), context))
            else:
                keys.append(self._key.convert(group.key, group.key_type, context))
                kinds |= self._key.key_kinds(group, keys[-1], context)
                key_types |= self._key.key_types(group, keys[-1])
                uses.update(uses_of("key", group.key, group.key_type))
            if self._value is None:
                values.append(_of_rows(raw, group.rows, key=False))
            else:
                value = group.value if self._selected is None else self._selected.of_values(group, cache, types)
                values.append(self._value.convert(value, group.value_type, context))
                uses.update(uses_of("value", value, group.value_type))
            if fields.timestamp:
                times.append(fields.times_ms(group))
        sets = raw.type_ids if raw is not None else frozenset[int](), frozenset(kinds), frozenset(key_types)
        records = Records(gather(keys), gather(values), *sets, uses=frozenset(uses), times_ms=np.concatenate(times) if times else None)
        return take_rows(records, np.argsort(np.concatenate([group.rows for group in groups]))) if in_order and len(groups) > 1 else records

    def key_forms(
        self, keys: Sequence[bytes], kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, *, topic: str = ""
    ) -> list[list[bytes]]:
        """For the key of each record the keys of Ignite that it may be of."""
        if self._key is None:
            return self._raw.key_forms(keys, kinds, cache, types)
        return self._key.key_forms(keys, kinds, SideContext(cache, types, topic, self._enums))


def _of_rows(raw: Records | None, rows: np.ndarray, *, key: bool) -> pa.BinaryArray:
    assert raw is not None
    return (raw.keys if key else raw.values).take(pa.array(rows))
