"""A pair that replicates a cache between two clusters by the command line, and writers beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from pyignite.exceptions import CacheError, ReconnectError, SocketError

from ignite_kafka.settings.topic_names import types_topic
from tests.support.json_output import check_json_output
from tests.support.processes import App
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, KafkaBroker

CACHE = "staff"
LATE = "late"
COMMAND = [sys.executable, "-m", "ignite_kafka.cli", "replicate"]
ENVIRONMENT = {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(sys.path)}
Entries = dict[Any, Any]


def write_pair(folder: Path, kafka: KafkaBroker, source_cluster: IgniteCluster, sink_cluster: IgniteCluster) -> list[str]:
    """Write the settings files of a source and a sink; return their paths."""
    common = {
        "bootstrap_servers": kafka.bootstrap, "key_converter": "ignite-binary", "value_converter": "ignite-binary",
        "topic_prefix": f"{folder.name}-", "slots": 2, "progress_interval_ms": 500, "run_mode": "continuous",
    }  # fmt: skip
    source = {
        "name": f"a-{folder.name}", "ignite_addresses": source_cluster.addresses, "cache_whitelist": [CACHE, LATE],
        "process_removals": True, "failover_policy": "BACKLOG", "internal_topic_prefix": f"in-a-{folder.name}", "poll_interval_ms": 200,
    }  # fmt: skip
    sink = {
        "name": f"b-{folder.name}", "ignite_addresses": sink_cluster.addresses, "topics_regex": f"{folder.name}-.*",
        "process_updates": True, "internal_topic_prefix": f"in-b-{folder.name}", "push_interval_ms": 200,
        "topic_list_poll_interval_ms": 500, "types_topic": types_topic(f"in-a-{folder.name}"),
    }  # fmt: skip
    paths = [folder / "source.json", folder / "sink.json"]
    for path, own in zip(paths, (source, sink), strict=True):
        path.write_text(json.dumps({**common, **own}))
    return [str(path) for path in paths]


def start(log: Path, *arguments: str) -> App:
    """Start ``ignite-kafka replicate`` with these arguments; its output goes to a log."""
    return App([*COMMAND, *arguments], log, {**os.environ, **ENVIRONMENT})


def start_run(log: Path, settings: Path) -> App:
    """Start ``ignite-kafka run`` of one connector."""
    return App([*COMMAND[:-1], "run", settings, "--master", "local[2]"], log, {**os.environ, **ENVIRONMENT})


def call(*arguments: str, code: int = 0) -> tuple[Any, str]:
    """Run ``ignite-kafka replicate`` with ``--json`` to its end; return its result, checked against its schema, and stderr."""
    command = [*COMMAND, *arguments, "--master", "local[2]", "--json"]
    completed = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}, timeout=DEADLINE_S)
    assert completed.returncode == code, completed.stderr[-8000:]
    return (check_json_output(["replicate", *arguments, "--json"], completed.stdout) if completed.stdout else None), completed.stderr


def entries(cluster: IgniteCluster, cache: str = CACHE) -> Entries | None:
    """All entries of a cache, by a client of its own; None without the cache."""
    with cluster.client() as client:
        return dict(client.get_cache(cache).scan(page_size=1_000)) if cache in client.get_cache_names() else None


def size(cluster: IgniteCluster, cache: str = CACHE) -> int:
    """Number of entries of a cache; 0 without the cache."""
    with cluster.client() as client:
        return client.get_cache(cache).get_size() if cache in client.get_cache_names() else 0


class Writer:
    """A thread that puts and removes entries without a pause, and records what the cache must have.

    :param first: number of its first entry, a multiple of 5.
    :param pause_s: time between two puts, in seconds.
    """

    def __init__(self, cluster: IgniteCluster, first: int = 0, pause_s: float = 0.002) -> None:
        self.confirmed: Entries = {}
        self.written = first
        self._cluster = cluster
        self._pause_s = pause_s
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        try:
            with self._cluster.client() as client:
                cache = client.get_cache(CACHE)
                while not self._end.is_set():
                    number = self.written
                    cache.put(number, f"v{number}")
                    self.confirmed[number] = f"v{number}"
                    if number % 5 == 4:
                        del self.confirmed[number - 2]  # before the removal, which may be executed and not confirmed
                        cache.remove_key(number - 2)
                    self.written += 1
                    self._end.wait(self._pause_s)
        except (OSError, SocketError, ReconnectError, CacheError):  # the cluster was killed
            self._end.set()

    def stop(self) -> Entries:
        """End the writer, and return the entries that were confirmed and not removed."""
        self._end.set()
        self._thread.join(DEADLINE_S)
        return self.confirmed
