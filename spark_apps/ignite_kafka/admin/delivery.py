"""Delivery of a sink's newest run, for the views of its status."""

from __future__ import annotations

from dataclasses import dataclass

from ..settings.sink import CONVERGING, STRICT
from ..state.configs import ConnectorRecord

LATE_PUTS = "a put of a task that was superseded may come late and stay until the next record of its key"


@dataclass(frozen=True)
class SinkDelivery:
    """Delivery of a sink.

    :param mode: value of the setting ``delivery``.
    :param not_promised: what the mode leaves open; empty for a sink that is strict, or overwrites no entry.
    """

    mode: str
    not_promised: str = ""


def delivery_of(record: ConnectorRecord | None) -> SinkDelivery | None:
    """Return the delivery of a connector's newest run; None for a source, and before the first run."""
    if record is None or record.is_source:
        return None
    if record.settings.get("delivery") == STRICT:
        return SinkDelivery(STRICT)
    return SinkDelivery(CONVERGING, LATE_PUTS if record.settings.get("process_updates") else "")
