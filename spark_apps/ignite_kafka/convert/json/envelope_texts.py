"""Split of envelopes ``{"schema":…,"payload":…}`` into the JSON texts of schema and payload, without parsing these."""

from __future__ import annotations

import json
import re

_SCHEMA = re.compile(r'[ \t\r\n]*\{[ \t\r\n]*"schema"[ \t\r\n]*:[ \t\r\n]*')
_PAYLOAD = re.compile(r'[ \t\r\n]*,[ \t\r\n]*"payload"[ \t\r\n]*:')
# finds where a value ends; int refuses more than 4,300 digits
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
SPACE = " \t\r\n"
"""Characters that may separate the tokens of a JSON text."""
BEGINS = r'^[ \t\r\n]*\{[ \t\r\n]*"(schema|payload)"[ \t\r\n]*:'
"""Regular expression that matches the beginning of an envelope."""


def head_of(text: bytes) -> bytes:
    """Return an envelope's bytes before its payload, which all records of a schema share.

    The head is empty if the record has another layout.
    """
    parts = split_head(text)
    return b"" if parts is None else parts[0]


def split_head(text: bytes) -> tuple[bytes, str] | None:
    """Return an envelope's bytes before its payload, and its schema's JSON text.

    None if the record has another layout.
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
    """Return the JSON text of each member of an object, by name."""
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
