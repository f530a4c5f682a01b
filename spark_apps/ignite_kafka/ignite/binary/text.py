"""Decoding of Strings in UTF-8 or Ignite's variant of it, with surrogate pairs as 3 + 3 bytes."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .byte_columns import data_of, offsets_of
from .page_buffer import Bytes, PageBuffer, Positions

_HEAD = 5
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def decode_text(data: bytes) -> str:
    """Decode a String in UTF-8 or Ignite's variant; UnicodeError for other bytes, such as a lone surrogate.

    The variant has surrogate pairs as 3 + 3 bytes and U+0000 as C0 80, which are never valid UTF-8. Source:
    `BinaryUtils.strToUtf8Bytes`, used by nodes that set IGNITE_BINARY_MARSHALLER_USE_STRING_SERIALIZATION_VER_2.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    text = _PAIR.sub(lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"), text)
    text.encode("utf-8")
    return text


def string_bytes(strings: pa.BinaryArray) -> tuple[Bytes, Positions]:
    """Strip type code and length from n encoded Strings; return the text bytes and their n + 1 offsets."""
    data = data_of(strings)
    starts = offsets_of(strings)[:-1].astype(np.int64) - offsets_of(strings)[0]
    of_text = np.ones(data.size, bool)
    of_text[starts[:, None] + np.arange(_HEAD)] = False
    return data[of_text], np.append(starts, data.size) - _HEAD * np.arange(len(strings) + 1)


def all_text(strings: pa.BinaryArray) -> bool:
    """Return whether all encoded Strings are valid text, in UTF-8 or Ignite's variant."""
    data, offsets = string_bytes(strings)
    try:
        whole = pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)
        pa.StringArray.from_buffers(len(strings), *whole).validate(full=True)
    except pa.ArrowInvalid:
        raw = data.tobytes()
        return all(_is_text(raw[start:end]) for start, end in pairwise(offsets.tolist()))
    return True


def _is_text(data: bytes) -> bool:
    try:
        decode_text(data)
    except UnicodeError:
        return False
    return True


def repaired(wire: PageBuffer, at: Positions, offsets: npt.NDArray[np.int32], data: Bytes) -> pa.Array:
    """Decode Strings one by one if some are not UTF-8; DecodeError at the first invalid one."""
    texts = []
    raw = data.tobytes()
    for row, position in enumerate(at.tolist()):
        try:
            texts.append(decode_text(raw[offsets[row] : offsets[row + 1]]))
        except UnicodeError:
            raise wire.error(position, "A String is no valid UTF-8") from None
    return pa.array(texts, pa.string())
