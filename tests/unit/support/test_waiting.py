"""Waits of the tests end with the first value, or with an error that names the condition."""

from __future__ import annotations

import pytest

from tests.support.waiting import wait_until


def test_the_first_value_is_returned() -> None:
    values = iter([None, False, 0])
    assert wait_until(lambda: next(values), "a value", poll_s=0) == 0


def test_the_error_names_the_condition() -> None:
    with pytest.raises(TimeoutError, match="a value: not within 0 s"):
        wait_until(lambda: None, "a value", deadline_s=0)


def test_errors_of_the_probe_are_raised_at_once() -> None:
    with pytest.raises(ZeroDivisionError):
        wait_until(lambda: 1 / 0, "a value")
