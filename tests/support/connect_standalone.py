"""Kafka Connect in standalone mode from Kafka's own jars, and records read by a plain consumer."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer

from tests.support import QUICK_JVM
from tests.support.processes import ManagedProcess
from tests.support.waiting import wait_until
from tools.servers import Jars, KafkaBroker
from tools.servers.jars import java_command

JSON = "org.apache.kafka.connect.json.JsonConverter"
TRANSFORMS = "org.apache.kafka.connect.transforms"
_FILE = "org.apache.kafka.connect.file.FileStream{}Connector"


def write_properties(path: Path, values: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()), "utf-8")
    return path


@contextmanager
def connect_standalone(
    jars: Jars, kafka: KafkaBroker, place: Path, *connectors: Mapping[str, str], worker: Mapping[str, str] | None = None
) -> Iterator[ManagedProcess]:
    """Run Kafka Connect with the given connectors.

    :param worker: the worker's settings; None for keys and values in JSON with schemas, the converter's default.
    """
    settings = {
        **(worker or {"key.converter": JSON, "value.converter": JSON}),
        "bootstrap.servers": kafka.bootstrap, "listeners": "http://127.0.0.1:0", "offset.storage.file.filename": str(place / "offsets"),
        "offset.flush.interval.ms": "1000", "plugin.discovery": "hybrid_warn",
    }  # fmt: skip
    files = [write_properties(place / "worker.properties", settings)]
    files += [write_properties(place / f"{one['name']}.properties", one) for one in connectors]
    options = [*QUICK_JVM, "-Xmx256m", "-Duser.timezone=UTC"]
    command = java_command("org.apache.kafka.connect.cli.ConnectStandalone", [str(file) for file in files], [jars.kafka], options)
    process = ManagedProcess(command, place / "connect.log")
    try:
        yield process
    finally:
        process.stop()


def file_source(topic: str, file: Path, chain: Mapping[str, str], *, name: str = "lines") -> dict[str, str]:
    """A connector that sends the lines of a file through transforms.

    :param chain: properties of transforms by ``alias.property``, in the order of the chain; a type without a dot is a transform of Kafka.
    """
    aliases = list(dict.fromkeys(key.partition(".")[0] for key in chain))
    typed = {key: f"{TRANSFORMS}.{value}" if key.endswith(".type") and "." not in value else value for key, value in chain.items()}
    own = {"connector.class": _FILE.format("Source"), "tasks.max": "1", "file": str(file), "topic": topic}
    return {"name": name, **own, "transforms": ",".join(aliases), **{f"transforms.{key}": value for key, value in typed.items()}}


def keyed_by(field: str) -> dict[str, str]:
    """Transforms for :func:`file_source` that make a field of the value the record's key."""
    return {"key.type": "ValueToKey", "key.fields": field, "unwrap.type": "ExtractField$Key", "unwrap.field": field}


def file_sink(topic: str, file: Path) -> dict[str, str]:
    """A connector that writes the values of a topic as lines of a file."""
    return {"name": "file", "connector.class": _FILE.format("Sink"), "tasks.max": "1", "file": str(file), "topics": topic}


def records_of(kafka: KafkaBroker, topic: str, count: int) -> list[tuple[bytes | None, bytes | None]]:
    """Wait for the first records of a topic, and return their keys and values."""
    consumer = Consumer({**kafka.client_config, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: list[tuple[bytes | None, bytes | None]] = []

    def polled() -> bool:
        found.extend((one.key(), one.value()) for one in consumer.consume(100, 0.2) if not one.error())
        return len(found) >= count

    wait_until(polled, f"{count} records of {topic}")
    consumer.close()
    return found


def lines_of(file: Path) -> list[str]:
    """Lines of a file; empty if the file does not exist yet."""
    return file.read_text("utf-8").splitlines() if file.exists() else []
