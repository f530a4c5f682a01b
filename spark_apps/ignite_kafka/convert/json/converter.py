"""Source converter `json` without schemas: keys and values as Kafka's JsonConverter writes them.

That is with ``schemas.enable=false``. :mod:`.write_columns` has the source of the JSON forms;
tests/integration/convert compares them with Kafka's connect-json.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal

import pyarrow as pa

from ...errors import UnknownBinaryType, UnsupportedType
from ...ignite.binary import EntryGroup, TypeRef
from ...ignite.types import type_codes as codes
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import BinaryType, CacheInfo, TypeSource
from ...ignite.types.type_table import field_of
from ...java.hash_code import java_hash
from ...kafka.records import KeyType
from ..rules.decimal_scales import Path, declared_scales, warn_without_scale, with_scales, without_scale
from ..to_kafka.converter import SideContext, naming_cache, writing
from ..to_kafka.key_types import key_types_of
from ..to_kafka.key_values import json_integer
from ..to_kafka.object_keys import KeyForms
from ..to_kafka.read_back import proved_kinds
from .write_columns import JsonFormat, text

_HOLDS = codes.KNOWN - {codes.PROXY}


class JsonConverter:
    """Converter of key or value columns to JSON texts, as Kafka's JsonConverter writes them without schemas.

    :param part: `key` or `value`.
    """

    name = "json"

    def __init__(self, part: str, form: JsonFormat | None = None) -> None:
        self._part = part
        self._form = form or JsonFormat()

    def check(self, context: SideContext) -> None:
        """Raise UnsupportedType if a declared type has a field that JSON cannot hold.

        A type without a query entity is checked with its first entry, by :meth:`convert`.
        """
        for binary in declared_types(context.cache, context.types, self._part):
            self._warn_of_decimals(context.cache, binary)
            for field in binary.fields:
                if field.type_code not in _HOLDS:
                    raise UnsupportedType(
                        f"field {field.name} of type {binary.name} has type code {field.type_code}, which JSON cannot "
                        "hold",
                        "Copy this cache with the ignite-binary converter.",
                        cache=context.cache.name,
                        type_id=binary.type_id,
                    )

    def _warn_of_decimals(self, cache: CacheInfo, binary: BinaryType) -> None:
        if self._form.decimal_format != "BASE64":
            return
        scales = declared_scales(cache, binary.type_id, key=self._part == "key")
        for field in binary.fields:
            if field.type_code in (codes.DECIMAL, codes.DECIMAL_ARRAY) and (field.name.lower(),) not in scales:
                warn_without_scale(
                    cache.name, self._part, f"{field.name}[]" if field.type_code == codes.DECIMAL_ARRAY else field.name
                )

    def register(self, context: SideContext) -> None:
        """Do nothing: JSON without schemas registers nothing."""

    def convert(self, values: pa.Array, kind: TypeRef, context: SideContext) -> pa.BinaryArray:
        """Return the JSON text of each key or value.

        :raises ValueNotWritten: JSON cannot hold a value, or a decimal is not exact at its declared scale; the message
            names cache and field.
        """
        cache = context.cache
        field = field_of("", values.type, kind.mark)
        if self._form.decimal_format == "BASE64":
            scales: Mapping[Path, int] = declared_scales(cache, kind.type_id, key=self._part == "key")
            field = with_scales(field, scales)
            for name in without_scale(field):
                warn_without_scale(cache.name, self._part, name)
        with naming_cache(cache), writing():
            return text(values, field, self._form)

    def key_kinds(self, group: EntryGroup, keys: pa.BinaryArray, context: SideContext) -> set[KeyKind]:
        """Return how Ignite marshalled the keys of a group, which their JSON does not show."""
        return proved_kinds(group, keys, self, context)

    def key_forms(self, keys: Sequence[bytes], kinds: Collection[KeyKind], context: SideContext) -> list[list[bytes]]:
        """Return for each JSON key all Ignite keys, of the given kinds, that are written as this JSON."""
        unscaled = self._form.decimal_format == "BASE64"
        forms = KeyForms(kinds, context.cache, context.types, context.enums, unscaled=unscaled)
        forms_of_keys = []
        for key in keys:
            try:
                forms_of_keys.append(
                    forms.of(json.loads(key, parse_int=json_integer, parse_float=Decimal, parse_constant=Decimal))
                )
            except (ValueError, RecursionError):
                forms_of_keys.append([])
        return forms_of_keys

    def key_types(self, group: EntryGroup, keys: pa.BinaryArray) -> set[KeyType]:
        """Return the types of a group's keys, to find two types with equal JSON."""
        return key_types_of(group, keys, self._form.decimal_format)


def declared_types(cache: CacheInfo, types: TypeSource, part: str) -> Iterator[BinaryType]:
    """Yield the binary types that query entities name for keys or values and the cluster knows."""
    names = {entity.key_type if part == "key" else entity.value_type for entity in cache.query_entities}
    for name in sorted(names):
        try:
            yield types.binary_type(java_hash(name.lower()))
        except UnknownBinaryType:
            continue  # a simple class such as java.lang.Integer, or a type without any object yet
