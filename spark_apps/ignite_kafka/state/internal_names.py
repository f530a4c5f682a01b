"""Names of a connector's internal topics, and the transactional ids of its producers."""

from __future__ import annotations


def configs_topic(prefix: str) -> str:
    """Name of the configs topic."""
    return f"{prefix}-configs"


def offsets_topic(prefix: str, connector: str) -> str:
    """Name of a connector's offsets topic."""
    return f"{prefix}-offsets-{connector}"


def status_topic(prefix: str) -> str:
    """Name of the status topic."""
    return f"{prefix}-status"


def slot_transactional_id(connector: str, slot: int) -> str:
    """Return the transactional id of a slot."""
    return f"{connector}-{slot}"


def control_transactional_id(connector: str) -> str:
    """Return the transactional id of the driver, which writes the configs topic."""
    return f"{connector}-control"


def repair_transactional_id(connector: str, number: int) -> str:
    """Return the transactional id of a producer of a repair."""
    return f"{connector}-repair-{number}"
