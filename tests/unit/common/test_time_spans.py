"""Time spans are read and written as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.common.time_spans import MOST_MS, format_span, parse_span


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("7d", 604_800_000),
        ("12 h", 43_200_000),
        ("1.5h", 5_400_000),
        ("30min", 1_800_000),
        ("60s", 60_000),
        ("250ms", 250),
        ("2w", 1_209_600_000),
        ("0s", 0),
    ],
)
def test_spans_are_read(text: str, milliseconds: int) -> None:
    assert parse_span(text) == milliseconds


@pytest.mark.parametrize("text", ["", "7", "d", "7 days", "-1d", "1e3s", "7d2h", "9999999999999s", "101000d", "٧d"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time span|longer than 100 years"):
        parse_span(text)


@given(st.integers(0, MOST_MS))
def test_what_is_shown_is_about_the_span(milliseconds: int) -> None:
    assert abs(parse_span(format_span(milliseconds)) - milliseconds) <= milliseconds / 100


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "0 s"), (400, "0.4 s"), (86_400_000, "1 d"), (129_600_000, "36 h"), (604_800_000, "7 d")]
)
def test_spans_are_shown_in_the_largest_unit(milliseconds: int, text: str) -> None:
    assert format_span(milliseconds) == text
