"""Rebuilds keys that are binary objects from their JSON fields.

Ignite finds a key by its bytes, so they must equal those of the client that wrote the key. The fields do not contain the key's kind:
type, schema (the fields that are written, and their order), and flags. Ignite's hash of a binary object is that of its fields' bytes.
Layout: `ignite/binary/object_headers.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from ...errors import UnknownBinaryType
from ...ignite.types import type_codes as codes
from ...ignite.types.model import TypeSource

KeyKind = tuple[int, ...]
"""The type code of a key; of a binary object also type id, schema id and flags, but those of the width of its offsets."""

KeyEncoders = Mapping[int, Callable[[Any], bytes | None]]
"""Encoders of JSON values by type code; each returns None for a value that is not of its type."""

_HEADER = struct.Struct("<BBHiiiii")
_VERSION = 1
_WIDTHS = codes.FLAG_OFFSET_1 | codes.FLAG_OFFSET_2


def kind_of(key: bytes) -> KeyKind:
    """The kind of a key in Ignite's binary form, not wrapped."""
    if key[0] != codes.OBJECT:
        return (key[0],)
    _, _, flags, type_id, _, _, schema_id, _ = _HEADER.unpack_from(key)
    return codes.OBJECT, type_id, schema_id, flags & ~_WIDTHS


def object_key(fields: Mapping[str, Any], kind: KeyKind, types: TypeSource, forms: KeyEncoders) -> bytes | None:
    """The object of that kind; None if a field's type cannot be converted back, or the kind has other fields or another order."""
    if len(kind) != 4 or kind[3] & (codes.FLAG_HAS_SCHEMA | codes.FLAG_HAS_RAW) != codes.FLAG_HAS_SCHEMA:
        return None
    _, type_id, schema_id, _ = kind
    try:
        binary = types.binary_type(type_id)
    except UnknownBinaryType:
        return None
    by_id = {field.field_id: field for field in binary.fields}
    schema = binary.schemas.get(schema_id, ())
    written = [by_id[field_id] for field_id in schema if field_id in by_id]
    if not written or len(written) < len(schema) or [field.name for field in written] != list(fields):
        return None
    values = []
    for field in written:
        value = fields[field.name]
        form = forms.get(field.type_code, _no_form)
        data = bytes([codes.NULL]) if value is None else form(value)
        if data is None:
            return None
        values.append(data)
    return _object(kind, schema, values)


def _no_form(_: Any) -> None:
    return None


def _object(kind: KeyKind, schema: Sequence[int], values: Sequence[bytes]) -> bytes:
    _, type_id, schema_id, flags = kind
    offsets = list(accumulate(map(len, values[:-1]), initial=codes.HEADER))
    width, flag = next(
        (width, flag) for width, flag in ((1, codes.FLAG_OFFSET_1), (2, codes.FLAG_OFFSET_2), (4, 0)) if offsets[-1] < 1 << 8 * width
    )
    body = b"".join(values)
    footer = b"".join(
        (b"" if flags & codes.FLAG_COMPACT else struct.pack("<i", field_id)) + offset.to_bytes(width, "little")
        for field_id, offset in zip(schema, offsets, strict=True)
    )
    start = codes.HEADER + len(body)
    return (
        _HEADER.pack(codes.OBJECT, _VERSION, flags | flag, type_id, _java_hash(body), start + len(footer), schema_id, start) + body + footer
    )


def _java_hash(data: bytes) -> int:
    """`Arrays.hashCode(byte[])`."""
    number = 1
    for byte in data:
        number = (31 * number + byte - (byte >> 7 << 8)) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number
