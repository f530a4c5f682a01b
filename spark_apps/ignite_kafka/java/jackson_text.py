"""Rewriting of JSON texts to exactly the bytes that Java's Jackson would write.

Escapes have capital digits, and a character beyond U+FFFF is two escapes.

Source: com.fasterxml.jackson.core.json.UTF8JsonGenerator 2.21 without COMBINE_UNICODE_SURROGATES_IN_UTF8.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SPECIAL = r"\\u00[0-9a-f]|[\x{10000}-\x{10FFFF}]"
_FIRST_OF_FOUR = 0xF0  # first byte of UTF-8 of four bytes
_ESCAPED = re.compile(rb"\\(?:u00([0-9a-f]{2})|.)|[\xf0-\xf4][\x80-\xbf]{3}|\xed[\xa0-\xbf][\x80-\xbf]", re.DOTALL)


def as_jackson(texts: pa.BinaryArray) -> pa.BinaryArray:
    """Rewrite a column of JSON texts from polars as Jackson would write them.

    Returns the same array if nothing differs.
    """
    if not len(texts):
        return texts
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    start = int(offsets[0])
    end = int(offsets[-1])
    if end == start:
        return texts
    block = texts.buffers()[2].slice(start, end - start)
    if np.frombuffer(block, np.uint8).max() < _FIRST_OF_FOUR and not re.search(rb"\\u00", block):
        return texts
    special = np.asarray(pc.match_substring_regex(texts.cast(pa.string()), _SPECIAL).fill_null(False))
    if not special.any():
        return texts
    written = pa.array([escape(text) for text in texts.filter(pa.array(special)).to_pylist()], pa.binary())
    places = np.arange(len(texts))
    places[special] = len(texts) + np.arange(len(written))
    return pa.concat_arrays([texts, written]).take(pa.array(places))


def escape(text: bytes) -> bytes:
    """Rewrite one JSON text as Jackson would write it."""
    return _ESCAPED.sub(_escape, text)


def _escape(match: re.Match[bytes]) -> bytes:
    text = match.group()
    if text[:1] == b"\\":
        return b"\\u00" + match.group(1).upper() if match.group(1) else text
    units = text.decode("utf-8", "surrogatepass").encode("utf-16-be", "surrogatepass").hex().upper()
    return b"".join(b"\\u" + units[at : at + 4].encode() for at in range(0, len(units), 4))
