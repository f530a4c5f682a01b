"""Texts of ``{"schema":…,"payload":…}``, split into their members without reading these."""

from __future__ import annotations

import json
import re

_SCHEMA = re.compile(r'[ \t\r\n]*\{[ \t\r\n]*"schema"[ \t\r\n]*:[ \t\r\n]*')
_PAYLOAD = re.compile(r'[ \t\r\n]*,[ \t\r\n]*"payload"[ \t\r\n]*:')
# finds where a value ends; int refuses more than 4,300 digits
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
SPACE = " \t\r\n"
"""What may stand between the parts of a JSON text."""
BEGINS = r'^[ \t\r\n]*\{[ \t\r\n]*"(schema|payload)"[ \t\r\n]*:'
"""Pattern of the beginning of an envelope."""


def head_of(text: bytes) -> bytes:
    """Return the bytes before the payload, equal in all records of one schema.

    Empty if the record has another layout.
    """
    parts = split_head(text)
    return b"" if parts is None else parts[0]


def split_head(text: bytes) -> tuple[bytes, str] | None:
    """Return the bytes up to the payload, and the JSON text of the schema.

    None where the record is spelled otherwise.
    """
    try:
        whole = text.decode()
    except UnicodeDecodeError:
        return None
    begin = _SCHEMA.match(whole)
    if begin is None:
        return None
    try:
        _, end = _DECODER.raw_decode(whole, begin.end())
    except (ValueError, RecursionError):
        return None
    middle = _PAYLOAD.match(whole, end)
    return None if middle is None else (whole[: middle.end()].encode(), whole[begin.end() : end])


def member_texts(text: str) -> dict[str, str]:
    """Return the JSON texts of an object's members; `text` is known to be one object."""
    texts: dict[str, str] = {}
    at = text.index("{")
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, text.index('"', at))
        begin = text.index(":", at) + 1
        begin += len(text[begin:]) - len(text[begin:].lstrip(SPACE))
        _, end = _DECODER.raw_decode(text, begin)
        texts[name] = text[begin:end]
        at = end + len(text[end:]) - len(text[end:].lstrip(SPACE))
    return texts
