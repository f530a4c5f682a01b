"""Names of a connector's internal topics, and the transactional ids of its producers."""

from __future__ import annotations


def configs_topic(prefix: str) -> str:
    """Return the name of the configs topic, shared by all connectors of a prefix."""
    return f"{prefix}-configs"


def offsets_topic(prefix: str, connector: str) -> str:
    """Return the name of a connector's offsets topic."""
    return f"{prefix}-offsets-{connector}"


def status_topic(prefix: str) -> str:
    """Return the name of the status topic, shared by all connectors of a prefix."""
    return f"{prefix}-status"


def comparisons_topic(prefix: str) -> str:
    """Return the name of the comparisons topic, shared by all connectors of a prefix."""
    return f"{prefix}-comparisons"


def heartbeats_topic(prefix: str) -> str:
    """Return the name of the topic of heartbeats, shared by all connectors of a prefix."""
    return f"{prefix}-heartbeats"


def slot_transactional_id(connector: str, slot: int) -> str:
    """Return the transactional id of a slot's producer."""
    return f"{connector}-{slot}"


def control_transactional_id(connector: str) -> str:
    """Return the transactional id of the driver's producer, which writes the configs topic."""
    return f"{connector}-control"


def repair_transactional_id(connector: str, number: int) -> str:
    """Return the transactional id of a repair's producer with the given number."""
    return f"{connector}-repair-{number}"
