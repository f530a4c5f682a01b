"""The time from a put to the reader of its record."""

from __future__ import annotations

import json
import statistics
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer

from ignite_kafka.ignite.binary import encoded
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.ignite.protocol import cache_id
from ignite_kafka.run import RunRequest, run_source

from .session import session, source_settings

_PUT = 1001
_LONG = pa.field("", pa.int64())
_FIRST_RECORD_S = 120.0
_LAST_RECORD_S = 30.0


def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """One continuous run from its start to its stop; ``seconds`` are those from the first put that counts to the last record.

    :returns: ``median``, ``p99`` and ``most`` in milliseconds.
    """
    settings = replace(source_settings(request), run_mode="continuous")
    stop, spark = threading.Event(), session()
    with ThreadPoolExecutor(1) as pool, closing(_Puts(request)) as puts, closing(_Records(request)) as records:
        running = pool.submit(run_source, spark, RunRequest(settings, uuid.uuid4().hex, stop=stop))
        try:
            puts.one()
            records.read(1, _FIRST_RECORD_S)
            records.late_ms.clear()
            started = time.monotonic()
            count = request["seconds"] * request["per_second"]
            writer = threading.Thread(target=puts.many, args=(count, request["per_second"]))
            writer.start()
            records.read(count, request["seconds"] + _LAST_RECORD_S)
            seconds = time.monotonic() - started
            writer.join()
        finally:
            stop.set()
            running.result()
    late = records.late_ms
    p99 = statistics.quantiles(late, n=100)[98]
    return {"entries": len(late), "seconds": seconds, "median": statistics.median(late), "p99": p99, "most": max(late)}


class _Puts:
    """Puts of rising keys; each value is the time of its put, nanoseconds since 1970."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._connection = ThinConnection(IgniteEndpoint((request["address"],)), IgniteCredentials())
        self._cache, self._key = cache_id(request["cache"]), 0

    def one(self) -> None:
        self._key += 1
        head = self._cache.to_bytes(4, "little", signed=True) + b"\0"
        self._connection.request(
            _PUT, head + b"".join(encoded(pa.array([self._key, time.time_ns()]), _LONG).to_pylist())
        )

    def many(self, count: int, per_second: int) -> None:
        started = time.monotonic()
        for number in range(count):
            time.sleep(max(0.0, started + number / per_second - time.monotonic()))
            self.one()

    def close(self) -> None:
        self._connection.close()


@dataclass
class _Records:
    """Reads the topic from its beginning, committed records only."""

    request: Mapping[str, Any]
    late_ms: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = {
            "bootstrap.servers": self.request["bootstrap"],
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "topic.metadata.refresh.interval.ms": 500,  # the topic is made by the run
            "allow.auto.create.topics": False,
        }
        self._consumer = Consumer(settings)
        self._consumer.subscribe([f"{source_settings(self.request).topic_prefix}{self.request['cache']}"])

    def read(self, count: int, within_s: float) -> None:
        """Read that many records.

        :raises TimeoutError: they did not come.
        """
        until = time.monotonic() + within_s
        while len(self.late_ms) < count:
            message = self._consumer.poll(1.0)
            if message is not None and message.error() is None:
                self.late_ms.append((time.time_ns() - json.loads(message.value() or b"0")) / 1e6)
            elif time.monotonic() > until:
                raise TimeoutError(f"{len(self.late_ms)} of {count} records came within {within_s:.0f} s")

    def close(self) -> None:
        self._consumer.close()
