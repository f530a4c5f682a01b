"""The changes per second that a continuous run sends, from the first put to the last record."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from confluent_kafka import Consumer

from ignite_kafka.run import RunRequest, run_source
from ignite_kafka.source.stream import query_capture

from .. import tables
from .session import session, source_settings

_LOADED_WITHIN_S = 120.0
_SILENT_S = 60.0
_AT_ONCE = 10_000


def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """One continuous run of a new connector: it loads `rows` entries of a cache, which are then put again as fast as one client can.

    ``by_queries`` hides the nodes' backlog service from the run.

    :returns: ``put_seconds``: how long the puts took; ``seconds`` are those from the first put to the last record.
    """
    settings, rows, stop = (
        replace(source_settings(request), run_mode="continuous"),
        int(request["rows"]),
        threading.Event(),
    )
    spark, table = session(), tables.trades(request["cache"])
    with ExitStack() as stack:
        if request["by_queries"]:
            stack.enter_context(patch.object(query_capture, "has_service", lambda _: False))
        records = stack.enter_context(_records(request["bootstrap"], f"{settings.topic_prefix}{table.cache}"))
        pool = stack.enter_context(ThreadPoolExecutor(2))
        running = pool.submit(run_source, spark, RunRequest(settings, uuid.uuid4().hex, stop=stop))
        try:
            _await(records, rows, _LOADED_WITHIN_S)
            started = time.monotonic()
            puts = pool.submit(_put_all, request["address"], table, rows)
            _await(records, rows, _SILENT_S)
            seconds = time.monotonic() - started
            put_seconds = puts.result()
        finally:
            stop.set()
            running.result()
    return {"entries": rows, "seconds": seconds, "put_seconds": put_seconds}


def _put_all(address: str, table: tables.BenchTable, rows: int) -> float:
    """Put every entry of the table; returns the seconds."""
    started = time.monotonic()
    tables.put(address, table, 0, rows)
    return time.monotonic() - started


@contextmanager
def _records(bootstrap: str, topic: str) -> Iterator[Consumer]:
    """A consumer of a topic that the run makes, from its beginning, committed records only."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": uuid.uuid4().hex,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "topic.metadata.refresh.interval.ms": 500,
        "allow.auto.create.topics": False,
    }
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe([topic])
        yield consumer


def _await(consumer: Consumer, count: int, silent_s: float) -> None:
    """Read that many records and no more.

    :param silent_s: longest time without a record.
    :raises TimeoutError: no record came for that time.
    """
    left, until = count, time.monotonic() + silent_s
    while left:
        found = sum(message.error() is None for message in consumer.consume(min(left, _AT_ONCE), 0.1))
        if found:
            left, until = left - found, time.monotonic() + silent_s
        elif time.monotonic() > until:
            raise TimeoutError(f"{count - left} of {count} records came, then none for {silent_s:.0f} s")
