"""Texts as times in the syntax of SimpleDateFormat."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from ignite_kafka.java.date_format import parts_of
from ignite_kafka.java.date_parse import time_parser

TODAY = datetime.date(2026, 11, 24)


def read(pattern: str, text: str) -> str | None:
    times, found = time_parser(parts_of(pattern), TODAY).parse(pa.array([text]))
    if not found[0].as_py():
        return None
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=int(times[0]))).isoformat()


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [("yyyy-MM-dd", "2024-01-31 and more", "2024-01-31T00:00:00"), ("yyyy-MM-dd", "2024-13-01", "2025-01-01T00:00:00"),
     ("yyyyMMdd", "20240131", "2024-01-31T00:00:00"), ("yyyyMMdd", "202413", None), ("yyyy-MM-dd", "x2024-01-31", None),
     ("d MMM yyyy h:mm a", "1 february 2024 12:05 am", "2024-02-01T00:05:00"),
     ("yyyy-MM-dd HH:mmX", "2024-01-31 01:00+02", "2024-01-30T23:00:00"),
     ("dd/MM/yy", "24/11/46", "1946-11-24T00:00:00"), ("dd/MM/yy", "23/11/46", "2046-11-23T00:00:00"),
     ("dd/MM/yy", "1/1/2024", "2024-01-01T00:00:00"),
     ("HH:mm", "1:30", "1970-01-01T01:30:00")],
)  # fmt: skip
def test_a_text_is_read(pattern: str, text: str, wanted: str | None) -> None:
    assert read(pattern, text) == wanted


@pytest.mark.parametrize("pattern", ["yyyy G", "D MM", "yyyy yyyy", "u"])
def test_texts_are_not_read_by_other_formats(pattern: str) -> None:
    with pytest.raises(ValueError, match="texts are not read"):
        time_parser(parts_of(pattern), TODAY)
