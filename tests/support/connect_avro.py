"""An independent form of Confluent's AvroData in a Java process, through tests/java/ConnectAvro.java."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.java_programs import JavaProgram


class Answer(NamedTuple):
    """What AvroData makes of a value, and the envelope of what it reads from ours."""

    schema: str
    body: bytes
    read: bytes


class ConnectAvro:
    """The peer.

    :param jars: folders of the jars of the converter and of Kafka Connect.
    :param classes: an empty directory for the compiled classes.
    :param properties: of AvroDataConfig, as name=value.
    """

    def __init__(self, jars: Sequence[Path], classes: Path, *properties: str) -> None:
        self._java = JavaProgram("ConnectAvro", jars, classes, properties)
        self.close = self._java.close

    def ask(self, envelope: bytes, schema: str, body: bytes) -> Answer:
        """The answer for one value; AssertionError with the peer's error."""
        request = {"envelope": base64.b64encode(envelope).decode(), "schema": schema, "body": base64.b64encode(body).decode()}
        found = self._java.ask(request)
        assert "error" not in found, f"{found['error']} at {envelope!r}"
        return Answer(found["schema"], base64.b64decode(found["body"]), base64.b64decode(found["read"]))
