"""Caches that a Java client wrote, with every type (tests/java/WriteTypes.java), and their entries as scanned."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.types.model import CacheInfo, Page
from tests.support.java_programs import IGNITE_CLIENT_JVM, SOURCES, compile_java
from tools.servers import IgniteCluster, Jars
from tools.servers.jars import java_command

SOURCE = SOURCES / "WriteTypes.java"
PREFIX = "json_"


@dataclass(frozen=True)
class Read:
    """One cache as scanned."""

    cluster: Cluster
    info: CacheInfo
    pages: list[Page]


@contextmanager
def java_caches(ignite: IgniteCluster, jars: Jars, classes: Path) -> Iterator[Callable[[str], Read]]:
    """Write the caches and yield a reader of one cache, by its name without the prefix."""
    compile_java([SOURCE], jars.thin_client, classes)
    arguments = [ignite.address, PREFIX, str(classes / "expected.txt")]
    options = [*IGNITE_CLIENT_JVM, "-Duser.timezone=UTC"]
    subprocess.run(java_command("WriteTypes", arguments, [classes, jars.thin_client], options), check=True, capture_output=True)
    with Cluster(IgniteEndpoint(ignite.addresses)) as cluster:
        yield lambda name: read(cluster, PREFIX + name)


def read(cluster: Cluster, name: str) -> Read:
    """Scan all pages of a cache that have entries."""
    info = cluster.cache(name)
    return Read(cluster, info, [page for page in scan_partitions(cluster, info, range(info.partitions)) if page.rows])
