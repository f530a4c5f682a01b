"""Copies of caches of one cluster through topics into another cluster, and what a Java client reads there."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from ignite_kafka.state.status import RunStatus
from tests.support.java_programs import IGNITE_CLIENT_JVM, SOURCES, compile_java
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, Jars, KafkaBroker
from tools.servers.jars import java_command

READ = SOURCES / "ReadTypes.java"


class Copy:
    """Copy caches of cluster `here` through topics into caches of the same names of cluster `there`.

    :param form: converter of keys and values.
    :param properties: of the converter, for keys and values.
    :param more: other settings of source and sink.
    """

    def __init__(
        self,
        spark: SparkSession,
        kafka: KafkaBroker,
        here: IgniteCluster,
        there: IgniteCluster,
        form: str = "ignite-binary",
        properties: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        self.spark, self.name = spark, f"t{uuid.uuid4().hex[:8]}"
        converters: dict[str, Any] = {f"{side}_converter": form for side in ("key", "value")}
        if properties:
            converters |= {f"{side}_converter_config": properties for side in ("key", "value")}
        common = {"bootstrap_servers": kafka.bootstrap, "topic_prefix": f"{self.name}-", "slots": 2, **converters, **more}
        self.source = SourceSettings(
            name=f"{self.name}-source", ignite_addresses=here.addresses, internal_topic_prefix=f"a-{self.name}", **common
        )
        self.types_topic = f"a-{self.name}-types"
        self.sink = SinkSettings(
            name=self.name,
            ignite_addresses=there.addresses,
            topics_regex=f"{self.name}-.*",
            internal_topic_prefix=f"b-{self.name}",
            process_updates=True,
            **common,
        )

    def send(self, *caches: str) -> None:
        """Send whole caches to their topics."""
        settings = SourceSettings.from_dict({**self.source.to_dict(), "cache_whitelist": list(caches)})
        assert run_snapshot(self.spark, RunRequest(settings, uuid.uuid4().hex)).state == status.COMPLETED

    def store(self, types_topic: str = "") -> RunStatus:
        """Store what the topics have.

        :param types_topic: another one than the source's.
        """
        settings = SinkSettings.from_dict({**self.sink.to_dict(), "types_topic": types_topic or self.types_topic})
        return run_sink(self.spark, RunRequest(settings, uuid.uuid4().hex))

    def run(self, *caches: str) -> None:
        """Send and store."""
        self.send(*caches)
        assert self.store().state == status.COMPLETED


def read_by_java(cluster: IgniteCluster, jars: Jars, classes: Path, caches: Sequence[str], *, binary: bool = False) -> set[str]:
    """Lines of ReadTypes: cache, key, value, and whether get finds the key.

    :param binary: objects are read without their classes.
    """
    if not (classes / "ReadTypes.class").exists():
        compile_java([READ], jars.thin_client, classes)
    options = [*IGNITE_CLIENT_JVM, "-Duser.timezone=UTC"]
    arguments = [cluster.address, "compact", "read-binary" if binary else "read", *caches]
    command = java_command("ReadTypes", arguments, [classes, jars.thin_client], options)
    return set(subprocess.run(command, check=True, timeout=DEADLINE_S, stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines())


def all_caches(classes: Path) -> list[str]:
    """Every cache that WriteTypes has made: the whole table of types."""
    return sorted({line.split("\t")[0] for line in (classes / "expected.txt").read_text("utf-8").splitlines()})


def written_by_java(classes: Path, caches: Sequence[str]) -> set[str]:
    """The lines that :func:`read_by_java` gives of caches with the entries of WriteTypes, each of which is there."""
    lines = [line for line in (classes / "expected.txt").read_text("utf-8").splitlines() if line.split("\t")[0] in caches]
    assert {line.split("\t")[0] for line in lines} == set(caches)
    return {f"{line}\ttrue" for line in lines}
