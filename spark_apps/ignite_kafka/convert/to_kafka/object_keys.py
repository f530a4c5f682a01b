"""Conversion of record keys, objects too, back to Ignite keys, byte for byte as the client wrote them.

Ignite finds a key by its bytes, so the result must equal the bytes written by the client. The fields of an object do
not contain its kind: type, schema (the written fields in order), and flags. Ignite's hash of a binary object is the
hash of its fields' bytes. Layout: `ignite/binary/object_headers.py`.
"""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, product
from typing import Any

from ...errors import UnknownBinaryType
from ...ignite.binary import EnumPolicy
from ...ignite.binary.java_classes import metadata
from ...ignite.types import type_codes as codes
from ...ignite.types.key_kind import LAYOUT, UNKNOWN_KIND, KeyKind
from ...ignite.types.model import BinaryField, CacheInfo, TypeSource
from ..rules.decimal_scales import Path, declared_scales
from .key_values import SIMPLE_KINDS, ValueContext, is_reversible, readings, value_form

_HEADER = struct.Struct("<BBHiiiii")
_VERSION = 1
_MOST_FORMS = 16  # of one object, if its fields may have values of several kinds


def all_turn_back(kinds: Collection[KeyKind]) -> bool:
    """Return whether every record key of these kinds can be converted back to its Ignite key.

    If kinds are missing (UNKNOWN_KIND), a key of another kind may have the same form. This does no harm for simple
    kinds, as the cache is asked for a key of each kind; so keys are converted back only if all known kinds are simple
    and need no metadata.
    """
    layouts = {kind for kind in kinds if len(kind) == LAYOUT}
    fields = {kind for kind in kinds if len(kind) > LAYOUT}
    simple = set(kinds) - layouts - fields - {UNKNOWN_KIND}
    if UNKNOWN_KIND in kinds:
        return not fields and simple <= SIMPLE_KINDS
    inner = {kind[LAYOUT + 1 :] for kind in fields}
    return all(is_reversible(kind) for kind in simple | {kind for kind in inner if len(kind) < LAYOUT})


class KeyForms:
    """Converter from parsed record keys to all Ignite keys that they may stand for.

    :param enums: policy by which enum constants are written.
    :param unscaled: whether decimals are written as unscaled bytes, at the scale declared by the cache.
    """

    def __init__(
        self, kinds: Collection[KeyKind], cache: CacheInfo, types: TypeSource, enums: EnumPolicy, *, unscaled: bool
    ) -> None:
        self._cache = cache
        self._types = types
        self._enums = enums
        self._unscaled = unscaled
        self._kinds = sorted(kind for kind in kinds if len(kind) <= LAYOUT)
        self._fields: dict[KeyKind, list[KeyKind]] = defaultdict(list)
        for kind in sorted(kinds):
            if len(kind) > LAYOUT:
                self._fields[kind[: LAYOUT + 1]].append(kind[LAYOUT + 1 :])

    def of(self, value: Any) -> list[bytes]:
        """Return all Ignite keys that a parsed record key may stand for."""
        forms = []
        for kind in self._kinds:
            type_id = kind[1] if kind[0] == codes.OBJECT and len(kind) == LAYOUT else None
            scales = declared_scales(self._cache, type_id, key=True) if self._unscaled else {}
            forms += self._forms(value, kind, (), scales)
        return forms

    def of_scalar(self, value: Any) -> list[bytes]:
        """Return all Ignite keys that a scalar may stand for; a text may also be a number or boolean."""
        return [form for read in readings(value) for form in self.of(read)]

    def _forms(self, value: Any, kind: KeyKind, path: Path, scales: Mapping[Path, int]) -> list[bytes]:
        if kind[0] == codes.OBJECT:
            return self._objects(value, kind, path, scales) if len(kind) == LAYOUT and isinstance(value, dict) else []
        form = value_form(value, kind, ValueContext(self._types, self._enums, scales.get(path)))
        return [] if form is None else [form]

    def _objects(self, fields: Mapping[str, Any], kind: KeyKind, path: Path, scales: Mapping[Path, int]) -> list[bytes]:
        """Return all Ignite objects of a kind that the fields of a record key may stand for.

        There is none if a field cannot be converted back, or the kind has other fields or another order.
        """
        _, type_id, schema_id, flags = kind
        if flags & (codes.FLAG_HAS_SCHEMA | codes.FLAG_HAS_RAW) != codes.FLAG_HAS_SCHEMA:
            return []
        try:
            binary = metadata(self._types, type_id)
        except UnknownBinaryType:
            return []
        by_id = {field.field_id: field for field in binary.fields}
        schema = binary.schemas.get(schema_id, ())
        written = [by_id[field_id] for field_id in schema if field_id in by_id]
        # a converter may leave out fields that are null
        if (
            not written
            or len(written) < len(schema)
            or [member.name for member in written if member.name in fields] != list(fields)
        ):
            return []
        values = [
            self._field(fields.get(member.name), member, (*kind, index), (*path, member.name.lower()), scales)
            for index, member in enumerate(written)
        ]
        if math.prod(map(len, values)) > _MOST_FORMS:
            return []
        return [_object(kind, schema, combination) for combination in product(*values)]

    def _field(
        self, value: Any, field: BinaryField, place: KeyKind, path: Path, scales: Mapping[Path, int]
    ) -> list[bytes]:
        if value is None:
            return [bytes([codes.NULL])]
        kinds = [(field.type_code,)] if field.type_code in codes.EXACT else self._fields[place]
        return [form for kind in kinds for form in self._forms(value, kind, path, scales)]


def _object(kind: KeyKind, schema: Sequence[int], values: Sequence[bytes]) -> bytes:
    _, type_id, schema_id, flags = kind
    offsets = list(accumulate(map(len, values[:-1]), initial=codes.HEADER))
    width, flag = next(
        (width, flag)
        for width, flag in ((1, codes.FLAG_OFFSET_1), (2, codes.FLAG_OFFSET_2), (4, 0))
        if offsets[-1] < 1 << 8 * width
    )
    body = b"".join(values)
    footer = b"".join(
        (b"" if flags & codes.FLAG_COMPACT else struct.pack("<i", field_id)) + offset.to_bytes(width, "little")
        for field_id, offset in zip(schema, offsets, strict=True)
    )
    start = codes.HEADER + len(body)
    return (
        _HEADER.pack(
            codes.OBJECT, _VERSION, flags | flag, type_id, _java_hash(body), start + len(footer), schema_id, start
        )
        + body
        + footer
    )


def _java_hash(data: bytes) -> int:
    """Return the hash of bytes that Java's `Arrays.hashCode(byte[])` computes."""
    number = 1
    for byte in data:
        number = (31 * number + byte - (byte >> 7 << 8)) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number
