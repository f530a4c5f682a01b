"""Table of settings, as shown by `validate`."""

from __future__ import annotations

import json

from ..settings.connector import ConnectorSettings
from ..settings.findings import PROVIDED
from .tables import table

# their defaults are addresses of this machine, which are often not intended
_ALWAYS_SHOWN = ("ignite_addresses", "bootstrap_servers")


def list_shown_settings(settings: ConnectorSettings) -> list[str]:
    """Return the names of settings that differ from their defaults, and of the clusters' addresses."""
    defaults = settings.defaults()
    return [
        name for name in settings.definitions() if name in _ALWAYS_SHOWN or getattr(settings, name) != defaults[name]
    ]


def settings_table(settings: ConnectorSettings) -> str:
    """Return a table of the shown settings with value and origin; hide values of config providers."""
    values = settings.to_dict()
    rows = []
    for name in list_shown_settings(settings):
        set_in = settings.origin.get(name, "default")
        rows.append((name, "(hidden)" if set_in.endswith(PROVIDED) else json.dumps(values[name]), set_in))
    return table(("setting", "value", "set in"), rows)


def describe_run_end(settings: ConnectorSettings) -> str:
    """Return a line that says whether a run ends by itself, unlike a connector of Kafka Connect."""
    if settings.run_mode == "continuous":
        return "run_mode is continuous: a run follows changes until it is stopped"
    once = "run_mode is once: a run ends when it has copied what it found"
    return f"{once}; a continuous one follows changes, as in Kafka Connect"
