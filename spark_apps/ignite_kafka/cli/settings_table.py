"""Settings with their origin, as shown by `validate`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..settings.connector import ConnectorSettings
from ..settings.findings import PROVIDED
from .tables import table

# their defaults are addresses of this machine, which are often not intended
_ALWAYS_SHOWN = ("ignite_addresses", "bootstrap_servers")
HIDDEN = "(hidden)"
"""Shown instead of a value that a config provider gave."""


@dataclass(frozen=True)
class ShownSetting:
    """Value of a setting, and the place that sets it; the value of a config provider is hidden."""

    value: Any
    set_in: str


def list_shown_settings(settings: ConnectorSettings) -> list[str]:
    """Return the names of settings that differ from their defaults, and of the clusters' addresses."""
    defaults = settings.defaults()
    return [
        name for name in settings.definitions() if name in _ALWAYS_SHOWN or getattr(settings, name) != defaults[name]
    ]


def show_settings(settings: ConnectorSettings) -> dict[str, ShownSetting]:
    """Return the settings that differ from their defaults, and the clusters' addresses, with their origin."""
    values = settings.to_dict()
    shown = {}
    for name in list_shown_settings(settings):
        set_in = settings.origin.get(name, "default")
        shown[name] = ShownSetting(HIDDEN if set_in.endswith(PROVIDED) else values[name], set_in)
    return shown


def settings_table(settings: ConnectorSettings) -> str:
    """Return a table of the shown settings with value and origin; hide values of config providers."""
    rows = [
        (name, HIDDEN if shown.value == HIDDEN else json.dumps(shown.value), shown.set_in)
        for name, shown in show_settings(settings).items()
    ]
    return table(("setting", "value", "set in"), rows)


def describe_run_end(settings: ConnectorSettings) -> str:
    """Return a line that says whether a run ends by itself, unlike a connector of Kafka Connect."""
    if settings.run_mode == "continuous":
        return "run_mode is continuous: a run follows changes until it is stopped"
    once = "run_mode is once: a run ends when it has copied what it found"
    return f"{once}; a continuous one follows changes, as in Kafka Connect"
