"""Reader of record keys or values in Ignite's binary format, which are stored unchanged after a check.

The bytes are passed on unchanged if they are exactly one value of known types.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.record_limits import MAX_DEPTH
from ...errors import DecodeError, UnknownBinaryType, UnsupportedType
from ...ignite.binary import PageBuffer, concat_bounds, type_ids_within
from ...ignite.binary.text import all_text
from ...ignite.binary.value_end import Malformed, end_of
from ...ignite.types import type_codes as codes
from ...ignite.types.model import CacheInfo, Page, TypeSource
from ..ignite_types.converted_side import ConvertedSide

_NULL = pa.scalar(bytes([codes.NULL]), pa.binary())
_STRING = pa.scalar(bytes([codes.STRING]), pa.binary())
_NOTHING = pa.scalar(b"", pa.binary())
_REFUSED = {
    codes.NULL: "Ignite's null",
    codes.WRAPPED: "an object in its wrapper",
    codes.HANDLE: "a reference to another value",
}


class BinaryReader:
    """Reader of keys or values in Ignite's binary format: the bytes are checked and stored unchanged.

    Binary types must be registered before: a value of an unknown type is refused.
    """

    def __init__(self, cache: CacheInfo, types: TypeSource) -> None:
        self._cache = cache
        self._types = types

    def read(self, data: pa.BinaryArray) -> ConvertedSide:
        """Return the rows whose bytes are valid, with the bytes, and the reasons for the other rows."""
        if self._wrong(data) is None:
            return ConvertedSide(np.arange(len(data)), data, ())
        whys = [_not_one(value) or self._wrong(data.slice(row, 1)) for row, value in enumerate(data.to_pylist())]
        rows = np.array([row for row, why in enumerate(whys) if why is None], np.int64)
        return ConvertedSide(
            rows, data.take(pa.array(rows)), tuple((row, why) for row, why in enumerate(whys) if why is not None)
        )

    def _wrong(self, data: pa.BinaryArray) -> str | None:
        """Return a reason why at least one of the values is invalid; None if all are valid."""
        sizes = np.asarray(pc.binary_length(data))
        if not sizes.all():
            return "no bytes at all"
        firsts = set(pc.binary_slice(data, 0, 1).unique().to_pylist())
        for code, what in _REFUSED.items():
            if bytes([code]) in firsts:
                return f"{what} is no entry's key or value"
        # bounds are found in pages of entries, so each value becomes the key of an entry with the value null
        page = pc.binary_join_element_wise(data, _NULL, _NOTHING)
        content = page.buffers()[2]
        if content is None:
            return None
        pages = [Page(0, len(data), memoryview(content), True)]
        wire = PageBuffer.of(pages, self._cache, self._types)
        try:
            bounds = concat_bounds(pages, wire)
            if not np.array_equal(bounds.key_end - bounds.key_start, sizes):
                return "bytes that belong to no value"
            for type_id in sorted(type_ids_within(wire, bounds, max_depth=MAX_DEPTH)):
                self._types.binary_type(type_id)
        except UnknownBinaryType as error:
            return f"{error.what} (type id {error.where['type_id']})"
        except DecodeError as error:
            return f"no value in Ignite's binary format: {error.what}"
        except UnsupportedType as error:
            return f"a value that no reader of the cache decodes: {error.what}"
        if _STRING.as_py() in firsts and not all_text(data.filter(pc.equal(pc.binary_slice(data, 0, 1), _STRING))):
            return "a String that is no valid UTF-8: the cluster would hold another text than was sent"
        return None


def _not_one(data: bytes) -> str | None:
    """Return why bytes are not exactly one value in Ignite's binary format; None if they are."""
    if not data:
        return "no bytes at all"
    try:
        left = len(data) - end_of(memoryview(data), 0, len(data))
    except Malformed as error:
        return f"no value in Ignite's binary format: {error.what} (at byte {error.position})"
    return f"{left} bytes follow its value" if left else None
