"""Keys of JSON records back to keys of Ignite: the inverse of converter `json`, for keys of simple types and objects of such fields.

JSON does not tell an int from a long, nor a UUID from a string: the kinds of a cache's keys decide. Decimals, timestamps (their
nanoseconds are not in JSON), enums and containers cannot be converted back, nor objects that contain one.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Callable, Collection
from typing import Any

from ...ignite.types import type_codes as codes
from ...ignite.types.model import CacheInfo, TypeSource
from ...ignite.types.type_table import java_code
from .object_keys import KeyEncoders, KeyKind, kind_of, object_key

_UUID_TEXT = 36


def _integer(code: int, form: str) -> Callable[[Any], bytes | None]:
    def key(value: Any) -> bytes | None:
        if type(value) is not int:
            return None
        try:
            return struct.pack(f"<B{form}", code, value)
        except struct.error:
            return None

    return key


def _double(value: Any) -> bytes | None:
    return struct.pack("<Bd", codes.DOUBLE, value) if type(value) is float else None


def _bool(value: Any) -> bytes | None:
    return struct.pack("<B?", codes.BOOL, value) if type(value) is bool else None


def _string(value: Any) -> bytes | None:
    if type(value) is not str:
        return None
    try:
        data = value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    return struct.pack("<Bi", codes.STRING, len(data)) + data


def _uuid(value: Any) -> bytes | None:
    if type(value) is not str or len(value) != _UUID_TEXT:
        return None
    try:
        number = uuid.UUID(value).int
    except ValueError:
        return None
    return struct.pack("<BQQ", codes.UUID, number >> 64, number & (1 << 64) - 1)


_ENCODERS: KeyEncoders = {
    codes.BYTE: _integer(codes.BYTE, "b"),
    codes.SHORT: _integer(codes.SHORT, "h"),
    codes.INT: _integer(codes.INT, "i"),
    codes.LONG: _integer(codes.LONG, "q"),
    codes.CHAR: _integer(codes.CHAR, "H"),
    codes.DATE: _integer(codes.DATE, "q"),
    codes.DOUBLE: _double,
    codes.BOOL: _bool,
    codes.STRING: _string,
    codes.UUID: _uuid,
}


SIMPLE_KINDS = frozenset((code,) for code in _ENCODERS)


def key_forms(text: bytes, kinds: Collection[KeyKind], types: TypeSource) -> list[bytes]:
    """Every key in Ignite's binary format, of these kinds, that converts to the record's key."""
    try:
        value = json.loads(text)
    except ValueError:
        return []
    found = (_form(value, kind, types) for kind in sorted(kinds))
    return [key for key in found if key is not None]


def _form(value: Any, kind: KeyKind, types: TypeSource) -> bytes | None:
    if kind[0] == codes.OBJECT:
        return object_key(value, kind, types, _ENCODERS) if type(value) is dict else None
    return _ENCODERS[kind[0]](value) if kind[0] in _ENCODERS else None


def declared_kinds(cache: CacheInfo) -> set[KeyKind]:
    """Kinds of a cache's keys that its query entities declare; simple ones only."""
    return {(code,) for entity in cache.query_entities if (code := java_code(entity.key_type)) is not None}


def proved_kind(key: bytes, text: bytes, types: TypeSource) -> KeyKind:
    """The kind of a key if the record's key converts back to it; for any other object its type code alone."""
    kind = kind_of(key)
    return kind if kind[0] != codes.OBJECT or key_forms(text, {kind}, types) == [key] else kind[:1]


def key_of(text: bytes, kinds: Collection[KeyKind], types: TypeSource) -> bytes | None:
    """The key in Ignite's binary format for a record's key, in a cache whose keys are of these kinds.

    None if it is ambiguous: a kind cannot be converted back, or several match the record's key.
    """
    forms = key_forms(text, kinds, types)
    known = all(kind[0] in _ENCODERS or len(kind) > 1 for kind in kinds)
    return forms[0] if len(forms) == 1 and known else None
