"""Strings that are no UTF-8: Ignite's second string form writes a surrogate pair as 3 + 3 bytes and U+0000 as C0 80."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ignite_kafka.thin.codec.raw import Bytes, Positions, Wire

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def decode_text(data: bytes) -> str:
    """Text of UTF-8 or of Ignite's second form; raises UnicodeError for anything else, a lone surrogate included.

    The two forms do not overlap: bytes that the second form adds are never valid UTF-8.
    Source: `BinaryUtils.strToUtf8Bytes`, used by nodes that set IGNITE_BINARY_MARSHALLER_USE_STRING_SERIALIZATION_VER_2.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    text = _PAIR.sub(lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"), text)
    text.encode("utf-8")
    return text


def repaired(wire: Wire, at: Positions, offsets: npt.NDArray[np.int32], data: Bytes) -> pa.Array:
    """The strings of a column one by one; raises DecodeError at the place of the first one that is no text."""
    texts = []
    raw = data.tobytes()
    for row, position in enumerate(at.tolist()):
        try:
            texts.append(decode_text(raw[offsets[row] : offsets[row + 1]]))
        except UnicodeError:
            raise wire.error(position, "A String is no valid UTF-8") from None
    return pa.array(texts, pa.string())
