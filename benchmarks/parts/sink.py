"""The other direction: a topic into a cache, by ours, by the peer in Java and by pyignite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ignite_kafka.ignite.types.type_table import type_name_of

from .. import tables
from ..contender import Contender
from ..report import Section, ratio_text, series_table
from ..rounds import Case, Log, Series, in_turn
from ..stack import TOPIC_PARTITIONS, Stack
from ..tables import SINK_CACHES, SINK_TOPICS, TRADES, WIDE, BenchTable, java_types

_GOAL, _AIM = 1.0, 1.5
_STRICT_GOAL = 0.85
_THREADS = 2
_COPIED = "-copied"


def whole(stack: Stack, log: Log) -> Section:
    """The topic of each table into a new cache each round, by turns; that of the six-field one in two orders."""
    found_tables, findings = [], []
    with stack.python("spark", "sink") as ours, stack.java("HandWrittenSink") as java:
        for table, rows in ((TRADES, stack.sizes.trades), (WIDE, stack.sizes.wide)):
            sink = written(stack, table, rows)
            cases = [
                sink.case("ours", ours, what="sink", overwrite=True),
                sink.case("ours, new entries only", ours, what="sink", overwrite=False),
                sink.case("by hand in Java", java, threads=_THREADS),
            ]
            if table is TRADES:
                again = copied(stack, ours, table, rows)
                cases.append(again.case("ours, from a copy's topic", ours, what="sink", overwrite=True))
                cases.append(again.case("by hand, from a copy's topic", java, threads=_THREADS))
            series = list(in_turn(cases, stack.sizes.sink_rounds, log).values())
            mine, inserted, peer, *of_copy = series
            found_tables.append(series_table(series))
            findings.append(
                f"{ratio_text(f'{table.cache}: into a cache against Java by hand', mine, peer, _GOAL)} (aim {_AIM})"
            )
            findings.append(
                ratio_text(f"{table.cache}: new entries only (process_updates off) against overwriting", inserted, mine)
            )
            if table is TRADES:
                findings.append(
                    ratio_text(
                        f"{table.cache}: from a copy's topic against Java by hand", of_copy[0], of_copy[1], _GOAL
                    )
                )
                findings.append(_against_pyignite(stack, sink, mine, log))
                tables.destroy(stack.ignite.address, again.target.cache)
            tables.destroy(stack.ignite.address, sink.target.cache)
    about = (
        "`run_connector` in one Spark session, local[2], a connector whose group begins anew each round: all that a run does, plan, "
        f"read the topic to its end, store, commit offsets, status. The peer has {_THREADS} threads with a consumer each, knows the types "
        "and commits nothing. The cache has a query entity and is made anew before each round. The topic has its records in the order "
        "of their ids, as an application writes them; *a copy's topic* was written by the copy of a cache, in the order of its partitions."
    )
    return Section("From a topic into a cache", about, tuple(found_tables), tuple(findings))


def strict(stack: Stack, log: Log) -> Section:
    """The topic of the six-field table into new caches, by turns with each delivery and of each atomicity."""
    found_tables, findings = [], []
    with stack.python("spark", "strict") as ours:
        for atomicity in ("ATOMIC", "TRANSACTIONAL"):
            sink = replace(written(stack, TRADES, stack.sizes.trades), atomicity=atomicity)
            cases = [
                sink.case(
                    f"{delivery}, {atomicity}", ours, what="sink", overwrite=True, settings={"delivery": delivery}
                )
                for delivery in ("converging", "strict")
            ]
            converging, fenced = in_turn(cases, stack.sizes.sink_rounds, log).values()
            found_tables.append(series_table([converging, fenced]))
            findings.append(ratio_text(f"{atomicity}: strict against converging", fenced, converging, _STRICT_GOAL))
            tables.destroy(stack.ignite.address, sink.target.cache)
    about = (
        "As under *From a topic into a cache*, ours alone: with `delivery=strict` the nodes compare each write with its task's token "
        "(decisions/0060-fenced-writes.md)."
    )
    return Section("Strict sinks", about, tuple(found_tables), tuple(findings))


@dataclass(frozen=True)
class Sink:
    """A topic, and the cache for its entries."""

    stack: Stack
    topic: str
    target: BenchTable
    atomicity: str | None = None

    @property
    def request(self) -> Mapping[str, object]:
        """What a contender must know to fill the cache from the topic."""
        fields = {"type": type_name_of(self.target.value), "fields": java_types(self.target)}
        return {
            **self.stack.places,
            "topic": self.topic,
            "cache": self.target.cache,
            "connector": self.target.cache,
            **fields,
        }

    def prepare(self) -> None:
        """The cache empty, and all of the topic to be read."""
        tables.destroy(self.stack.ignite.address, self.target.cache)
        tables.make_cache(self.stack.ignite.address, self.target, sql=True, atomicity=self.atomicity)
        self.stack.rewind(self.target.cache, self.topic)

    def case(self, label: str, contender: Contender, **more: object) -> Case:
        """Return a case that fills the cache anew in each round."""
        table = self.target.cache.removeprefix(SINK_CACHES).removesuffix(_COPIED)
        return Case(f"{table}: {label}", contender, {**self.request, **more}, self.prepare)


def written(stack: Stack, table: BenchTable, rows: int) -> Sink:
    """A topic with the table's entries as JSON in the order of their ids, written once for all parts."""
    topic = f"{SINK_TOPICS}{table.cache}"
    if topic not in stack.topics():
        stack.produce(stack.topic(topic), tables.records(table, rows))
    return Sink(stack, topic, replace(table, cache=f"{SINK_CACHES}{table.cache}"))


def copied(stack: Stack, ours: Contender, table: BenchTable, rows: int) -> Sink:
    """A topic with the table's entries as JSON, copied there by ours from a cache that is gone afterwards."""
    source = replace(table, cache=f"{table.cache}{_COPIED}")
    settings: Mapping[str, object] = {"topic_partitions": TOPIC_PARTITIONS, "topic_prefix": SINK_TOPICS}
    tables.load(stack.ignite.address, source, rows)
    ours.round(**stack.places, cache=source.cache, what="copy", connector=f"source-of-{table.cache}", settings=settings)
    tables.destroy(stack.ignite.address, source.cache)
    return Sink(stack, f"{SINK_TOPICS}{source.cache}", replace(table, cache=f"{SINK_CACHES}{source.cache}"))


def _against_pyignite(stack: Stack, sink: Sink, mine: Series, log: Log) -> str:
    with stack.python("put_all", "put_all") as single:
        found = in_turn([sink.case("pyignite", single, what="put_all", count=stack.sizes.pyignite)], 1, log)
    (peer,) = found.values()
    times = mine.per_second / peer.per_second
    return (
        f"{TRADES.cache}: against pyignite's put_all ({peer.per_second:,.0f} records/s): **{times:.0f}** times as fast"
    )
