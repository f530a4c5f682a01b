"""Jars of the real servers, and command lines of Java programs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
WORK = CHECKOUT / ".work"

_OPENED_PACKAGES = {
    "java.base": (
        "java.io",
        "java.lang",
        "java.lang.invoke",
        "java.lang.reflect",
        "java.math",
        "java.net",
        "java.nio",
        "java.text",
        "java.time",
        "java.util",
        "java.util.concurrent",
        "java.util.concurrent.atomic",
        "java.util.concurrent.locks",
        "jdk.internal.access",
        "jdk.internal.misc",
        "sun.nio.ch",
        "sun.reflect.generics.reflectiveObjects",
        "sun.util.calendar",
    ),
    "java.desktop": ("java.awt.font",),
    "java.management": (
        "com.sun.jmx.mbeanserver",
        "sun.management",
    ),
    "java.sql": ("java.sql",),
    "jdk.internal.jvmstat": ("sun.jvmstat.monitor",),
    "jdk.management": ("com.sun.management.internal",),
}
# packages that Ignite 2 accesses by reflection on Java 17
IGNITE_JAVA_OPTIONS = tuple(
    f"--add-opens={module}/{package}=ALL-UNNAMED" for module, packages in _OPENED_PACKAGES.items() for package in packages
)


class MissingJars(Exception):
    """Java or the jars of a server are missing; the message has the remedy."""


@dataclass(frozen=True)
class Jars:
    """Folders of the jars of an Ignite node, a Kafka broker (with Connect), the backlog service for Ignite nodes, and a schema registry.

    :param converter: of the Avro converter that tests compare with; it needs the jars of Kafka.
    """

    ignite: Path
    kafka: Path
    backlog: Path
    registry: Path
    converter: Path

    @classmethod
    def of_checkout(cls) -> Jars:
        """Return the folders that ``make jars`` fills under ``.work/jars``.

        :raises MissingJars: a folder or Java is missing.
        """
        jars = cls(*(WORK / "jars" / field.name for field in fields(cls)))
        for folder in (getattr(jars, field.name) for field in fields(cls)):
            if not any(folder.glob("*.jar")):
                raise MissingJars(f"no jars in {folder}: run `make jars`")
        if shutil.which("java") is None:
            raise MissingJars("java is not on the path: install a Java 17 runtime")
        return jars


def class_path(*places: Path) -> str:
    """Return the class path of jar files, class folders, and folders of jars."""
    return ":".join(f"{place}/*" if place.is_dir() and any(place.glob("*.jar")) else str(place) for place in places)


def java_command(main: str, arguments: Sequence[str | Path], places: Sequence[Path], options: Sequence[str] = ()) -> list[str]:
    """Return the command line of a Java program."""
    return ["java", *options, "-cp", class_path(*places), main, *(str(argument) for argument in arguments)]
