"""Conversion of numbers in numpy, and parsing of numbers from texts, both with Java's results."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

_BLANKS = "".join(map(chr, range(33)))
_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"([+-]?)(?:(NaN|Infinity)|((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?)")
_HEXADECIMAL = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?[0-9]+)[fFdD]?")
_MOST_EXPONENT = 20_000  # beyond it a double of at most _MOST_DIGITS digits is infinite or zero
_MOST_PLACES = 1 << 40  # more than any text has digits
_MOST_DIGITS = 1_200  # the numbers halfway between two doubles have at most 767


def narrowed(numbers: npt.NDArray[Any], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Convert numbers to a smaller type as Java's casts do: integers wrap around, floats stop at the limits."""
    if numbers.dtype.kind in "iu":
        return numbers.astype(kind)
    wide = np.dtype(np.int64) if kind.itemsize == 8 else np.dtype(np.int32)  # a byte is cut from an int
    limits = np.iinfo(wide)
    with np.errstate(invalid="ignore"):
        whole = np.where(np.isnan(numbers), 0, numbers).astype(np.float64)
        high = whole >= float(limits.max)
        low = whole <= float(limits.min)
        inside = np.where(high | low, 0, whole).astype(wide)
    return np.where(high, limits.max, np.where(low, limits.min, inside)).astype(wide).astype(kind)


def wrapped(number: int, bits: int) -> int:
    """Return the lowest `bits` bits of an integer as a signed integer, as Java's overflow does."""
    half = 1 << (bits - 1)
    return (number + half & (1 << bits) - 1) - half


def parsed_integer(text: str, bits: int) -> int | None:
    """Parse an integer as Java's ``Byte.parseByte`` and the like; None where Java throws NumberFormatException."""
    digits = text.lstrip("+-").lstrip("0")
    if not _INTEGER.fullmatch(text) or len(digits) > _MOST_DIGITS:  # Python's int refuses more than 4,300
        return None
    number = int(digits or "0") * (-1 if text.startswith("-") else 1)
    return number if -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def parsed_float(text: str, bits: int) -> float | None:
    """Parse a number as Java's ``Float.parseFloat`` or ``Double.parseDouble``; None where Java throws."""
    text = text.strip(_BLANKS)
    if match := _DECIMAL.fullmatch(text):
        sign, word, digits = match.groups()
        value = float(word) if word else nearest_float(digits, bits)
    elif (match := _HEXADECIMAL.fullmatch(text)) and (match[2] or match[3]):
        sign = match[1]
        digits = (match[2] + match[3]).lstrip("0")
        kept = _sticky(digits)
        exponent = _parse_bounded(match[4], _MOST_PLACES) - 4 * len(match[3]) + 4 * (len(digits) - len(kept))
        exponent = max(-_MOST_EXPONENT, min(_MOST_EXPONENT, exponent))
        value = rounded(Fraction(int(kept or "0", 16)) * (Fraction(2) ** exponent), bits)
    else:
        return None
    return -value if sign == "-" else value


def nearest_float(digits: str, bits: int) -> float:
    """Return the float of `bits` bits nearest to a decimal text without a sign."""
    double = float(digits)
    if bits == 64 or double == 0 or not np.isfinite(double):
        return double
    _, kept, exponent = Decimal(digits).as_tuple()
    short = _sticky("".join(map(str, kept)))
    return rounded(Fraction(Decimal(f"{short}E{int(exponent) + len(kept) - len(short)}")), bits)


def _sticky(digits: str) -> str:
    """Shorten a number's digits without a change of the float to which it rounds.

    The first digits are followed by a 1 if any later digit is not zero. Arithmetic on the short number is fast.
    """
    return digits[:_MOST_DIGITS] + ("1" if digits[_MOST_DIGITS:].strip("0") else "")


def _parse_bounded(text: str, most: int) -> int:
    """Parse an integer of any length, limited to the range from -`most` to `most`.

    Python's int refuses more than 4,300 digits.
    """
    digits = text.lstrip("+-").lstrip("0")
    number = int(digits or "0") if len(digits) < 19 else most
    return -min(number, most) if text.startswith("-") else min(number, most)


def rounded(exact: Fraction, bits: int) -> float:
    """Round an exact fraction once to the nearest float of 32 or 64 bits, half to even."""
    try:
        double = exact.numerator / exact.denominator
    except OverflowError:
        return float("-inf") if exact < 0 else float("inf")
    if bits == 64:
        return double
    with np.errstate(over="ignore"):
        near = np.float32(double)
    if not np.isfinite(near):
        return float(near)
    around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    finite = [float(neighbour) for neighbour in around if np.isfinite(neighbour)]
    best = min(abs(Fraction(neighbour) - exact) for neighbour in finite)
    ties = [neighbour for neighbour in finite if abs(Fraction(neighbour) - exact) == best]
    return ties[0] if len(ties) == 1 else float(near)
