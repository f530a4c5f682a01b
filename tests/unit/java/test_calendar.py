"""Dates before 1582-10-15 as Java shows them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.java.calendar import date_of, day_of


@pytest.mark.parametrize(
    ("day", "shown"),
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (-141_427, "1582-10-15"),
        (-141_428, "1582-10-04"),
        (-719_164, "0001-01-01"),  # java.sql.Date.valueOf("0001-01-01").getTime() / 86_400_000 in UTC
        (2_932_896, "9999-12-31"),
    ],
)
def test_days_as_java_shows_them(day: int, shown: str) -> None:
    date = datetime.date.fromisoformat(shown)
    assert date_of(day) == date
    assert day_of(date) == day


@given(st.integers(-719_164, 2_932_896))
def test_there_and_back(day: int) -> None:
    try:
        shown = date_of(day)
    except ValueError:  # a leap day of the Julian calendar alone, such as 29 February 1500
        assert (date_of(day - 1).month, date_of(day - 1).day) == (2, 28)
        return
    assert day_of(shown) == day


def test_before_the_year_1_there_is_no_date() -> None:
    with pytest.raises(ValueError, match="year"):
        date_of(-719_165)
