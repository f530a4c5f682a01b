"""Checks for the Java required by Spark, whose own message does not name the missing program."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from ..errors import SettingsError
from .spark_conf import configured
from .spark_versions import VERSION

_OLDEST = 17 if VERSION >= (4, 0) else 11  # Spark 3.5 takes 8, too, which was never run
_INSTALL = (
    f"Install Java {_OLDEST} or newer (Debian: openjdk-17-jre-headless), or set JAVA_HOME to the folder that has its "
    "bin/java"
)
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


def require_java(environment: Mapping[str, str] = os.environ) -> None:
    """Check that Spark will find a new enough Java, in JAVA_HOME or else in PATH.

    :raises SettingsError: Java is missing or too old; the message names the places searched.
    """
    if configured(environment, "spark-env.sh"):  # it may set JAVA_HOME
        return
    home = environment.get("JAVA_HOME")
    if home:
        java = Path(home, "bin", "java")
        if not os.access(java, os.X_OK):
            what = f"Spark needs Java, and JAVA_HOME is not the folder of one: {java} is no program"
            raise SettingsError(what, f"{_INSTALL}; unset it to take the java of PATH", JAVA_HOME=home)
    else:
        executable = shutil.which("java", path=environment.get("PATH"))
        if executable is None:
            what = "Spark needs Java, and there is none: JAVA_HOME is not set, and no folder of PATH has a program java"
            raise SettingsError(what, _INSTALL, PATH=environment.get("PATH", ""))
        java = Path(executable)
    version = _version(java)
    if version is not None and version < _OLDEST:
        raise SettingsError(
            f"Spark needs Java {_OLDEST} or newer, and this is Java {version}", _INSTALL, java=java, JAVA_HOME=home
        )


def _version(java: Path) -> int | None:
    """Read Java's major version from the installation's file `release`; None without the file."""
    release = Path(os.path.realpath(java)).parent.parent / "release"
    try:
        match = _VERSION.search(release.read_text())
    except OSError:
        return None
    return int(match[1]) if match else None
