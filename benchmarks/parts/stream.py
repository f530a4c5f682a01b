"""The stream of changes: cost of the capture for writers, speed of a catch-up, latency from a put to its record."""

from __future__ import annotations

import statistics
import uuid
from collections.abc import Mapping

from .. import tables
from ..backlog import Capture
from ..contender import Round
from ..report import Section, Table, ratio_text, series_table
from ..rounds import Case, Log, Series, in_turn
from ..stack import TOPIC_PARTITIONS, Stack

_PUT_GOAL, _CATCH_UP_GOAL = 0.6, 0.5
_LATE_MS = 1_000  # that a record may come later than the poll interval
_WRITERS, _BATCH = 2, 1_000
_LOADED_AT_ONCE = 50_000  # changes; what a node's buffer holds has its bounds
_INTERVALS_MS = (2_000, 100)
_PUTS_A_SECOND = 200
_WAYS = (("continuous queries", True), ("backlog service", False))
_MIB = 1 << 20


def capture(stack: Stack, log: Log) -> Section:
    """Two writers with capture and without, by turns, on the same cache and node."""
    address, table = stack.ignite.address, tables.trades("captured")
    tables.make_cache(address, table)
    found_tables, findings = [], []
    for puts, batch, name, goal in (
        (stack.sizes.puts, 1, "put", _PUT_GOAL),
        (stack.sizes.put_alls, _BATCH, f"putAll of {_BATCH:,}", None),
    ):
        request = {"address": address, "cache": table.cache, "threads": _WRITERS, "puts": puts, "batch": batch}
        with stack.java("Puts") as writers, Capture(address, "bench-capture", table.cache) as captured:
            cases = [
                Case(f"{name}: no capture", writers, request, captured.end),
                Case(f"{name}: captured", writers, request, captured.begin),
            ]
            found = in_turn(cases, stack.sizes.stream_rounds, log)
        without, captured_puts = found.values()
        found_tables.append(series_table([without, captured_puts]))
        findings += [
            ratio_text(f"{name}: with capture against without", captured_puts, without, goal),
            _held(name, captured),
        ]
    tables.destroy(address, table.cache)
    about = (
        f"{_WRITERS} threads with a Java thin client each put six-field objects under random keys of one cache; the capture begins anew "
        "before each of its rounds and writes its backlog during them. *Ignite* is the node, with all that capture does there."
    )
    return Section("What capture costs writers", about, tuple(found_tables), tuple(findings))


def _held(name: str, captured: Capture) -> str:
    kept = f"{captured.most_entries:,} changes, {captured.most_bytes / _MIB:.1f} MiB of heap"
    lost = f"{captured.given_up:,} units were given up" if captured.given_up else "no unit was given up"
    return f"{name}: the node's buffer held at most {kept} (its bounds: 200,000 and 64 MiB); {lost}"


def catch_up(stack: Stack, log: Log) -> Section:
    """Changes that were captured while nothing ran, against the snapshot of the same entries."""
    address, rows, table = stack.ignite.address, stack.sizes.trades, tables.TRADES
    request: dict[str, object] = {**stack.places, "cache": table.cache, "what": "copy"}
    stream = {
        "run_mode": "once",
        "failover_policy": "BACKLOG",
        "load_initial_data": False,
        "topic_partitions": TOPIC_PARTITIONS,
    }
    copy = {"topic_partitions": TOPIC_PARTITIONS}
    with stack.python("spark", "catch-up") as session, Capture(address, "bench-changes", table.cache) as captured:

        def change() -> None:
            for first in range(0, rows, _LOADED_AT_ONCE):
                tables.put(address, table, first, min(first + _LOADED_AT_ONCE, rows))
                captured.barrier()

        changes: Mapping[str, object] = {**request, "connector": "bench-changes", "settings": stream}
        session.round(**changes)  # begins the capture
        cases = [
            Case("changes", session, changes, change),
            Case("snapshot", session, {**request, "connector": "bench-entries", "settings": copy}),
        ]
        found = in_turn(cases, stack.sizes.stream_rounds, log)
    caught_up, snapshot = found.values()
    sent = {one.entries for one in (caught_up.cold, *caught_up.warm)}
    about = (
        f"Each entry of `{table.cache}` is put once more while nothing runs; then a run with `run_mode` once and `failover_policy` BACKLOG "
        "sends the changes, two tasks in one Spark session, all that a run does included. The snapshot is of the same entries in the same "
        "session."
    )
    findings = (
        f"Changes sent by each run: {', '.join(f'{count:,}' for count in sorted(sent))}",
        ratio_text("Changes against the snapshot", caught_up, snapshot, _CATCH_UP_GOAL),
    )
    return Section("Catching up", about, (series_table([caught_up, snapshot]),), findings)


