"""Converter `json`: keys and values as Kafka's JsonConverter writes them with ``schemas.enable=false``.

Source of the forms: docs of `json_columns`; compared with the real connect-json by tests/integration/convert.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ...errors import UnknownBinaryType, UnsupportedType
from ...ignite.binary import EntryGroup, EnumPolicy, TypeRef, decode_entries
from ...ignite.types import type_codes as codes
from ...ignite.types.java_hash import java_hash
from ...ignite.types.model import BinaryType, CacheInfo, Page, TypeSource
from ...ignite.types.type_table import field_of
from ...kafka.records import Records, gather, take_rows
from ..rules.decimal_scales import Path, declared_scales, warn_without_scale, with_scales, without_scale
from .json_columns import JsonFormat, text
from .json_keys import proved_kind
from .key_types import key_types_of

_HOLDS = codes.KNOWN - {codes.PROXY}


class JsonConverter:
    """Entries decoded to Arrow columns, and columns written as JSON."""

    name = "json"

    def __init__(self, form: JsonFormat | None = None, enums: EnumPolicy = EnumPolicy.SHORT_NAME) -> None:
        self._form, self._enums = form or JsonFormat(), enums

    def check(self, cache: CacheInfo, types: TypeSource) -> None:
        """Raise UnsupportedType when a type that the cache's query entities name has a field that JSON cannot hold.

        Types that no query entity names show themselves with their first entry: :meth:`convert` raises then.
        """
        for binary in declared_types(cache, types):
            self._warn_of_decimals(cache, binary)
            for field in binary.fields:
                if field.type_code not in _HOLDS:
                    raise UnsupportedType(
                        f"field {field.name} of type {binary.name} has type code {field.type_code}, which JSON cannot hold",
                        "Copy this cache with the ignite-binary converter.",
                        cache=cache.name,
                        type_id=binary.type_id,
                    )

    def _warn_of_decimals(self, cache: CacheInfo, binary: BinaryType) -> None:
        for part in ("key", "value") if self._form.decimal_format == "BASE64" else ():
            if binary.name in {entity.key_type if part == "key" else entity.value_type for entity in cache.query_entities}:
                scales = declared_scales(cache, binary.type_id, key=part == "key")
                for field in binary.fields:
                    if field.type_code in (codes.DECIMAL, codes.DECIMAL_ARRAY) and (field.name.lower(),) not in scales:
                        warn_without_scale(cache.name, part, f"{field.name}[]" if field.type_code == codes.DECIMAL_ARRAY else field.name)

    def convert(self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource, *, in_order: bool = False) -> Records:
        """JSON of all entries of the pages, group by group of one key type and one value type, or in their order.

        :raises DecodeError: bytes that do not decode: cache, partition, type id, position.
        :raises UnsupportedType: a value that JSON cannot hold, or a decimal that has no exact form at its declared scale.
        """
        groups = decode_entries(pages, cache, types, enums=self._enums, documents=True)
        records = to_records(groups, self._form, types, cache)
        return take_rows(records, np.argsort(np.concatenate([group.rows for group in groups]))) if in_order and len(groups) > 1 else records


def to_records(groups: Iterable[EntryGroup], form: JsonFormat, types: TypeSource, cache: CacheInfo) -> Records:
    """Records of decoded groups of a cache's entries, one group after the other.

    :raises UnsupportedType: a decimal that has no exact form at its declared scale: names cache and field.
    """
    keys, values, kinds, key_types = [], [], set(), set()
    for group in groups:
        keys.append(_json(group.key, group.key_type, form, cache, "key"))
        values.append(_json(group.value, group.value_type, form, cache, "value"))
        kinds |= {proved_kind(key, keys[-1][row].as_py(), types) for row, key in group.key_samples}
        key_types |= key_types_of(group, keys[-1], form.decimal_format)
    return Records(gather(keys), gather(values), key_kinds=frozenset(kinds), key_types=frozenset(key_types))


def _json(array: pa.Array, kind: TypeRef, form: JsonFormat, cache: CacheInfo, part: str) -> pa.Array:
    field = field_of("", array.type, kind.mark)
    if form.decimal_format == "BASE64":
        scales: Mapping[Path, int] = declared_scales(cache, kind.type_id, key=part == "key")
        field = with_scales(field, scales)
        for name in without_scale(field):
            warn_without_scale(cache.name, part, name)
    try:
        return text(array, field, form)
    except UnsupportedType as error:
        raise UnsupportedType(error.what, error.remedy, **{"cache": cache.name} | error.where) from error


def declared_types(cache: CacheInfo, types: TypeSource) -> Iterator[BinaryType]:
    """Binary types of keys and values that the cache's query entities name and the cluster already knows."""
    names = {name for entity in cache.query_entities for name in (entity.key_type, entity.value_type)}
    for name in sorted(names):
        try:
            yield types.binary_type(java_hash(name.lower()))
        except UnknownBinaryType:
            continue  # a simple class such as java.lang.Integer, or a type of which no object was written yet
