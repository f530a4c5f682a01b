"""Names that Python 3.10 lacks; `make matrix` runs these tests on it, where they see the replacements."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from ignite_kafka.common.python_compat import UTC, StrEnum, parse_time


class Letter(StrEnum):
    A = "a"


def test_members_of_a_text_enumeration_are_their_texts() -> None:
    assert Letter("a") is Letter.A
    assert (str(Letter.A), f"{Letter.A}", f"{Letter.A:>2}", "%s" % Letter.A) == ("a", "a", " a", "a")  # noqa: UP031


@pytest.mark.parametrize(
    "text", ["2025-01-31T12:00:00Z", "2025-01-31T12:00:00.000Z", "2025-01-31T14:00+02:00", "2025-01-31 12:00:00+00:00"]
)
def test_times_name_their_zone(text: str) -> None:
    assert parse_time(text) == datetime(2025, 1, 31, 12, tzinfo=UTC)
    assert parse_time("2025-01-31T12:00:00Z").utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", ["Z", "2025-01-31T12:00:00+00:00Z", "soon"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid isoformat string"):
        parse_time(text)
