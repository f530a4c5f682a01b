"""Writers that never pause, and a reader of the backlog, over nodes that die."""

from __future__ import annotations

import random
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyignite

from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_changes import EXPIRED, REMOVED, Changes
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.backlog_units import UNIT
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.ignite.types import type_codes as codes
from tests.integration.ignite.nodes import endpoint_of
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster

PARTITIONS = 16
WRITERS = 2
ATTEMPTS = 100
_PAUSE_S = 0.2  # pyignite leaves a socket open for each attempt to reach a node that is away
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
            self._stop.wait(_PAUSE_S)


class Reader:
    """A reader that remembers number and hash of what it has taken, and looks up nothing."""

    def __init__(self, nodes: IgniteCluster) -> None:
        self.nodes = nodes
        self.taken: set[tuple[int, int, int]] = set()
        self.fold: list[dict[int, int]] = [{} for _ in range(PARTITIONS)]
        self.highest: dict[int, int] = {}
        self.steps_back = self.repeated = 0
        self.marks: dict[int, int] = {}
        self._connection: ThinConnection | None = None

    def ask(self, call: Callable[[BacklogService], Any]) -> Any:
        """One call, again through another node when the connection or the service fails."""
        for attempt in range(ATTEMPTS):
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = ThinConnection(endpoint_of(self.nodes), IgniteCredentials())
                return call(BacklogService(self._connection))
            except IgniteKafkaError as error:
                if error.final or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(0.3)
        raise AssertionError

    def await_capture(self) -> None:
        """Wait until two nodes capture again."""
        wait_until(lambda: self.ask(lambda service: service.status("c"))["registered"] >= 2, "the capture on two nodes")

    def take(self) -> int:
        """Read once, fold what is new, acknowledge; the answer is how many changes came."""
        units = self.units()
        changes: Changes = self.ask(lambda service: service.read("c", units, 1 << 22))
        self.marks = {partition: mark for partition, mark in enumerate(changes.marks.tolist()) if mark}
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
                self.fold[unit_of[i]].pop(key, None)
                continue
            assert changes.entries[value_at[i]] == codes.LONG
            value = struct.unpack_from("<q", changes.entries, value_at[i] + 1)[0]
            self.steps_back += value < self.highest.get(key, 0)
            self.highest[key] = max(value, self.highest.get(key, 0))
            self.fold[unit_of[i]][key] = value
        self.ask(lambda service: service.acknowledge("c", changes.acknowledgement(units)))
        return len(changes.number)

    def units(self) -> npt.NDArray[np.void]:
        status = self.ask(lambda service: service.status("c"))
        units = np.zeros(PARTITIONS, UNIT)
        units["cache_id"], units["partition"] = protocol.cache_id("trades"), range(PARTITIONS)
        units["incarnation"] = status["incarnation.trades"]
        return units

    def drain(self) -> None:
        """Take all that was captured."""
        self.ask(lambda service: service.barrier("c"))
        while self.take():
            self.ask(lambda service: service.barrier("c"))

    def send_again(self) -> None:
        """What marks ask for, while nobody writes: clear, read from the cache, go on with the changes."""
        marked = sorted(self.marks)
        units = self.units()[marked]
        found = self.ask(lambda service: service.read("c", units, 1))
        self.ask(lambda service: service.clear("c", units, found.mark_number))
        held = self.held()
        for partition in marked:
            self.fold[partition] = held[partition]
        self.drain()

    def held(self) -> list[dict[int, int]]:
        """What each partition of the cache holds."""
        with self.nodes.client() as client:
            cache = client.get_cache("trades")
            return [dict(cache.scan(page_size=1000, partitions=partition)) for partition in range(PARTITIONS)]

    def follow(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.take()
            time.sleep(0.2)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
