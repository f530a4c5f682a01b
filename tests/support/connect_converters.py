"""Kafka's own converters in a Java process, through tests/java/ConnectConverters.java."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.java_programs import JavaProgram

JSON = "org.apache.kafka.connect.json.JsonConverter"


class Refused(Exception):
    """An exception of Kafka Connect, with the messages of its causes."""


class ConnectConverters:
    """Converts single values, or values of headers, with any class of Kafka Connect.

    Schemas and values have the form of :mod:`tests.support.connect_data`.

    :param jars: folder of the jars of Kafka Connect.
    :param classes: an empty directory for the compiled classes.
    :param java: the program that runs them.
    """

    def __init__(self, jars: Path, classes: Path, java: str = "java") -> None:
        self._java = JavaProgram("ConnectConverters", [jars], classes, java=java)
        self.close = self._java.close

    def write(self, name: str, schema: dict[str, Any] | None, value: Any, properties: Mapping[str, str] | None = None) -> bytes | None:
        """Bytes of a value by the converter of a class; raises Refused."""
        written = self._ask(name, properties, schema=schema, value=value)["bytes"]
        return None if written is None else base64.b64decode(written)

    def read(self, name: str, data: bytes | None, properties: Mapping[str, str] | None = None) -> tuple[Any, Any]:
        """Schema and value of bytes by the converter of a class; raises Refused."""
        found = self._ask(name, properties, bytes=None if data is None else base64.b64encode(data).decode())
        return found["schema"], found["value"]

    def _ask(self, name: str, properties: Mapping[str, str] | None, **more: Any) -> dict[str, Any]:
        answer = self._java.ask({"class": name, "properties": dict(properties or {}), **more})
        if "error" in answer:
            raise Refused(answer["error"])
        return answer
