"""Times as texts in the syntax of SimpleDateFormat."""

from __future__ import annotations

import numpy as np
import pytest

from ignite_kafka.java.date_format import formatted, parts_of

TIME = 1_706_745_599_123  # Wednesday, 2024-01-31T23:59:59.123Z


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [("yyyy-MM-dd'T'HH:mm:ss.SSSX", "2024-01-31T23:59:59.123Z"), ("EEE, d MMM yy h:mm a z", "Wed, 31 Jan 24 11:59 PM UTC"),
     ("''yyyyy 'o''clock'", "'02024 o'clock"), ("D u k K Z", "31 3 23 11 +0000"), ("", "")],
)  # fmt: skip
def test_a_time_is_written(pattern: str, wanted: str) -> None:
    assert formatted(np.array([TIME]), parts_of(pattern)).to_pylist() == [wanted]


def test_days_before_1582_are_julian() -> None:
    times = np.array([-12_219_292_800_000, -12_219_292_800_001])
    assert formatted(times, parts_of("yyyy-MM-dd")).to_pylist() == ["1582-10-15", "1582-10-04"]


@pytest.mark.parametrize("pattern", ["w", "Y", "b", "XXXX", "'a"])
def test_other_formats_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"not supported|no other|three times"):
        parts_of(pattern)
