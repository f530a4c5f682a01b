"""An independent form of Confluent's AvroData in a Java process, through tests/java/ConnectAvro.java."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.support.waiting import DEADLINE_S

JAVA_SOURCE = Path(__file__).parent.parent / "java" / "ConnectAvro.java"


class Answer(NamedTuple):
    """What AvroData makes of a value, and the envelope of what it reads from ours."""

    schema: str
    body: bytes
    read: bytes


class ConnectAvro:
    """The peer.

    :param jars: class path of the converter and of Kafka Connect.
    :param classes: an empty directory for the compiled class.
    :param properties: of AvroDataConfig, as name=value.
    """

    def __init__(self, jars: str, classes: Path, *properties: str) -> None:
        subprocess.run(["javac", "-encoding", "UTF-8", "-cp", jars, "-d", str(classes), str(JAVA_SOURCE)], check=True)
        command = ["java", "-Xmx256m", "-cp", f"{classes}:{jars}", "-Dfile.encoding=UTF-8", "ConnectAvro", *properties]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, envelope: bytes, schema: str, body: bytes) -> Answer:
        """The answer for one value; AssertionError with the peer's error."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(b"\t".join([envelope, schema.encode(), base64.b64encode(body)]) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"ConnectAvro ended at {envelope!r}"
        found = json.loads(line)
        assert "error" not in found, f"{found['error']} at {envelope!r}"
        return Answer(found["schema"], base64.b64decode(found["body"]), base64.b64decode(found["read"]))

    def close(self) -> None:
        self._process.communicate(timeout=DEADLINE_S)
