"""Detection of numbers that lose digits as doubles, to refuse them in undeclared fields.

A double holds a number if the double, printed with as many digits as the number has (17 at most), is the same number.
So it holds any number that a program wrote from a double, but not 12345678901234567.89. Columns are parsed to doubles
at once, so :func:`doubtful` finds the records to read one by one. A float or double declared by a query entity accepts
every number, rounded to the nearest.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from .marked_fields import is_declared

_MOST_DIGITS = 17
_WHOLE = 2.0**53
_SUSPECT = 16  # characters: a double holds every number of 15 digits
_LONG = f"[0-9.]{{{_SUSPECT}}}|[eE]-"
_FRACTION = r"^-?[0-9]+(\.[0-9]+([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)$"


def _flags(characters: bytes) -> Mask:
    flags = np.zeros(256, bool)
    flags[list(characters)] = True
    return flags


_NUMBER = _flags(b"0123456789.eE+-")
_BEFORE = _flags(b"0123456789-:,[ \t\r\n")
_BEHIND = _flags(b"0123456789,]} \t\r\n")
_EXACT = Context(prec=2_000, Emax=MAX_EMAX, Emin=MIN_EMIN)


def holds(digits: str, value: float) -> bool:
    """Return whether a double has lost no digits of the number text that it was parsed from."""
    try:
        exact = Decimal(digits)
    except InvalidOperation:
        return False
    if exact == Decimal(value) or exact == Decimal(repr(value)):
        return True
    size = len(exact.normalize(_EXACT).as_tuple().digits)
    return size <= _MOST_DIGITS and exact == Decimal(f"{value:.{size}g}")


def is_strict(field: pa.Field) -> bool:
    """Return whether a field contains a double not declared by a query entity, so that no digit may be lost."""
    kind = field.type
    if pa.types.is_struct(kind):
        return any(map(is_strict, kind))
    if pa.types.is_list(kind):
        return is_strict(kind.value_field)
    return bool(kind == pa.float64()) and not is_declared(field)


def doubtful(texts: pa.BinaryArray, array: pa.Array, field: pa.Field) -> Mask:
    """Return a mask of the JSON texts with a number that may have lost digits as a double.

    Few flags are true without such a number.
    """
    flags = _large(array, field)
    if not pa.types.is_struct(field.type):  # only objects separate their last number from the next text
        texts = pc.binary_join_element_wise(texts, pa.scalar(b"", pa.binary()), pa.scalar(b"\n", pa.binary()))
    if not pc.any(pc.match_substring_regex(texts, _LONG)).as_py():  # takes half the time of the search below
        return flags
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    start = int(offsets[0])
    block = np.frombuffer(texts.buffers()[2], np.uint8)[start : int(offsets[-1])]
    tokens, places = _fractions(block)
    if len(tokens):
        rows = np.searchsorted(offsets[1:] - start, places, "right")
        flags[rows[~_read_back(tokens)]] = True
    return flags


def _fractions(block: npt.NDArray[np.uint8]) -> tuple[pa.StringArray, npt.NDArray[np.int64]]:
    """Return the fractions in a block of JSON that are long enough to lose digits as doubles, and their places."""
    edges = np.flatnonzero(np.diff(_NUMBER[block], prepend=False, append=False))
    first = edges[::2]
    last = edges[1::2]
    suspect = last - first >= _SUSPECT
    minus = np.flatnonzero(block == ord("-"))
    minus = minus[(minus > 0) & ((block[minus - 1] | 0x20) == ord("e"))]
    suspect[np.searchsorted(last, minus, "right")] = True
    # a number has such characters on both sides, a part of a string seldom has
    suspect &= _BEFORE[block[np.maximum(first - 1, 0)]] & _BEHIND[block[np.minimum(last, block.size - 1)]]
    first = first[suspect]
    last = last[suspect]
    if not first.size:
        return pa.array([], pa.string()), first
    cuts = np.stack([first, last], axis=1).ravel().astype(np.int32)
    pieces = pa.Array.from_buffers(
        pa.binary(), cuts.size - 1, [None, pa.py_buffer(cuts), pa.py_buffer(np.ascontiguousarray(block))]
    )
    tokens = pieces.take(pa.array(np.arange(0, cuts.size - 1, 2)))
    # integers are checked by the values of columns: most belong to fields of type long
    fractions = np.asarray(pc.match_substring_regex(tokens, _FRACTION))
    return tokens.filter(pa.array(fractions)).cast(pa.string()), first[fractions]


def _read_back(tokens: pa.StringArray) -> Mask:
    """Return a mask of the numbers that are the same after conversion to a double."""
    same = np.array(pc.equal(tokens.cast(pa.float64()).cast(pa.string()), tokens))
    for row in np.flatnonzero(~same).tolist():
        text = tokens[row].as_py()
        same[row] = holds(text, float(text))
    return same


def _large(array: pa.Array, field: pa.Field) -> Mask:
    """Return a mask of the rows with a double beyond 2**53, where not every integer is a double."""
    kind = field.type
    flags = np.zeros(len(array), bool)
    if pa.types.is_struct(kind):
        for number, child in enumerate(kind):
            if is_strict(child):
                flags |= _large(array.field(number), child)
    elif pa.types.is_list(kind):
        inner = _large(array.flatten(), kind.value_field)
        flags[np.asarray(pc.list_parent_indices(array))[inner]] = True
    elif pa.types.is_floating(kind):
        flags = np.asarray(pc.greater_equal(pc.abs(array), _WHOLE).fill_null(False))
    return np.array(flags)
