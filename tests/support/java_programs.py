"""Programs of tests/java: compiled, and asked one request at a time."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import QUICK_JVM
from tests.support.waiting import DEADLINE_S
from tools.servers.jars import IGNITE_JAVA_OPTIONS, JAVA_11, java_of

SOURCES = Path(__file__).parents[1] / "java"
# options of programs with a client of Ignite
IGNITE_CLIENT_JVM = (*QUICK_JVM, *IGNITE_JAVA_OPTIONS)


def compile_java(sources: Sequence[Path], jars: Path, target: Path) -> None:
    """Compile programs of tests/java, and the classes of that folder that they use, against the jars of a folder."""
    _compile(sources, [jars], target)


def _compile(sources: Sequence[Path], jars: Sequence[Path], target: Path) -> None:
    quick = [f"-J{option}" for option in QUICK_JVM]
    class_path = ":".join(f"{folder}/*" for folder in jars)
    release = ["--release", "11"] if java_of(jars) == str(JAVA_11) else []
    options = [*quick, *release, "-encoding", "UTF-8", "-proc:none", "-sourcepath", str(SOURCES), "-cp", class_path, "-d", str(target)]
    subprocess.run(["javac", *options, *map(str, sources)], check=True)


class JavaProgram:
    """A Java process that answers requests (tests/java/Requests.java).

    :param name: class of tests/java with ``main``.
    :param jars: folders of the jars that it needs.
    :param classes: an empty directory for the compiled classes.
    :param arguments: of ``main``.
    :param java: the program that runs the classes; None: the one that the jars run on.
    :param options: additional Java options.
    """

    def __init__(
        self,
        name: str,
        jars: Sequence[Path],
        classes: Path,
        arguments: Sequence[str] = (),
        java: str | None = None,
        options: Sequence[str] = (),
    ) -> None:
        class_path = ":".join(f"{folder}/*" for folder in jars)
        _compile([SOURCES / f"{name}.java"], jars, classes)
        fixed = [*QUICK_JVM, "-Xmx256m", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Duser.timezone=UTC"]
        command = [java or java_of(jars), *fixed, *options, "-cp", f"{classes}:{class_path}", name, *arguments]
        self._name = name
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request; it has the member `error` if the request failed."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"{self._name} ended at {request}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=DEADLINE_S)
