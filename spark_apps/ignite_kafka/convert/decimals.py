"""Decimals as Kafka Connect's Decimal logical type writes them: the unscaled integer, big-endian two's complement, shortest form.

Nothing passes through float. Source: java.math.BigInteger.toByteArray, org.apache.kafka.connect.data.Decimal.fromLogical.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa


def unscaled_bytes(array: pa.Array) -> pa.BinaryArray:
    """Unscaled bytes of each value of a decimal128, decimal256 or string array (a string in java.math.BigDecimal's form)."""
    if pa.types.is_string(array.type):
        # an empty text is what stands under an object that is null
        return pa.array([_from_text(text) if text else None for text in array.to_pylist()], pa.binary())
    return _from_buffer(array)


def _from_text(text: str) -> bytes:
    sign, digits, _ = Decimal(text).as_tuple()
    return _shortest(int(Decimal((sign, digits, 0))))  # not by way of str: Python limits the digits of int(str)


def _shortest(unscaled: int) -> bytes:
    """As BigInteger.toByteArray: one sign bit at least, no redundant byte."""
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length() + 1
    return unscaled.to_bytes((bits + 7) // 8, "big", signed=True)


def _from_buffer(array: pa.Array) -> pa.BinaryArray:
    width, count = array.type.byte_width, len(array)
    if not count:
        return pa.array([], pa.binary())
    little = np.frombuffer(array.buffers()[1], np.uint8).reshape(-1, width)[array.offset : array.offset + count]
    big = little[:, ::-1]
    sign = big[:, :1] >> 7
    # a leading byte is redundant when it and the next one's top bit only repeat the sign
    redundant = (big[:, :-1] == sign * 255) & (big[:, 1:] >> 7 == sign)
    first = np.argmin(np.column_stack([redundant, np.zeros(count, bool)]), axis=1)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(width - first, out=offsets[1:])
    data = big[np.arange(width) >= first[:, None]]
    valid = None
    if array.null_count:
        valid = pa.py_buffer(np.packbits(np.asarray(array.is_valid()), bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), count, [valid, pa.py_buffer(offsets), pa.py_buffer(data)])
