"""How time and memory grow with the cache, and what planning costs when caches are many."""

from __future__ import annotations

import itertools
import statistics
import uuid
from collections.abc import Callable
from dataclasses import replace

from .. import tables
from ..contender import Contender, Round
from ..report import Section, Table
from ..rounds import Case, Log
from ..simulated import PARTITIONS
from ..stack import Stack
from ..tables import BenchTable
from . import sink
from .copy import copy_request

_MOST_GROWTH = 11
_LARGE = 1_000_000
Prepared = Callable[[Contender, BenchTable, int], tuple[BenchTable, Case]]
"""From session, table and size to the cache to destroy afterwards, and the case to measure."""


def tenfold(stack: Stack, log: Log) -> Section:
    """The copy of caches each ten times as large as the one before, in one warm session."""

    def prepared(session: Contender, table: BenchTable, size: int) -> tuple[BenchTable, Case]:
        return _filled(stack, session, table, size, "growth")

    rounds = _grown(stack, "growth", prepared, log)
    return _section("Ten times the entries", "entries", "Six-field entries, JSON, one warm session.", rounds)


def _filled(stack: Stack, session: Contender, table: BenchTable, size: int, connector: str) -> tuple[BenchTable, Case]:
    """A loaded cache, and the case that copies it."""
    tables.load(stack.ignite.address, table, size)
    request = {**stack.places, "cache": table.cache}
    return table, Case(table.cache, session, copy_request(request, f"{connector}-{size}"))


def tenfold_sink(stack: Stack, log: Log) -> Section:
    """Topics each with ten times the records of the one before into new caches, in one warm session."""

    def written(session: Contender, table: BenchTable, size: int) -> tuple[BenchTable, Case]:
        topic = sink.written(stack, table, size)
        return topic.target, topic.case("ours", session, what="sink", overwrite=True)

    rounds = _grown(stack, "growth-sink", written, log)
    about = "Records of six fields, JSON, into a cache with a query entity that is made anew for each round, one warm session."
    return _section("Ten times the records", "records", about, rounds)


def tenfold_verify(stack: Stack, log: Log) -> Section:
    """Comparisons of both directions, each of ten times the entries of the one before; another session copies them before."""
    with stack.python("spark", "growth-copies") as copies:

        def source(session: Contender, table: BenchTable, size: int) -> tuple[BenchTable, Case]:
            compared, case = _filled(stack, session, table, size, "verified")
            copies.round(**case.request)
            return compared, replace(case, request={**case.request, "what": "verify"})

        def stored(session: Contender, table: BenchTable, size: int) -> tuple[BenchTable, Case]:
            topic = sink.written(stack, table, size)
            topic.case("", copies, what="sink", overwrite=True).run()
            return topic.target, Case(table.cache, session, {**topic.request, "what": "verify", "overwrite": True})

        of_source = _grown(stack, "growth-verify", source, log)
        of_sink = _grown(stack, "growth-verify-sink", stored, log)
    about = (
        "`verify_connector`, six-field entries, JSON, caches and topics that are equal, one warm session for each direction. "
        "First table: a source's topics; second: a sink's caches. A worker's peak includes free memory that it keeps from earlier "
        "tasks, which levels off after some comparisons."
    )
    parts = [_section("Ten times the entries to compare", "entries", about, rounds) for rounds in (of_source, of_sink)]
    findings = [
        f"{what}: {text}" for what, part in zip(("Source", "Sink"), parts, strict=True) for text in part.findings
    ]
    return replace(parts[0], tables=tuple(table for part in parts for table in part.tables), findings=tuple(findings))


def _grown(stack: Stack, name: str, prepared: Prepared, log: Log) -> list[tuple[int, list[Round]]]:
    """The rounds of each size; the very first of all is a cold one and left out."""
    rounds: list[tuple[int, list[Round]]] = []
    with stack.python("spark", name) as session:
        for size in stack.sizes.growth:
            log(f"  loading {size:,}")
            table, case = prepared(session, tables.trades(f"trades-{size}"), size)
            if not rounds:
                _round(case, log)
            rounds.append((size, [_round(case, log) for _ in range(1 if size > _LARGE else stack.sizes.growth_rounds)]))
            tables.destroy(stack.ignite.address, table.cache)
    return rounds


