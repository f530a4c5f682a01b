"""Texts for messages about why the changes of marked units were not sent, so that the units are loaded again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...ignite.backlog_units import ASKED, GIVEN_UP, LOST, MISSED

TOO_MUCH = 1 << 16
"""A mark besides the service's: one of the unit's changes is in doubt, and the unit has too many to read at once."""

_REASONS: Mapping[int, str] = {
    GIVEN_UP: "given up because region or buffer was full",
    MISSED: "missed while nothing captured",
    LOST: "lost with their backlog",
    TOO_MUCH: "too many to be read at once where one of them was in doubt",
    ASKED: "put aside, because a user asked for a reload",
}

_NODE_LEFT = "perhaps undone, because a node left soon after their entries were read"
"""Reason of units without a bit: :class:`.node_watch.NodeWatch` has marked them."""


def mark_reason(marks: Iterable[int]) -> str:
    """Describe the fate of marked units' changes, as the end of a message with 'changes were'.

    :param marks: bits of the mark of each unit.
    """
    every = 0
    for bits in marks:
        every |= bits
    return " or ".join(text for bit, text in _REASONS.items() if every & bit) or _NODE_LEFT
