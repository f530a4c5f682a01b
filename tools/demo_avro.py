"""The Avro part of `make demo`: caches to topics, with schemas in a real registry, compared by `ignite-kafka verify`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.request import urlopen

from ignite_kafka.cli.tables import table

from .servers import Jars, SchemaRegistry, ServerFailed
from .servers.process import DEADLINE_S

PREFIX = "avro-"


def copy_as_avro(
    directory: Path, jars: Jars, ignite: str, kafka: str, caches: Sequence[str], say: Callable[[str], None]
) -> tuple[bool, str]:
    """Copy the caches with text keys and Avro values, and compare.

    :param ignite: address of the node. :param kafka: address of the broker.
    :return: whether all records are those of the caches, and the text to show.
    :raises ServerFailed: the copy failed.
    """
    say("starting a schema registry; `ignite-kafka run avro.properties`")
    with SchemaRegistry(directory / "registry", jars=jars) as registry:
        settings = {
            "name": "avro",
            "ignite_addresses": ignite,
            "bootstrap_servers": kafka,
            "cache_whitelist": ",".join(caches),
            "topic_prefix": PREFIX,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "io.confluent.connect.avro.AvroConverter",
            "value.converter.schema.registry.url": registry.url,
            "field_nullability_policy": "EAGER",
        }
        file = directory / "avro.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        log = directory / "avro.log"
        if _command("run", file, log):
            raise ServerFailed(f"the copy as Avro failed; see {log}")
        equal = _command("verify", file, directory / "avro-verify.log") == 0
        rows = [_row(registry, cache) for cache in caches]
    verdict = "every record equals its entry" if equal else f"NOT EQUAL: see {directory / 'avro-verify.log'}"
    return equal, f"{table(('subject', 'schema id', 'record', 'fields'), rows)}\n\n{verdict}"


def _command(name: str, file: Path, log: Path) -> int:
    with log.open("w") as output:
        command = [sys.executable, "-m", "ignite_kafka.cli", name, str(file)]
        return subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, timeout=DEADLINE_S, check=False
        ).returncode


def _row(registry: SchemaRegistry, cache: str) -> tuple[str, int, str, int]:
    """The schema that the registry has for the values of a cache's topic."""
    subject = f"{PREFIX}{cache}-value"
    with urlopen(f"{registry.url}/subjects/{subject}/versions/latest", timeout=DEADLINE_S) as answer:
        found = json.load(answer)
    schema = json.loads(found["schema"])
    return subject, int(found["id"]), str(schema["name"]), len(schema["fields"])