def queries(stack: Stack, log: Log) -> Section:
    """A continuous run by continuous queries against one with the backlog service, each while the same changes are made."""
    rows, table = stack.sizes.changes, tables.trades("followed")
    tables.load(stack.ignite.address, table, rows)
    request: dict[str, object] = {**stack.places, "cache": table.cache, "what": "changes", "rows": rows}
    settings = {"failover_policy": "NONE", "topic_partitions": TOPIC_PARTITIONS, "poll_interval_ms": _INTERVALS_MS[-1]}
    with stack.python("spark", "queries") as session:
        cases = [
            Followed(name, session, {**request, "by_queries": by_queries, "settings": settings})
            for name, by_queries in _WAYS
        ]
        found = in_turn(cases, stack.sizes.stream_rounds, log)
    tables.destroy(stack.ignite.address, table.cache)
    by_queries, by_service = found.values()
    about = (
        f"A continuous run with `failover_policy` NONE loads the {rows:,} entries of one cache; then a client in the driver's process puts "
        "each entry again, in batches of 20,000. Measured from the first put to the last record that a consumer with `isolation.level` "
        f"read_committed has. Poll interval {_INTERVALS_MS[-1]} ms, local[2]: with the service, two tasks share the cache; by queries, one "
        "task follows it, on one connection to the node. CPU is of the whole round: start, load and puts included."
    )
    findings = (
        ratio_text("By continuous queries against the backlog service", by_queries, by_service),
        *(f"{one.label}: the puts took {_put_share(one):.0f} % of the time" for one in (by_queries, by_service)),
    )
    return Section("Streams without the backlog service", about, (series_table([by_queries, by_service]),), findings)


class Followed(Case):
    """A case whose every round has a new connector, so that all begin alike."""

    def run(self) -> Round:
        """One round."""
        return self.contender.round(**self.request, connector=f"bench-followed-{uuid.uuid4().hex[:6]}")


def _put_share(one: Series) -> float:
    return 100 * statistics.median(float(each.answer["put_seconds"]) / each.seconds for each in one.warm)


def latency(stack: Stack, log: Log) -> Section:
    """From a put to its record, of a continuous run."""
    rows, findings = [], []
    request: dict[str, object] = {
        **stack.places,
        "what": "latency",
        "per_second": _PUTS_A_SECOND,
        "seconds": stack.sizes.watched_s,
    }
    for interval_ms in _INTERVALS_MS:
        name = f"bench-latency-{interval_ms}-{uuid.uuid4().hex[:6]}"
        tables.make_cache(stack.ignite.address, tables.trades(name))
        with stack.python("spark", name) as session:
            one = session.round(**request, connector=name, cache=name, settings={"poll_interval_ms": interval_ms})
        ms = {quantile: float(one.answer[quantile]) for quantile in ("median", "p99", "most")}
        log(f"  {interval_ms} ms: {ms}")
        cpu = [
            f"{one.cpu_seconds.get(role, 0.0) / one.seconds * 100:.0f} %"
            for role in ("python", "worker", "ignite", "broker")
        ]
        rows.append((f"{interval_ms:,}", f"{one.entries:,}", *(f"{value:,.0f}" for value in ms.values()), *cpu))
        goal = interval_ms + _LATE_MS
        outcome = "reached" if ms["p99"] <= goal else "not reached"
        findings.append(
            f"Poll interval {interval_ms:,} ms: 99 of 100 records within **{ms['p99']:,.0f}** ms (goal {goal:,}: {outcome})"
        )
        tables.destroy(stack.ignite.address, name)
    headers = (
        "poll interval ms",
        "records",
        "median ms",
        "p99 ms",
        "most ms",
        "driver CPU",
        "workers CPU",
        "Ignite CPU",
        "broker CPU",
    )
    about = (
        f"A continuous run, two tasks; {_PUTS_A_SECOND} puts a second, each with its time as value, for {stack.sizes.watched_s} s, and a "
        "consumer with `isolation.level` read_committed that takes the time when it has the record. CPU is of one core, of the whole round."
    )
    return Section("From a put to its record", about, (Table(headers, tuple(rows)),), tuple(findings))
