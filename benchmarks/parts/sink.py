"""The other direction: a topic into a cache, by ours, by the peer in Java and by pyignite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ignite_kafka.convert.types import type_name_of

from .. import tables
from ..contender import Contender
from ..report import Section, ratio_text, series_table
from ..rounds import Case, Series, in_turn
from ..stack import TOPIC_PARTITIONS, Stack
from ..tables import SINK_CACHES, SINK_TOPICS, TRADES, WIDE, BenchTable, java_types

_GOAL, _AIM = 1.0, 1.5
_THREADS = 2
_AGAIN = "-again"
Tell = Callable[[str], None]


def whole(stack: Stack, tell: Tell) -> Section:
    """The topic of each table into a new cache each round, by turns."""
    found_tables, findings = [], []
    with stack.python("spark", "sink") as ours, stack.java("HandWrittenSink") as java:
        for table, rows in ((TRADES, stack.sizes.trades), (WIDE, stack.sizes.wide)):
            topic, target = prepared(stack, ours, table, rows)
            request = _request(stack, target, topic)
            cases = [
                _case(stack, target, "ours", ours, {**request, "what": "sink", "overwrite": True}),
                _case(stack, target, "by hand in Java", java, {**request, "threads": _THREADS}),
                _case(stack, target, "ours, new entries only", ours, {**request, "what": "sink", "overwrite": False}),
            ]
            mine, peer, inserted = in_turn(cases, stack.sizes.sink_rounds, tell).values()
            found_tables.append(series_table([mine, inserted, peer]))
            findings.append(f"{ratio_text(f'{table.cache}: into a cache against Java by hand', mine, peer, _GOAL)} (aim {_AIM})")
            findings.append(ratio_text(f"{table.cache}: new entries only (process_updates off) against overwriting", inserted, mine))
            if table is TRADES:
                findings.append(_against_pyignite(stack, target, request, mine, tell))
            tables.destroy(stack.ignite.address, target.cache)
    about = (
        "`run_connector` in one Spark session, local[2], a new connector each round: all that a run does, plan, read the topic to its "
        f"end, store, commit offsets, status. The peer has {_THREADS} threads with a consumer each, knows the types and commits "
        "nothing. The cache has a query entity and is made anew before each round."
    )
    return Section("From a topic into a cache", about, tuple(found_tables), tuple(findings))


def prepared(stack: Stack, ours: Contender, table: BenchTable, rows: int) -> tuple[str, BenchTable]:
    """A topic with the table's entries as JSON, copied there by ours from a cache that is gone afterwards; and where they go from there."""
    source = replace(table, cache=f"{table.cache}{_AGAIN}")
    settings: Mapping[str, object] = {"topic_partitions": TOPIC_PARTITIONS, "topic_prefix": SINK_TOPICS}
    tables.load(stack.ignite.address, source, rows)
    ours.round(**stack.places, cache=source.cache, what="copy", connector=f"source-of-{table.cache}", settings=settings)
    tables.destroy(stack.ignite.address, source.cache)
    return f"{SINK_TOPICS}{source.cache}", replace(table, cache=f"{SINK_CACHES}{source.cache}")


def remake(stack: Stack, table: BenchTable) -> None:
    """The cache, empty."""
    tables.destroy(stack.ignite.address, table.cache)
    tables.make_cache(stack.ignite.address, table, sql=True)


def _request(stack: Stack, target: BenchTable, topic: str) -> Mapping[str, object]:
    return {**stack.places, "topic": topic, "cache": target.cache, "type": type_name_of(target.value), "fields": java_types(target)}


def _case(stack: Stack, target: BenchTable, label: str, contender: Contender, request: Mapping[str, object]) -> Case:
    name = target.cache.removeprefix(SINK_CACHES).removesuffix(_AGAIN)
    return Case(f"{name}: {label}", contender, request, lambda: remake(stack, target))


def _against_pyignite(stack: Stack, target: BenchTable, request: Mapping[str, object], mine: Series, tell: Tell) -> str:
    with stack.python("put_all", "put_all") as single:
        asked = {**request, "what": "put_all", "count": stack.sizes.pyignite}
        found = in_turn([_case(stack, target, "pyignite", single, asked)], 1, tell)
    (peer,) = found.values()
    times = mine.per_second / peer.per_second
    return f"{TRADES.cache}: against pyignite's put_all ({peer.per_second:,.0f} records/s): **{times:.0f}** times as fast"
