"""A slot of a connector, and the run that claims it."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.slots import Owner
from .internal_names import offsets_topic


@dataclass(frozen=True)
class SlotClaim:
    """A slot and the run that claims it.

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
        """Return the claim of a slot of a connector whose internal topics have this prefix."""
        return SlotClaim(connector, slot, owner, offsets_topic(prefix, connector), end)
