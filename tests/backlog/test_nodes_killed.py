"""The backlog service over killed nodes: what a reader folds is what the cache holds, and no key steps back."""

from __future__ import annotations

import logging
import random
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyignite
import pytest

from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.thin import codes, protocol
from ignite_kafka.thin.connection import IgniteCredentials, ThinConnection
from ignite_kafka.thin.service import EXPIRED, REMOVED, UNIT, BacklogService
from tests.integration.thin.nodes import cache_xml, endpoint_of
from tools.servers import IgniteCluster, Jars

PARTITIONS = 16
SECONDS_A_PHASE = 4.0
WRITERS = 2
SETTINGS = {"backlogFlushFreq": "100"}


class Writers:
    """Threads that put rising numbers and remove, each its own keys, until told to stop; they go on over a node's death."""

    def __init__(self, nodes: IgniteCluster) -> None:
        self.nodes, self.puts, self._stop = nodes, 0, threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(index,)) for index in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, index: int) -> None:
        random_keys, number = random.Random(index), 0
        while not self._stop.is_set():
            client = pyignite.Client()
            with suppress(Exception), client.connect([("127.0.0.1", int(a.rpartition(":")[2])) for a in self.nodes.addresses]):
                cache = client.get_cache("trades")
                while not self._stop.is_set():
                    number += 1
                    key = random_keys.randrange(100) * WRITERS + index
                    if random_keys.random() < 0.1:
                        cache.remove_key(key)
                    else:
                        cache.put(key, number)
                        self.puts += 1


class Reader:
    """A reader that remembers number and hash of what it has taken, and looks up nothing."""

    def __init__(self, nodes: IgniteCluster) -> None:
        self.nodes = nodes
        self.taken: set[tuple[int, int, int]] = set()
        self.fold: dict[int, int] = {}
        self.highest: dict[int, int] = {}
        self.steps_back = self.repeated = self.marked = 0
        self._connection: ThinConnection | None = None

    def ask(self, call: Callable[[BacklogService], Any]) -> Any:
        """One call, again through another node when the connection or the service fails."""
        for attempt in range(30):
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = ThinConnection(endpoint_of(self.nodes), IgniteCredentials())
                return call(BacklogService(self._connection))
            except IgniteKafkaError as error:
                if error.final or attempt == 29:
                    raise
                time.sleep(0.3)
        raise AssertionError

    def take(self) -> int:
        """Read once, fold what is new, acknowledge; the answer is how many changes came."""
        status = self.ask(lambda service: service.status("c"))
        units = np.zeros(PARTITIONS, UNIT)
        units["cache_id"], units["partition"] = protocol.cache_id("trades"), range(PARTITIONS)
        units["incarnation"] = status["incarnation.trades"]
        changes = self.ask(lambda service: service.read("c", units, 1 << 22))
        self.marked |= int(np.bitwise_or.reduce(changes.marks))
        entry_at, unit_of = changes.entry_offsets(), np.repeat(np.arange(PARTITIONS), changes.count)
        value_at = entry_at[:-1] + changes.key_length
        for i, (number, hash_) in enumerate(zip(changes.number.tolist(), changes.hash.tolist(), strict=True)):
            assert changes.kind[i] != EXPIRED
            identity = (int(unit_of[i]), number, hash_)
            if identity in self.taken:
                self.repeated += 1
                continue
            self.taken.add(identity)
            key = struct.unpack_from("<q", changes.entries, entry_at[i] + 1)[0]
            if changes.kind[i] == REMOVED:
                self.fold.pop(key, None)
                continue
            assert changes.entries[value_at[i]] == codes.LONG
            value = struct.unpack_from("<q", changes.entries, value_at[i] + 1)[0]
            self.steps_back += value < self.highest.get(key, 0)
            self.highest[key] = max(value, self.highest.get(key, 0))
            self.fold[key] = value
        self.ask(lambda service: service.acknowledge("c", changes.acknowledgement(units)))
        return len(changes.number)

    def follow(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.take()
            time.sleep(0.2)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


# pyignite leaves the socket open of a node that it cannot reach
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ATOMIC", "TRANSACTIONAL"])
def test_nothing_is_lost_over_killed_nodes(mode: str, jars: Jars, tmp_path: Path) -> None:
    cache = cache_xml("trades", PARTITIONS, backups=1, atomicityMode=mode, writeSynchronizationMode="FULL_SYNC")
    properties = (("cacheConfiguration", f"<list>{cache}</list>"), ("failureDetectionTimeout", "8000"))
    with IgniteCluster(tmp_path, jars=jars, nodes=3, properties=properties, data_region_mib=128) as nodes:
        reader = Reader(nodes)
        assert reader.ask(lambda service: service.start("c", SETTINGS, ["trades"]))["registered"] == 2
        logging.getLogger("pyignite").setLevel(logging.CRITICAL)
        writers = Writers(nodes)
        try:
            for killed in (2, 1):
                reader.follow(SECONDS_A_PHASE)
                nodes.kill(killed)
                reader.follow(2 * SECONDS_A_PHASE)
                nodes.start_node(killed)
            reader.follow(SECONDS_A_PHASE)
        finally:
            writers.stop()
        reader.ask(lambda service: service.barrier("c"))
        while reader.take():
            reader.ask(lambda service: service.barrier("c"))
        with nodes.client() as client:
            held = dict(client.get_cache("trades").scan(page_size=1000))
        reader.close()
        print(f"{writers.puts} puts, {len(reader.taken)} changes, {reader.repeated} put back, {reader.steps_back} steps back")
        assert writers.puts > 100
        assert reader.fold == held
        assert reader.steps_back == 0
        assert reader.marked == 0
