"""The streaming part of `make demo`: a connector follows changing flights, is killed and restarted; every entry is compared."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyignite

from ignite_kafka.cli.tables import table
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.state.configs import read_connector
from ignite_kafka.verification.entry_comparison import PairDifferences
from tools.compare_topics import verify

from .change_flights import CACHE
from .servers import ServerFailed, ServerProcess

CONNECTOR = "live"
NEW_CACHE = "diversions"
_INTERNAL_TOPICS = "ignite-kafka"
_PREFIX = "live-"
_ROWS = 1_000
_SOME = 200  # records: transaction markers alone advance the end offsets by less
_CHANGES = re.compile(r"[1-9]\d* changes")


class StreamDemo:
    """A streaming connector, a process that changes the cache meanwhile, and the comparison of topics with caches."""

    def __init__(self, directory: Path, ignite: str, kafka: str, say: Callable[[str], None]) -> None:
        self._directory, self._ignite, self._kafka, self._say = directory, ignite, kafka, say
        self._clients = KafkaClients({"bootstrap.servers": kafka})
        self._topics = Topics(self._clients)
        self._starts = 0
        settings = {
            "name": CONNECTOR,
            "cache_whitelist": [CACHE, NEW_CACHE],
            "topic_prefix": _PREFIX,
            "ignite_addresses": [ignite],
            "bootstrap_servers": kafka,
            "run_mode": "continuous",
            "failover_policy": "BACKLOG",
            "process_removals": True,
            "poll_interval_ms": 500,
            "cache_list_poll_interval_ms": 1_000,
        }
        self._settings = directory / "live.json"
        self._settings.write_text(json.dumps(settings))

    def run(self) -> tuple[bool, str]:
        """Run all steps.

        :return: whether every topic equals its cache, and the table of the comparison.
        :raises ServerFailed: a process ended, or a step did not complete in time.
        """
        self._say(f"connector {CONNECTOR}: a stream of {CACHE}, by `ignite-kafka run {self._settings.name}`")
        connector = self._start()
        writer = ServerProcess(
            "change_flights",
            [sys.executable, "-m", "tools.change_flights", self._ignite],
            self._directory / "changes.log",
        )
        try:
            connector.await_ready(lambda: self._ends(CACHE) > 0)
            self._say(f"  records flow while another process changes {CACHE}; a new cache, {NEW_CACHE}")
            self._make_cache()
            connector.await_ready(lambda: self._ends(NEW_CACHE) >= _ROWS)
            self._say(f"  {NEW_CACHE} was added; killing Spark (kill -9) and starting it again")
            connector.kill()
            connector = self._start()
            before = self._ends(CACHE)
            connector.await_ready(lambda: self._ends(CACHE) > before + _SOME)
            time.sleep(5)
            writer.stop()
            if not _CHANGES.fullmatch(writer.output().strip()):
                raise ServerFailed(f"{writer.name} failed; end of {writer.log}:\n{writer.output()[-2000:]}")
            self._say(
                f"  {writer.output().strip()} were made; waiting until the backlog is sent, then comparing every entry"
            )
            return self._compare(connector)
        finally:
            writer.stop()
            connector.stop()

    def _start(self) -> ServerProcess:
        self._starts += 1
        log = self._directory / f"live-{self._starts}.log"
        return ServerProcess(
            CONNECTOR,
            [sys.executable, "-m", "ignite_kafka.cli.main", "run", self._settings, "--master", "local[2]"],
            log,
        )

    def _ends(self, cache: str) -> int:
        topic, counts = f"{_PREFIX}{cache}", self._topics.existing()
        return sum(self._topics.ends(topic, list(range(counts[topic]))).values()) if topic in counts else 0

    def _make_cache(self) -> None:
        host, port = self._ignite.rsplit(":", 1)
        client = pyignite.Client()
        with client.connect(host, int(port)):
            client.get_or_create_cache(NEW_CACHE).put_all({row: f"to airport {row % 7}" for row in range(_ROWS)})

    def _compare(self, connector: ServerProcess) -> tuple[bool, str]:
        found: list[PairDifferences] = []

        def equal() -> bool:
            found[:] = self._verified()
            return all(result.equal for result in found)

        try:
            connector.await_ready(equal)
        finally:
            rows = [(one.topic, one.entries, one.records, _verdict(one)) for one in found]
            text = table(("topic", "entries in cache", "records in topic", ""), rows)
        stopped = self._command("stop", CONNECTOR)
        connector.wait()
        return True, f"{text}\n\n{stopped}\n{self._command('backlog', 'cleanup', CONNECTOR)}"

    def _verified(self) -> list[PairDifferences]:
        snapshot = read_connector(self._clients, self._topics, _INTERNAL_TOPICS, CONNECTOR).snapshot
        plan = TransferPlan.from_dict(dict(snapshot.plan)) if snapshot else None
        with Cluster(IgniteEndpoint((self._ignite,))) as cluster:
            return verify(plan, cluster, self._clients) if plan else []

    def _command(self, *words: str) -> str:
        """Run `ignite-kafka` and return the command line and its output.

        :raises ServerFailed: the command failed.
        """
        name = "-".join(words)
        process = ServerProcess(
            name,
            [sys.executable, "-m", "ignite_kafka.cli.main", "-q", *words, "--settings", self._settings],
            self._directory / f"{name}.log",
        )
        if process.wait():
            raise ServerFailed(f"`ignite-kafka {' '.join(words)}` failed: {process.output()}")
        return f"$ ignite-kafka {' '.join(words)}\n{process.output().rstrip()}"


def _verdict(result: PairDifferences) -> str:
    """Result of the comparison of a topic's last records with the entries."""
    if result.equal:
        return f"every key's last record is its entry; {result.records - result.entries:,} records were earlier states or removed keys"
    return f"NOT EQUAL: {result.differences}"
