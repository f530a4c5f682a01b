"""Cuts from values the bytes that all of them begin with, such as the schema that each record of JSON with schemas repeats.

A fetch is cut as soon as it is copied: what is not kept needs no memory in a batch and is not copied again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow.compute as pc

from .records import MOST_BYTES, Consumed

HeadOf = Callable[[str, bytes], bytes]
"""From a topic and one of its values to the bytes that its other values probably begin with; empty: none."""


class ValueHeads:
    """Cuts fetches. For one thread.

    :param head_of: finds the head of a value; called when values of a topic begin otherwise than before.
    """

    def __init__(self, head_of: HeadOf) -> None:
        self._head_of = head_of
        self._heads: dict[str, bytes] = {}

    def cut(self, part: Consumed) -> Consumed:
        """The records with their values' common head cut; as they are if a value has another one.

        Tombstones have no values: records that all are tombstones fit to any head.
        """
        head = self._heads.get(part.topic, b"")
        first = next((value.as_py() for value in part.values if value.is_valid), None)
        if first is None:
            return replace(part, head=head)
        if not head or not first.startswith(head):
            head = self._heads[part.topic] = self._head_of(part.topic, first)
        if not head or not pc.all(pc.starts_with(part.values, head)).as_py():  # nulls do not count
            return part
        return replace(part, values=pc.binary_slice(part.values, len(head), MOST_BYTES), head=head)
