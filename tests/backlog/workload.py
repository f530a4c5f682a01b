"""Writers without pause, and a reader of the backlog; both survive the death of nodes."""

from __future__ import annotations

import os
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

from ignite_kafka.common.retry import retry
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_changes import EXPIRED, REMOVED, Changes
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.backlog_units import UNIT
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.ignite.types import type_codes as codes
from tests.integration.ignite.nodes import endpoint_of
from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import IgniteCluster

PARTITIONS = 16
WRITERS = 2
LONG_FORM = bool(os.environ.get("SOAK_ROUNDS"))  # set by `make soak`
_PAUSE_S = 0.2  # pyignite leaves a socket open for each failed attempt to connect
SETTINGS = {"backlogFlushFreq": "100"}


class Writers:
    """Threads that put increasing numbers and remove keys, each its own keys, until :meth:`stop`; they survive the death of a node."""

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


def _long(data: bytes | memoryview, at: int) -> int:
    assert data[at] == codes.LONG
    return int(struct.unpack_from("<q", data, at + 1)[0])


class Reader:
    """A reader that remembers the number and hash of each change it has seen, and looks a key up when a change of it arrives late.

    :ivar steps_back: changes in the order of their numbers whose value is nevertheless below an earlier value of their key.
    """

    def __init__(self, nodes: IgniteCluster) -> None:
        self.nodes = nodes
        self.seen: set[tuple[int, int, int]] = set()
        self.state: list[dict[int, int]] = [{} for _ in range(PARTITIONS)]
        self.highest: dict[int, int] = {}
        self.last_number: dict[int, int] = {}  # by key
        self.late = self.steps_back = self.repeated = 0
        self.marks: dict[int, int] = {}
        self._connection: ThinConnection | None = None

    def call(self, request: Callable[[BacklogService], Any]) -> Any:
        """Make a call; retry it on another node when connection or service fail."""

        def attempt() -> Any:
            if self._connection is None or self._connection.closed:
                self._connection = ThinConnection(endpoint_of(self.nodes), IgniteCredentials())
            return request(BacklogService(self._connection))

        return retry(attempt, DEADLINE_S, lambda error: not error.final)

    def await_capture(self) -> None:
        """Wait until two nodes capture again."""
        wait_until(lambda: self.call(lambda service: service.status("c"))["registered"] >= 2, "the capture on two nodes")

    def read(self) -> int:
        """Read once, apply new changes to the state, acknowledge; return the number of changes in the answer."""
        units = self.units()
        changes: Changes = self.call(lambda service: service.read("c", units, 1 << 22))
        self.marks = {partition: mark for partition, mark in enumerate(changes.marks.tolist()) if mark}
        entry_at, unit_of = changes.entry_offsets(), np.repeat(np.arange(PARTITIONS), changes.count)
        value_at = entry_at[:-1] + changes.key_length
        for i, (number, hash_) in enumerate(zip(changes.number.tolist(), changes.hash.tolist(), strict=True)):
            assert changes.kind[i] != EXPIRED
            identity = (int(unit_of[i]), number, hash_)
            if identity in self.seen:
                self.repeated += 1
                continue
            self.seen.add(identity)
            key = _long(changes.entries, entry_at[i])
            value = None if changes.kind[i] == REMOVED else _long(changes.entries, value_at[i])
            if number <= self.last_number.get(key, -1):
                self.late += 1
                value = self.look_up(key)
            else:
                self.last_number[key] = number
                self.steps_back += value is not None and value < self.highest.get(key, 0)
                self.highest[key] = max(value or 0, self.highest.get(key, 0))
            if value is None:
                self.state[unit_of[i]].pop(key, None)
            else:
                self.state[unit_of[i]][key] = value
        self.call(lambda service: service.acknowledge("c", changes.acknowledgement(units)))
        return len(changes.number)

    def look_up(self, key: int) -> int | None:
        """The value that the cache holds now."""
        (found,) = self.call(lambda service: service.lookup("c", "trades", [struct.pack("<bq", codes.LONG, key)]))
        return None if found is None else _long(found, 0)

    def units(self) -> npt.NDArray[np.void]:
        status = self.call(lambda service: service.status("c"))
        units = np.zeros(PARTITIONS, UNIT)
        units["cache_id"], units["partition"] = protocol.cache_id("trades"), range(PARTITIONS)
        units["incarnation"] = status["incarnation.trades"]
        return units

    def drain(self) -> None:
        """Read everything that was captured."""
        self.call(lambda service: service.barrier("c"))
        while self.read():
            self.call(lambda service: service.barrier("c"))

    def send_again(self) -> None:
        """Send marked units again while nobody writes: clear, read from the cache, then read the changes."""
        marked = sorted(self.marks)
        units = self.units()[marked]
        found = self.call(lambda service: service.read("c", units, 1))
        self.call(lambda service: service.clear("c", units, found.mark_number))
        held = self.held()
        for partition in marked:
            self.state[partition] = held[partition]
        self.drain()

    def held(self) -> list[dict[int, int]]:
        """The content of the cache, by partition."""
        with self.nodes.client() as client:
            cache = client.get_cache("trades")
            return [dict(cache.scan(page_size=1000, partitions=partition)) for partition in range(PARTITIONS)]

    def follow(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read()
            time.sleep(0.2)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
