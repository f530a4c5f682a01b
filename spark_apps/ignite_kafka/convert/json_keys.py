"""Keys of JSON records back to keys of Ignite: the inverse of converter `json`, for keys of simple types.

JSON does not tell an int from a long, nor a UUID from a string: the type codes of a cache's keys decide. Objects, decimals, timestamps
(their nanoseconds are not in JSON), enums and containers cannot be turned back.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..thin import codes
from ..thin.model import CacheInfo
from .types import java_code

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


_FORMS: Mapping[int, Callable[[Any], bytes | None]] = {
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


def key_forms(text: bytes, kinds: Collection[int] = tuple(_FORMS)) -> list[bytes]:
    """Every key in Ignite's binary form, of these type codes, that the record's key may stand for."""
    try:
        value = json.loads(text)
    except ValueError:
        return []
    found = (_FORMS[kind](value) for kind in sorted(kinds) if kind in _FORMS)
    return [key for key in found if key is not None]


def declared_key_codes(cache: CacheInfo) -> set[int]:
    """Type codes of a cache's keys as far as its query entities tell them."""
    return {code for entity in cache.query_entities if (code := java_code(entity.key_type)) is not None}


def key_of(text: bytes, kinds: Collection[int]) -> bytes | None:
    """The key in Ignite's binary form that a record's key stands for in a cache whose keys have these type codes.

    None where it cannot be told: a type that is not turned back, or several that the record's key may be of.
    """
    forms = key_forms(text, kinds)
    return forms[0] if len(forms) == 1 and all(kind in _FORMS for kind in kinds) else None
