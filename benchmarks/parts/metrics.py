"""Cost of metrics: a copy whose driver is scraped, against one without an endpoint; and the measurements of a task alone."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from ignite_kafka.common.measurements import COMMIT, collect, observe
from ignite_kafka.runtime.latencies import observe_latencies
from tools.servers import free_ports

from .. import tables
from ..contender import Round
from ..report import Section, ratio_text, series_table
from ..rounds import Case, Log, Series, in_turn
from ..stack import TOPIC_PARTITIONS, Stack
from ..tables import TRADES
from .copy import copy_request
from .stream import Followed

_SCRAPES_EVERY_S = 1.0
_CHANGES = 10_000  # of a batch
_REPEATED = 2_000


@dataclass(frozen=True)
class _Scraped(Case):
    """A run whose endpoint is scraped every second, fifteen times as often as by Prometheus' default."""

    port: int = 0

    def run(self) -> Round:
        """One round."""
        with _scraping(self.port) as scrapes:
            answer = super().run()
        return replace(answer, answer={**answer.answer, "scrapes": scrapes()})


@dataclass(frozen=True)
class _ScrapedStream(Followed):
    """A stream whose endpoint is scraped every second."""

    port: int = 0

    def run(self) -> Round:
        """One round."""
        with _scraping(self.port):
            return super().run()


@contextmanager
def _scraping(port: int) -> Iterator[Callable[[], int]]:
    """Scrape a port until the context ends; give a function that returns the number of scrapes that were answered."""
    ended, answered = threading.Event(), 0

    def scrape() -> None:
        nonlocal answered
        while not ended.wait(_SCRAPES_EVERY_S):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                    answered += bool(answer.read())
            except (urllib.error.URLError, OSError):
                continue  # the run has not begun, or has ended

    thread = threading.Thread(target=scrape, daemon=True)
    thread.start()
    try:
        yield lambda: answered
    finally:
        ended.set()
        thread.join()


def cost(stack: Stack, log: Log) -> Section:
    """The copy of `trades` with and without metrics, by turns in one session."""
    request = {**stack.places, "cache": TRADES.cache}
    (port,) = free_ports(1)
    settings = {"metrics_port": port, "progress_interval_ms": 1_000}
    with stack.python("spark", "metrics") as session:
        cases = [
            _Scraped("scraped", session, copy_request(request, "metrics", **settings), port=port),
            Case("no metrics", session, copy_request(request, "no-metrics", progress_interval_ms=1_000)),
        ]
        found = in_turn(cases, stack.sizes.rounds, log)
    scraped, without = found.values()
    measured, bare = _streams(stack, log, port)
    scrapes = sum(int(one.answer["scrapes"]) for one in scraped.warm)
    about = (
        "`run_snapshot` in one Spark session, local[2], by turns: without an endpoint, and with one that is scraped every "
        f"{_SCRAPES_EVERY_S:.0f} s, whose tasks report their measurements every second. Then a continuous run, measured as "
        f"under *Streams without the backlog service*, while {stack.sizes.changes:,} entries are put again: without metrics, and "
        "with an endpoint that is scraped every second, the lag read from the nodes, and a heartbeat every second. "
        "The columns *driver* and *workers* show what metrics cost a copy; the speed varies by more than that. A stream creates and "
        "captures its cache of heartbeats in each round, which *Ignite* has."
    )
    findings = (
        ratio_text("Scraped against no metrics", scraped, without),
        ratio_text("A stream with metrics and heartbeats against one without", measured, bare),
        f"Scrapes answered in the warm rounds: {scrapes:,}",
        _of_a_task(),
    )
    return Section(
        "What metrics cost", about, (series_table([scraped, without]), series_table([measured, bare])), findings
    )


def _streams(stack: Stack, log: Log, port: int) -> tuple[Series, Series]:
    """A stream with metrics and heartbeats, and one without, by turns."""
    rows, table = stack.sizes.changes, tables.trades("measured")
    tables.load(stack.ignite.address, table, rows)
    request: dict[str, object] = {
        **stack.places,
        "cache": table.cache,
        "what": "changes",
        "rows": rows,
        "by_queries": False,
    }
    settings: dict[str, object] = {
        "failover_policy": "NONE",
        "topic_partitions": TOPIC_PARTITIONS,
        "poll_interval_ms": 100,
    }
    metrics: dict[str, object] = {"metrics_port": port, "heartbeat_interval_ms": 1_000}
    with stack.python("spark", "measured-streams") as session:
        cases = [
            _ScrapedStream("metrics, heartbeats", session, {**request, "settings": {**settings, **metrics}}, port=port),
            Followed("neither", session, {**request, "settings": settings}),
        ]
        found = in_turn(cases, stack.sizes.stream_rounds, log)
    tables.destroy(stack.ignite.address, table.cache)
    measured, bare = found.values()
    return measured, bare


def _of_a_task() -> str:
    """Measure in this process what a task's measurements take."""
    with collect():
        one_us = _microseconds(lambda: observe(COMMIT, 0.2))
        times = np.arange(_CHANGES) + int(time.time() * 1000) - 2 * _CHANGES
        batch_us = _microseconds(lambda: observe_latencies(times))
    return (
        f"A task's measurements alone: {one_us:.1f} µs for a batch, a commit or a put; {batch_us:,.0f} µs for the latencies "
        f"of {_CHANGES:,} changes, {batch_us / _CHANGES * 1000:.0f} ns each"
    )


def _microseconds(measured: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(_REPEATED):
        measured()
    return (time.perf_counter() - began) / _REPEATED * 1e6
