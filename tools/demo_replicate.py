"""The replication part of `make demo`: caches of one Ignite cluster to a second one, which a Java client compares entry by entry."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pyignite

from ignite_kafka.cli.tables import table

from .servers import IgniteCluster, Jars, ServerFailed
from .servers.jars import IGNITE_JAVA_OPTIONS, java_command
from .servers.process import DEADLINE_S

PREFIX = "replica-"
_JAVA = Path(__file__).parent / "java" / "CompareCaches.java"
_SQL = "SELECT COUNT(*) FROM \"flights\".FLIGHTS WHERE carrier = 'UA'"
_COMMON = {
    "topic_prefix": PREFIX,
    "key_converter": "ignite-binary",
    "value_converter": "ignite-binary",
    "progress_interval_ms": "5000",
}


def replicate(
    directory: Path, jars: Jars, ignite: str, kafka: str, caches: Sequence[str], say: Callable[[str], None]
) -> tuple[bool, str]:
    """Start a second cluster, replicate the caches to it, and compare.

    :param ignite: address of the first cluster. :param kafka: address of the broker.
    :return: whether all caches are equal, and the text to show.
    :raises ServerFailed: the command or the comparison failed.
    """
    say("starting a second Ignite cluster, without caches; `ignite-kafka replicate A.properties B.properties`")
    with IgniteCluster(directory / "other", jars=jars) as other:
        source = {"name": "replica-source", "ignite_addresses": ignite, "cache_whitelist": ",".join(caches)}
        sink = {
            "name": "replica-sink",
            "ignite_addresses": other.address,
            "topics_regex": f"{PREFIX}.*",
            "process_updates": "true",
        }
        files = [
            _file(directory / name, kafka, own) for name, own in (("A.properties", source), ("B.properties", sink))
        ]
        _run([sys.executable, "-m", "ignite_kafka.cli", "--quiet", "replicate", *files], directory / "replicate.log")
        say("comparing every entry with a Java client")
        options = [*IGNITE_JAVA_OPTIONS, "-Xmx512m"]
        compared = _run(
            java_command(str(_JAVA), [ignite, other.address, *caches], [jars.ignite], options),
            directory / "compare.log",
        )
        rows = [line.split("\t") for line in compared.splitlines() if line.split("\t")[0] in caches]
        equal = len(rows) == len(caches) and all(
            here == there and different == "0" for _, here, there, different in rows
        )
        counts = [_query(address) for address in (ignite, other.address)]
    shown = [(name, f"{int(here):,}", f"{int(there):,}", different) for name, here, there, different in rows]
    answer = f"flights of UA by SQL: {counts[0]:,} in the first cluster, {counts[1]:,} in the second"
    text = table(("cache", "entries", "in the second cluster", "not equal"), shown)
    return equal and counts[0] == counts[1], f"{text}\n\n{answer}"


def _file(path: Path, kafka: str, own: dict[str, str]) -> str:
    path.write_text(
        "".join(f"{name}={value}\n" for name, value in {"bootstrap_servers": kafka, **_COMMON, **own}.items())
    )
    return str(path)


def _run(command: Sequence[str], log: Path) -> str:
    with log.open("w") as output:
        ended = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, timeout=DEADLINE_S, check=False)
    if ended.returncode:
        raise ServerFailed(f"{command[0]} ended with {ended.returncode}; see {log}")
    return log.read_text()


def _query(address: str) -> int:
    host, port = address.rsplit(":", 1)
    client = pyignite.Client()
    with client.connect(host, int(port)):
        return int(next(iter(client.sql(_SQL)))[0])
