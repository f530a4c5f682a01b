"""Paths of the Spark apps' Python files, which are installed beside the library."""

from __future__ import annotations

from pathlib import Path

import ignite_kafka
from ignite_kafka.errors import SettingsError


def app_path(name: str) -> Path:
    """Find the installed Python file of a Spark app, the file that spark-submit runs.

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
