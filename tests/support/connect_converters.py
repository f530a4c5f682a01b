"""Kafka's own converters in a Java process, through tests/java/ConnectConverters.java."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.java_caches import compile_java
from tests.support.waiting import DEADLINE_S

_SOURCE = Path(__file__).parents[1] / "java" / "ConnectConverters.java"


class Refused(Exception):
    """A DataException of Kafka Connect, with the messages of its causes."""


class ConnectConverters:
    """Converts single values with any class of Kafka Connect.

    :param jars: folder of the jars of Kafka Connect.
    :param classes: an empty directory for the compiled classes.
    :param java: the program that runs them.
    """

    def __init__(self, jars: Path, classes: Path, java: str = "java") -> None:
        compile_java([_SOURCE], jars, classes)
        options = ["-Xmx256m", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Duser.timezone=UTC"]
        command = [java, *options, "-cp", f"{classes}:{jars}/*", "ConnectConverters"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def write(self, name: str, schema: dict[str, Any], value: Any, properties: Mapping[str, str] | None = None) -> bytes | None:
        """Bytes of a value (see tests/support/connect_json.py: connect_schema, connect_value); raises Refused."""
        answer = self._ask([name, dict(properties or {}), "write", schema, value])
        return None if answer is None else base64.b64decode(answer)

    def read(self, name: str, data: bytes | None, properties: Mapping[str, str] | None = None) -> tuple[str, bool, str | None]:
        """Type, whether it is optional and value in exact form; raises Refused."""
        text = None if data is None else base64.b64encode(data).decode()
        kind, optional, value = self._ask([name, dict(properties or {}), "read", text])
        return kind, optional, value

    def written_header(self, name: str, schema: dict[str, Any], value: Any) -> bytes | None:
        """Bytes of a header's value, like :meth:`write`."""
        answer = self._ask([name, {}, "write header", schema, value])
        return None if answer is None else base64.b64decode(answer)

    def header(self, name: str, data: bytes) -> tuple[Any, Any]:
        """Schema and value of a header, as ConnectConverters.java describes them."""
        schema, value = self._ask([name, {}, "read header", base64.b64encode(data).decode()])
        return schema, value

    def _ask(self, request: list[Any]) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"ConnectConverters ended at {request}"
        answer = json.loads(line)
        if isinstance(answer, dict):
            raise Refused(answer["error"])
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=DEADLINE_S)
