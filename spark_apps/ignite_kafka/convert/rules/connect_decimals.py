"""Conversion between decimals and the unscaled bytes of Kafka Connect's Decimal.

The bytes are the unscaled integer in two's complement, big-endian, in the shortest form. No value is converted through
float.

Source: java.math.BigInteger.toByteArray,
org.apache.kafka.connect.data.Decimal.fromLogical.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...common.redaction import in_message
from ...errors import UnsupportedType

MOST_DIGITS = 40_000
_ARROW_DIGITS = 38


def unscaled_bytes(array: pa.Array, scale: int | None = None, name: str = "") -> pa.BinaryArray:
    """Return each decimal as unscaled bytes, as Connect's Decimal has them.

    A string has java.math.BigDecimal's form.

    :param scale: scale of all values; None: each value has its own scale.
    :param name: name of the field, for the error.
    :raises UnsupportedType: a value is not exact at `scale`.
    """
    if pa.types.is_decimal(array.type):
        if scale is None or scale == array.type.scale:
            return _from_buffer(array)
        if scale <= _ARROW_DIGITS and array.type.precision <= _ARROW_DIGITS:
            try:
                return _from_buffer(array.cast(pa.decimal256(2 * _ARROW_DIGITS, scale)))
            except pa.ArrowInvalid:
                pass  # a value is not exact at this scale: it is found below
        array = array.cast(pa.string())
    # under a null object the text is empty
    return pa.array(
        [_shortest(_unscaled(text, scale, name)) if text else None for text in array.to_pylist()], pa.binary()
    )


def unscaled_of(value: Decimal, scale: int) -> bytes:
    """Return a decimal as unscaled bytes; raise UnsupportedType if it is not exact at the scale."""
    return _shortest(_unscaled(str(value), scale, ""))


def decimals_from_bytes(data: pa.BinaryArray, wrong: Mask, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Convert unscaled bytes to decimal128 values; return also a mask of the rows without a valid decimal.

    The mask includes values of 16 bytes or more, which may have more than 38 digits and must be read one by one.

    :param wrong: mask of the rows already known to have no bytes.
    """
    sizes = np.asarray(pc.fill_null(pc.binary_length(data), 0))
    wrong = wrong | (sizes > 15) | (np.asarray(data.is_valid()) & (sizes == 0))
    valid = np.asarray(data.is_valid()) & ~wrong
    little = np.zeros((len(data), 16), np.uint8)
    if valid.any():
        flat = pc.filter(data, pa.array(valid))
        sizes = sizes[valid]
        letters = np.frombuffer(flat.buffers()[2], np.uint8, int(sizes.sum()))
        ends = np.cumsum(sizes)
        negative = letters[ends - sizes] >> 7
        kept = np.repeat(negative[:, None] * np.uint8(255), 16, axis=1)
        row = np.repeat(np.arange(sizes.size), sizes)
        kept[row, np.repeat(ends, sizes) - 1 - np.arange(letters.size)] = letters
        little[valid] = kept
    mask = pa.py_buffer(np.packbits(valid, bitorder="little"))
    decimals = pa.Array.from_buffers(kind, len(data), [mask, pa.py_buffer(little)])
    return decimals, wrong


def _unscaled(text: str, scale: int | None, name: str) -> int:
    """Return a decimal text's unscaled value at a scale; `scale` None: at the text's own scale."""
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    unscaled = int(Decimal((sign, digits, 0)))  # not through str: Python limits the digits of int(str)
    shift = 0 if scale is None or not unscaled else exponent + scale
    if 0 <= shift <= MOST_DIGITS:
        return unscaled * int(10**shift)
    if -len(digits) < shift < 0 and not unscaled % 10**-shift:
        return unscaled // int(10**-shift)
    raise _inexact(text, exponent, scale, name)


def _inexact(text: str, exponent: int, scale: int | None, name: str) -> UnsupportedType:
    value = text if len(text) <= 40 else f"{text[:37]}..."
    what = (
        f"field {name} holds {in_message(value)}, of scale {-exponent}, which has no exact form at the declared scale "
        f"{scale}"
    )
    remedy = (
        "Correct the entry, or use decimal_format NUMERIC or converter ignite-binary, which keep each decimal's own "
        "scale."
    )
    return UnsupportedType(what, remedy, field=name)


def _shortest(unscaled: int) -> bytes:
    """Encode an integer in the fewest bytes of two's complement, as BigInteger.toByteArray does."""
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length() + 1
    return unscaled.to_bytes((bits + 7) // 8, "big", signed=True)


def _from_buffer(array: pa.Array) -> pa.BinaryArray:
    width = array.type.byte_width
    count = len(array)
    if not count:
        return pa.array([], pa.binary())
    little = np.frombuffer(array.buffers()[1], np.uint8).reshape(-1, width)[array.offset : array.offset + count]
    big = little[:, ::-1]
    sign = big[:, :1] >> 7
    # a leading byte is redundant if it only repeats the sign, as does the top bit of the next byte
    redundant = (big[:, :-1] == sign * 255) & (big[:, 1:] >> 7 == sign)
    first = np.argmin(np.column_stack([redundant, np.zeros(count, bool)]), axis=1)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(width - first, out=offsets[1:])
    data = big[np.arange(width) >= first[:, None]]
    valid = None
    if array.null_count:
        valid = pa.py_buffer(np.packbits(np.asarray(array.is_valid()), bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), count, [valid, pa.py_buffer(offsets), pa.py_buffer(data)])
