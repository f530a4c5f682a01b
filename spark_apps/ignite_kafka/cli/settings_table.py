"""The settings that `validate` shows."""

from __future__ import annotations

import json

from ..settings.connector import ConnectorSettings
from ..settings.findings import PROVIDED
from .tables import table

# the default is a cluster of this machine, which is often not intended
_ALWAYS_SHOWN = (
    "ignite_addresses",
    "bootstrap_servers",
)


def shown_settings(settings: ConnectorSettings) -> list[str]:
    """Names of the settings that differ from their defaults, and of the clusters' addresses."""
    defaults = settings.defaults()
    return [
        name for name in settings.definitions() if name in _ALWAYS_SHOWN or getattr(settings, name) != defaults[name]
    ]


def settings_table(settings: ConnectorSettings) -> str:
    """Values of these settings and where each was set; a value that a config provider gave is hidden."""
    values = settings.to_dict()
    rows = []
    for name in shown_settings(settings):
        set_in = settings.origin.get(name, "default")
        rows.append((name, "(hidden)" if set_in.endswith(PROVIDED) else json.dumps(values[name]), set_in))
    return table(("setting", "value", "set in"), rows)


def run_end(settings: ConnectorSettings) -> str:
    """Whether a run ends by itself: by default it does, and a connector of Kafka Connect never."""
    if settings.run_mode == "continuous":
        return "run_mode is continuous: a run follows changes until it is stopped"
    return "run_mode is once: a run ends when it has copied what it found; a continuous one follows changes, as in Kafka Connect"
