"""Converters against plain JSON, both directions, each side its own: what schemas, a schema registry and other keys cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tools.servers.jars import Jars
from tools.servers.registry import SchemaRegistry

from .. import tables
from ..contender import Contender
from ..report import Section, ratio_text, series_table
from ..rounds import Case, Log, in_turn
from ..stack import TOPIC_PARTITIONS, Stack
from ..tables import SINK_CACHES, SINK_TOPICS, TEXT_KEY, TRADES, WIDE, BenchTable
from .sink import Sink

_JSON = "JSON"


@dataclass(frozen=True)
class Pair:
    """Converters of keys and values, and the goal of their speed in times of JSON's."""

    label: str
    name: str
    key: str
    value: str
    goal: float | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    def settings(self, registry: str) -> dict[str, object]:
        """Settings of both directions."""
        found: dict[str, object] = {}
        for side, converter in (("key", self.key), ("value", self.value)):
            url = {"schema.registry.url": registry} if converter == "avro" else {}
            found[f"{side}_converter"] = converter
            found[f"{side}_converter_config"] = url | (dict(self.config) if converter == "json" else {})
        return found


PAIRS = (
    Pair(_JSON, "json", "json", "json"),
    Pair("JSON with schemas", "schemas", "json", "json", 0.85, {"schemas.enable": "true"}),
    Pair("String key, JSON value", "string", "string", "json", 1.0),
    Pair("Avro", "avro", "avro", "avro", 1.0),
    Pair("Ignite binary", "binary", "ignite-binary", "ignite-binary"),
)


def both_directions(stack: Stack, log: Log) -> Section:
    """Copies of each table by each pair of converters, by turns, and each copy's topic into a new cache."""
    found_tables, findings = [], []
    with SchemaRegistry(stack.work / "registry", jars=Jars.of_checkout()) as registry, stack.python("spark", "converters") as ours:
        for table, rows in ((TRADES, stack.sizes.trades), (WIDE, stack.sizes.wide)):
            request = {**stack.places, "cache": table.cache}
            cases = [
                Case(f"{table.cache}: {pair.label}", ours, _copy(request, f"{pair.name}-of-{table.cache}", pair.settings(registry.url)))
                for pair in PAIRS
            ]
            found = in_turn(cases, stack.sizes.rounds, log)
            series = [found[case.label] for case in cases]
            found_tables.append(series_table(series))
            for pair, one in list(zip(PAIRS, series, strict=True))[1:]:
                findings.append(ratio_text(f"{table.cache}, to Kafka: {pair.label} against JSON", one, series[0], pair.goal))
            sinks = [_copied(stack, ours, table, rows, pair, registry.url) for pair in PAIRS]
            cases = [
                sink.case(pair.label, ours, what="sink", overwrite=True, settings=pair.settings(registry.url))
                for pair, sink in zip(PAIRS, sinks, strict=True)
            ]
            series = list(in_turn(cases, stack.sizes.sink_rounds, log).values())
            found_tables.append(series_table(series))
            for pair, one in list(zip(PAIRS, series, strict=True))[1:]:
                findings.append(ratio_text(f"{table.cache}, to Ignite: {pair.label} against JSON", one, series[0], pair.goal))
            peaks = {pair.label: max(one.peak_mib.get("worker", 0.0) for one in [each]) for pair, each in zip(PAIRS, series, strict=True)}
            findings.append(f"{table.cache}: peak memory of a Python worker, MiB: " + ", ".join(f"{k} {v:,.0f}" for k, v in peaks.items()))
            for sink in sinks:
                tables.destroy(stack.ignite.address, sink.target.cache)
    about = (
        "As *Whole copy* and *From a topic into a cache*, with other converters of keys and values; `field_nullability_policy` is EAGER "
        "for all. Each topic of the other direction was written by a copy with the same converters. The wide table has nulls."
    )
    return Section("Converters", about, tuple(found_tables), tuple(findings))


def _copy(request: Mapping[str, object], connector: str, settings: Mapping[str, object]) -> dict[str, object]:
    more = {"topic_partitions": TOPIC_PARTITIONS, "field_nullability_policy": "EAGER", **settings}
    return {**request, "what": "copy", "connector": connector, "settings": more}


def _copied(stack: Stack, ours: Contender, table: BenchTable, rows: int, pair: Pair, registry: str) -> Sink:
    """A topic with the table's entries, copied there from a cache that is gone afterwards."""
    source = replace(table, cache=f"{table.cache}-{pair.name}")
    tables.load(stack.ignite.address, source, rows)
    settings = {**pair.settings(registry), "topic_prefix": SINK_TOPICS}
    ours.round(**_copy({**stack.places, "cache": source.cache}, f"source-of-{source.cache}", settings))
    tables.destroy(stack.ignite.address, source.cache)
    key = TEXT_KEY if pair.key == "string" else table.key
    return Sink(stack, f"{SINK_TOPICS}{source.cache}", replace(table, cache=f"{SINK_CACHES}{source.cache}", key=key))
