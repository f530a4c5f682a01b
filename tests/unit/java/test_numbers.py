"""Java's conversions of numbers and texts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ignite_kafka.java.numbers import narrowed, parsed_float, parsed_integer, rounded, wrapped


def test_integers_wrap_and_floats_are_bounded() -> None:
    assert narrowed(np.array([300, -129]), np.dtype(np.int8)).tolist() == [44, 127]
    assert narrowed(np.array([1e30, -1e30, np.nan, -1.9]), np.dtype(np.int32)).tolist() == [2**31 - 1, -(2**31), 0, -1]
    assert narrowed(np.array([1e30, 70_000.0]), np.dtype(np.int16)).tolist() == [-1, 4_464]
    assert [wrapped(number, 8) for number in (127, 128, -129)] == [127, -128, 127]


@pytest.mark.parametrize(("text", "wanted"), [("7", 7), ("+7", 7), ("-128", -128), ("128", None), ("\u0663", 3), ("", None), ("+", None)])
def test_texts_of_integers(text: str, wanted: int | None) -> None:
    assert parsed_integer(text, 8) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(" 1.5 ", 1.5), ("1f", 1.0), ("-.5D", -0.5), ("5.", 5.0), ("0x1.8p1", 3.0), ("-Infinity", -math.inf), ("1e400", math.inf),
     ("nan", None), ("0x1", None), ("", None), ("1_0", None), (".", None)],
)  # fmt: skip
def test_texts_of_floats(text: str, wanted: float | None) -> None:
    assert parsed_float(text, 64) == wanted


def test_a_float_is_rounded_once() -> None:
    between = Fraction(16_777_217) + Fraction(1, 2**40)  # a double in between is a tie, which would go down
    assert rounded(between, 32) == 16_777_218.0
    assert parsed_float("16777217.0000000001", 32) == 16_777_218.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1" * 1_000_000 + "x", None),
        ("0." + "1" * 1_000_000, 0.1111111119389534),
        ("1.00000005960464477539062" + "5" + "0" * 1_000_000, 1.0),  # halfway: to the even one
        ("1.00000005960464477539062" + "5" + "0" * 1_000_000 + "1", 1.0000001192092896),
        ("0x" + "f" * 1_000_000 + "p-4000000", 1.0),
        ("0x0." + "0" * 1_000_000 + "1p4000004", 1.0),
        ("0x1p" + "9" * 5_000, float("inf")),
        ("0x1p-" + "9" * 5_000, 0.0),
    ],
)
def test_texts_of_many_digits(text: str, value: float | None) -> None:
    assert parsed_float(text, 32) == value


def test_integers_of_many_digits() -> None:
    assert parsed_integer("1" * 5_000, 64) is None
    assert parsed_integer("-" + "0" * 5_000 + "7", 8) == -7
