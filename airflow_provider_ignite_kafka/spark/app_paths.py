"""Paths of the Spark apps, which are beside the installed library, in a checkout as in site-packages."""

from __future__ import annotations

from pathlib import Path

import ignite_kafka
from ignite_kafka.errors import SettingsError


def app_path(name: str) -> Path:
    """Return the path of a Spark app.

    :raises SettingsError: the installation lacks the app.
    """
    assert ignite_kafka.__file__ is not None
    path = Path(ignite_kafka.__file__).resolve().parents[1] / name
    if not path.is_file():
        raise SettingsError(
            f"the Spark app {name} is not installed",
            "Install the wheel again, or name the app in `application`.",
            path=path,
        )
    return path
