"""Removal of the common first bytes of a topic's values, such as the schema repeated in JSON with schemas.

A fetch is cut as soon as it is copied, so that the heads need no memory in a batch and are not copied again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow.compute as pc

from .records import MOST_BYTES, Consumed

HeadOf = Callable[[str, bytes], bytes]
"""Function from a topic and one value to the first bytes that the topic's values probably share; may be empty."""


class ValueHeads:
    """Remover of the first bytes that a topic's values share, to save memory; for one thread only.

    :param head_of: function that finds a value's head; called if a topic's values begin with other bytes than before.
    """

    def __init__(self, head_of: HeadOf) -> None:
        self._head_of = head_of
        self._heads: dict[str, bytes] = {}

    def cut(self, part: Consumed) -> Consumed:
        """Return the records with the common head removed from their values; unchanged if a value begins otherwise.

        Tombstones have no values, so records without other values fit any head.
        """
        head = self._heads.get(part.topic, b"")
        first = next((value.as_py() for value in part.values if value.is_valid), None)
        if first is None:
            return replace(part, head=head)
        if not head or not first.startswith(head):
            head = self._heads[part.topic] = self._head_of(part.topic, first)
        if not head or not pc.all(pc.starts_with(part.values, head)).as_py():  # nulls are ignored
            return part
        return replace(part, values=pc.binary_slice(part.values, len(head), MOST_BYTES), head=head)