def _section(title: str, unit: str, about: str, rounds: list[tuple[int, list[Round]]]) -> Section:
    rows = [_growth_row(size, found, rounds[at - 1] if at else None) for at, (size, found) in enumerate(rounds)]
    growths = [_median(found) / _median(before) for (_, before), (_, found) in itertools.pairwise(rounds)]
    peaks = [_peak(found, "worker") for _, found in rounds]
    outcome = "reached" if max(growths) <= _MOST_GROWTH else "not reached"
    findings = (
        f"{title} take at most **{max(growths):.1f}** times as long (goal {_MOST_GROWTH}: {outcome})",
        f"Peak memory of a Python worker: {' → '.join(f'{peak:.0f}' for peak in peaks)} MiB for these sizes",
    )
    headers = (unit, "s", f"{unit}/s", "times the one before", "worker peak MiB", "driver peak MiB", "JVM peak MiB")
    return Section(title, about, (Table(headers, tuple(rows)),), findings)


def _round(case: Case, log: Log) -> Round:
    one = case.run()
    log(f"  {one.entries:,} in {one.seconds:.2f} s, worker peak {one.peak_mib.get('worker', 0):.0f} MiB")
    return one


def _median(rounds: list[Round]) -> float:
    return statistics.median(one.seconds for one in rounds)


def _peak(rounds: list[Round], role: str) -> float:
    return max(one.peak_mib.get(role, 0.0) for one in rounds)


def _growth_row(size: int, rounds: list[Round], before: tuple[int, list[Round]] | None) -> tuple[str, ...]:
    seconds = _median(rounds)
    times = f"{seconds / _median(before[1]):.1f}" if before else ""
    peaks = (f"{_peak(rounds, role):.0f}" for role in ("worker", "python", "jvm"))
    return (f"{size:,}", f"{seconds:.2f}", f"{size / seconds:,.0f}", times, *peaks)


def many_units(stack: Stack, log: Log) -> Section:
    """A snapshot of simulated caches: begun, repeated, broken half-way and continued."""
    caches = stack.sizes.caches
    connector = f"many-{uuid.uuid4().hex[:6]}"
    request = {**stack.places, "what": "units", "caches": caches, "connector": connector}
    half = [f"simulated-{caches // 2}"]
    plans: tuple[tuple[str, dict[str, object]], ...] = (
        ("first snapshot, topics made", {"snapshot_id": "first"}),
        ("next snapshot", {"snapshot_id": "second"}),
        ("broken half-way", {"snapshot_id": "third", "broken": half}),
        ("continued", {"snapshot_id": "third"}),
    )
    rows, phases = [], ("plan", "topics", "take", "begin", "copy", "finish")
    with stack.python("spark", "units") as session:
        for number, (label, more) in enumerate(plans):
            one = session.round(**request, **more, run_id=f"run-{number}")
            log(f"  {label}: {one.seconds:.1f} s {one.answer['phases']}")
            parts = [f"{one.answer['phases'].get(phase, 0.0):.1f}" for phase in phases]
            cpu = [f"{one.cpu_seconds.get(role, 0.0):.0f}" for role in ("python", "worker", "broker")]
            peaks = [f"{one.peak_mib.get(role, 0.0):.0f}" for role in ("python", "worker", "jvm")]
            rows.append((label, f"{one.seconds:.1f}", *parts, *cpu, *peaks))
    headers = (
        "run",
        "s",
        *phases,
        "driver CPU s",
        "workers CPU s",
        "broker CPU s",
        "driver MiB",
        "worker MiB",
        "JVM MiB",
    )
    units = caches * PARTITIONS
    about = (
        f"{caches:,} simulated caches of {PARTITIONS:,} partitions, {units:,} units, one entry a partition in every hundredth cache, none "
        "in the others; real Spark (local[2]) and real Kafka, one topic of one partition a cache, 16 slots. Seconds of each phase."
    )
    return Section(f"{units:,} units", about, (Table(headers, tuple(rows)),))
