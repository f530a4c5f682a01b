"""Encoding of headers and footers of many binary objects, each with its own set of fields. See encode.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Int64Array
from ..types import type_codes as codes
from .byte_columns import fixed_rows, join_columns, lengths_of, sliced, structured
from .key_hashes import array_hashes
from .object_layout import ObjectLayout

_USER_TYPE = 0x01
_PROTOCOL_VERSION = 1
_WIDTH_FLAGS = np.array([0, codes.FLAG_OFFSET_1, codes.FLAG_OFFSET_2, 0, 0])


def whole_objects(
    layout: ObjectLayout, body: pa.BinaryArray, widths: Int64Array, footer: pa.BinaryArray, schema_ids: Int64Array | int
) -> pa.BinaryArray:
    """Assemble binary objects of one type: compute headers with Java's hash code, append body and footer.

    :param body: the fields of each object. :param widths: bytes of an offset in each object's footer (1, 2 or 4).
    :param footer: footer of each object; an object without fields has an empty footer and no schema.
    :param schema_ids: schema id of each object, or one id for all.
    """
    ends = codes.HEADER + lengths_of([body])
    in_footer = lengths_of([footer])
    bare = codes.FLAG_COMPACT if layout.compact else 0
    with_schema = codes.FLAG_HAS_SCHEMA | bare | _WIDTH_FLAGS[widths]
    header = structured(
        len(body),
        code=("u1", codes.OBJECT),
        version=("u1", _PROTOCOL_VERSION),
        flags=("<u2", _USER_TYPE | np.where(in_footer > 0, with_schema, bare)),
        type_id=("<i4", layout.type_id),
        hash_code=("<i4", array_hashes(body)),
        length=("<i4", ends + in_footer),
        schema_id=("<i4", schema_ids),
        footer=("<i4", ends),
    )
    return join_columns([fixed_rows(header), body, footer])


def offset_widths(last: Int64Array) -> Int64Array:
    """Compute how many bytes (1, 2 or 4) each object's footer needs for an offset."""
    return np.select([last < 1 << 8, last < 1 << 16], [1, 2], 4)


def footers(
    layout: ObjectLayout, starts: Int64Array, field_ids: npt.NDArray[np.int32], bounds: Int64Array, widths: Int64Array
) -> pa.BinaryArray:
    """Encode the footers of n objects, each with its own set of fields.

    :param starts: position of each field in its object, object after object. :param field_ids: ids of the same fields.
    :param bounds: n + 1 bounds: object r has the fields [bounds[r], bounds[r + 1]).
    """
    width_of = np.repeat(widths, np.diff(bounds))
    used = [width for width in (1, 2, 4) if (widths == width).any()]
    footers_of_width = []
    for width in used or [1]:
        ours = width_of == width
        parts: dict[str, Any] = {} if layout.compact else {"id": ("<i4", field_ids[ours])}
        entries = structured(int(ours.sum()), **parts, offset=(f"<u{width}", starts[ours].astype(f"<u{width}")))
        before = np.zeros(ours.size + 1, np.int64)
        np.cumsum(ours, out=before[1:])
        footers_of_width.append(sliced(before[bounds] * entries.itemsize, entries))
    return (
        footers_of_width[0]
        if len(footers_of_width) == 1
        else pc.choose(pa.array(np.searchsorted(used, widths)), *footers_of_width)
    )
