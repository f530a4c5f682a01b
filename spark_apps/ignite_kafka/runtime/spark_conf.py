"""Lookup of PySpark and of Spark's configuration files, in the folders where Spark's start script looks."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path

from ..errors import SettingsError


def require_pyspark() -> None:
    """Check that PySpark is installed, before a command starts a run.

    :raises SettingsError: PySpark is not installed.
    """
    if importlib.util.find_spec("pyspark") is None:
        what = f"a run needs PySpark, which is not installed in {sys.prefix}"
        raise SettingsError(
            what, "Install the wheel with its dependencies (docs/deploy.md), or `pip install 'pyspark>=3.5.2,<4.3'`"
        )


def configured(environment: Mapping[str, str], name: str) -> bool:
    """Return whether the user configured Spark with the file ``name``, such as spark-env.sh.

    In SPARK_CONF_DIR, else in SPARK_HOME, else in pip's PySpark.
    """
    folder = environment.get("SPARK_CONF_DIR")
    home = environment.get("SPARK_HOME")
    if folder:
        return Path(folder, name).exists()
    if home:
        return Path(home, "conf", name).exists()
    package = importlib.util.find_spec("pyspark")
    return package is not None and package.origin is not None and (Path(package.origin).parent / "conf" / name).exists()
