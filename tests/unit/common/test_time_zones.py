"""Midnights in time zones: equal to Python's dates, also after 2037, and beyond them as 400 years before."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.common.time_zones import DAY_MS, days_of, epoch_offset_ms, midnights

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kolkata", "Pacific/Kiritimati"]
CYCLE = 146_097


def midnight(day: datetime.date, zone: str) -> int:
    return round((datetime.datetime.combine(day, datetime.time(), ZoneInfo(zone)) - EPOCH) / datetime.timedelta(milliseconds=1))


@given(st.lists(st.dates(datetime.date(2, 1, 1), datetime.date(9999, 12, 30)), max_size=5), st.sampled_from(ZONES))
def test_midnights_are_those_of_dates_and_found_again(dates: list[datetime.date], zone: str) -> None:
    days = np.array([(one - EPOCH.date()).days for one in dates], np.int64)
    found = midnights(days, zone)
    assert found.tolist() == [midnight(one, zone) for one in dates]
    again, begins = days_of(found, zone)
    assert begins.all()
    # Apia had no 2011-12-30: it began when the next day did
    assert all(one in (day, day - 1) for one, day in zip(again.tolist(), days.tolist(), strict=True))
    _, begins = days_of(found + 1, zone)
    assert not begins.any()


@pytest.mark.parametrize("zone", ZONES)
def test_beyond_pythons_dates(zone: str) -> None:
    days = np.array([2**31 - 1, 3_000_000, -(2**31)], np.int32)
    found = midnights(days, zone)
    inside = (days.astype(np.int64) - 2_932_890) % CYCLE + 2_932_890 - CYCLE  # the same day within the last 400 years of dates
    assert (found - days.astype(np.int64) * DAY_MS)[:2].tolist() == (midnights(inside, zone) - inside * DAY_MS)[:2].tolist()
    again, begins = days_of(found, zone)
    assert (again.tolist(), bool(begins.all())) == (days.tolist(), True)


def test_the_offset_of_a_time_of_day() -> None:
    assert [epoch_offset_ms(zone) for zone in ZONES[:3]] == [0, 3_600_000, -18_000_000]
