"""Claim of a slot by a task of a run."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.slots import Owner
from .internal_names import offsets_topic


@dataclass(frozen=True)
class SlotClaim:
    """Slot to open, with the run and attempt that open it, and the topic of its offset records.

    :param end: end of the slot's offsets when the driver claimed it for a new snapshot; while it has not moved, no unit
        is done and the offsets need not be read. None: they are read.
    """

    connector: str
    slot: int
    owner: Owner
    offsets_topic: str
    end: int | None = None

    @staticmethod
    def of(connector: str, slot: int, owner: Owner, prefix: str, end: int | None = None) -> SlotClaim:
        """Make the claim of a connector's slot; `prefix` is the prefix of internal topics."""
        return SlotClaim(connector, slot, owner, offsets_topic(prefix, connector), end)
