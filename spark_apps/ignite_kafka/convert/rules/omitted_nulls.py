"""Removal of null members from written JSON objects, much cheaper than writing each set of fields separately.

A text is first written with its nulls, as ``{"a":null,"b":1}``, and then searched for null members with given names.
The search cannot find a part of a string: within a string each quote follows a backslash, and between a closing quote
and the next opening quote there are only brackets, commas and colons, which do not occur in these names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrow_layout import union_layout
from .polars import pl

_BINARY = pa.binary()
_REGULAR = re.compile(r"\w[\w$.-]*")  # no bracket, comma, colon, quote or backslash


def is_regular(name: str) -> bool:
    """Return whether :func:`without_members` can remove members with this name."""
    return bool(_REGULAR.fullmatch(name))


def without_members(texts: pl.Series, names: Collection[str]) -> pl.Series:
    """Remove null members with the given names from JSON objects, at any depth; not for maps.

    :param texts: compact JSON as polars writes it. :param names: names that :func:`is_regular` accepts.
    """
    if not names:
        return texts
    member = f'"(?:{"|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))})":null'
    # first all null members with a comma before them, then those at the beginning of an object
    return texts.str.replace_all(f",{member}", "").str.replace_all(rf"\{{{member},?", "{")


def null_names(array: pa.Array, field: pa.Field) -> Iterator[str]:
    """Yield the names of fields that are null in some struct of a column, also within lists."""
    kind = array.type
    if pa.types.is_struct(kind):
        for number, child in enumerate(field.type):
            column = array.field(number)
            if null_rows(column).any():
                yield child.name
            yield from null_names(column, child)
    elif pa.types.is_list(kind):
        yield from null_names(array.flatten(), field.type.value_field)


def null_rows(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the values that are null, also within a union."""
    if not pa.types.is_union(array.type):
        return np.asarray(array.is_null()) if array.null_count else np.zeros(len(array), np.bool_)
    kind_of, offset = union_layout(array)
    missing = np.zeros(len(array), np.bool_)
    for at, code in enumerate(array.type.type_codes):
        rows = kind_of == code
        missing[rows] = null_rows(array.field(at))[offset[rows]]
    return missing


def joined_members(pieces: Collection[pa.BinaryArray]) -> pa.BinaryArray:
    """Join pieces of JSON members, each possibly empty, to one JSON object per row."""
    comma = pa.scalar(b",", _BINARY)
    nothing = pa.scalar(b"", _BINARY)
    parts = []
    for piece in pieces:
        nonempty = pc.greater(pc.binary_length(piece), 0)
        parts.append(pc.if_else(nonempty, pc.binary_join_element_wise(comma, piece, nothing), nothing))
    # binary_slice without an end fails in Arrow 26
    members = pc.binary_replace_slice(pc.binary_join_element_wise(*parts, nothing), 0, 1, b"")
    return pc.binary_join_element_wise(pa.scalar(b"{", _BINARY), members, pa.scalar(b"}", _BINARY), nothing)
