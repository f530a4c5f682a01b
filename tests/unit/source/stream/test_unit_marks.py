"""Reasons for which partitions are sent again."""

from __future__ import annotations

import pytest

from ignite_kafka.ignite.backlog_units import ASKED, GIVEN_UP, GONE, LOST, MISSED
from ignite_kafka.source.stream.unit_marks import TOO_MUCH, mark_reason


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        ([GIVEN_UP], ["given up because region or buffer was full"]),
        ([MISSED, LOST], ["missed while nothing captured", "lost with their backlog"]),
        ([MISSED | TOO_MUCH, MISSED], ["missed while nothing captured", "too many to be read at once where one of them was in doubt"]),
        ([ASKED, GONE], ["put aside, because a user asked for a reload"]),
    ],
)
def test_each_mark_of_any_unit_is_named_once(marks: list[int], words: list[str]) -> None:
    assert mark_reason(marks) == " or ".join(words)


def test_units_that_were_read_before_a_node_left_have_no_bit_and_a_reason() -> None:
    assert mark_reason([0, 0]).startswith("perhaps undone, because a node left")
