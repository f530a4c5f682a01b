"""Casts to decimals with an error for each value that does not fit, where Arrow may return a wrong decimal.

Arrow 26 multiplies by the power of ten between two scales in 128 or 256 bits, and compares only the order of both
numbers: a product that wraps around is taken for the value. This affects decimals, texts and JSON numbers. Casts to a
smaller scale, and from decimal256 to decimal128 at one scale, are checked.
"""

from __future__ import annotations

from decimal import Decimal, DecimalException

import pyarrow as pa
import pyarrow.compute as pc


def exact_cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast an array as Arrow does, but raise an error where Arrow would return a wrong decimal.

    :raises pa.ArrowInvalid: a value does not fit.
    """
    if not pa.types.is_decimal(kind):
        return array.cast(kind)
    if pa.types.is_decimal(array.type):
        _check(array, kind)
    elif pa.types.is_string(array.type) and not _fits_certainly(array, kind):
        return pa.array([None if text is None else _decimal(text) for text in array.to_pylist()], kind)
    return array.cast(kind)


def _fits_certainly(texts: pa.StringArray, kind: pa.DataType) -> bool:
    """Return whether texts certainly fit a decimal type, judged by length, so that a slow check can be skipped."""
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    return (
        longest <= kind.precision - max(kind.scale, 0)
        and not pc.any(pc.match_substring(texts, "E", ignore_case=True)).as_py()
    )


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except DecimalException:
        raise pa.ArrowInvalid(f"the text {text[:40]!r} is no decimal") from None


def _check(array: pa.Array, kind: pa.DataType) -> None:
    digits = kind.precision - kind.scale
    if array.type.precision - array.type.scale <= digits:
        return
    ends = pc.min_max(array).as_py().values()
    if any(value is not None and value and value.adjusted() >= digits for value in ends):
        raise pa.ArrowInvalid(f"a decimal has more than {digits} digits before the point, which {kind} cannot hold")
