"""Converters against plain JSON, both directions, each side its own: what schemas, a schema registry and other keys cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tools.servers.jars import Jars
from tools.servers.registry import SchemaRegistry

from .. import tables
from ..contender import Contender
from ..report import Section, ratio_text, series_table
from ..rounds import Case, Log, Series, in_turn
from ..stack import Stack
from ..tables import SINK_CACHES, SINK_TOPICS, TEXT_KEY, TRADES, WIDE, BenchTable
from .copy import copy_request
from .sink import Sink

_JSON = "JSON"


@dataclass(frozen=True)
class Pair:
    """Converters of keys and values, and the goal of their speed in times of JSON's.

    :param text_keys: keys in the cache that the sink fills are Strings; Ignite takes longer for them than for Long
        keys.
    """

    label: str
    name: str
    key: str
    value: str
    goal: float | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    text_keys: bool = False

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
    Pair("String key, JSON value", "string", "string", "json", 1.0, text_keys=True),
    Pair("Avro", "avro", "avro", "avro", 1.0),
    Pair("Ignite binary", "binary", "ignite-binary", "ignite-binary"),
)
_TEXT_KEYS = Pair("JSON, keys are Strings", "text", "json", "json", text_keys=True)


def both_directions(stack: Stack, log: Log) -> Section:
    """Copies of each table by each pair of converters, by turns, and each copy's topic into a new cache."""
    found_tables, findings = [], []
    with (
        SchemaRegistry(stack.work / "registry", jars=Jars.of_checkout()) as registry,
        stack.python("spark", "converters") as ours,
    ):
        for table, rows in ((TRADES, stack.sizes.trades), (WIDE, stack.sizes.wide)):
            for direction, pairs, series in (
                ("to Kafka", PAIRS, _to_kafka(stack, ours, table, registry.url, log)),
                ("to Ignite", (*PAIRS, _TEXT_KEYS), _to_ignite(stack, ours, table, rows, registry.url, log)),
            ):
                found_tables.append(series_table(series))
                findings += _ratios(f"{table.cache}, {direction}", pairs, series)
            peaks = (
                f"{pair.label} {one.peak_mib.get('worker', 0.0):,.0f}" for pair, one in zip(pairs, series, strict=True)
            )
            findings.append(f"{table.cache}, to Ignite: peak memory of a Python worker, MiB: {', '.join(peaks)}")
    about = (
        "As *Whole copy* and *From a topic into a cache*, with other converters of keys and values; `field_nullability_policy` is EAGER "
        "for all. Each topic of the other direction was written by a copy with the same converters. The wide table has nulls. A String "
        "key stays a String in the cache, so it is compared with JSON into a cache of String keys."
    )
    return Section("Converters", about, tuple(found_tables), tuple(findings))


def _to_kafka(stack: Stack, ours: Contender, table: BenchTable, registry: str, log: Log) -> list[Series]:
    request = {**stack.places, "cache": table.cache}
    cases = [
        Case(
            f"{table.cache}: {pair.label}",
            ours,
            _copy(request, f"{pair.name}-of-{table.cache}", pair.settings(registry)),
        )
        for pair in PAIRS
    ]
    return list(in_turn(cases, stack.sizes.rounds, log).values())


def _to_ignite(stack: Stack, ours: Contender, table: BenchTable, rows: int, registry: str, log: Log) -> list[Series]:
    pairs = (*PAIRS, _TEXT_KEYS)
    sinks = [_copied(stack, ours, table, rows, pair, registry) for pair in pairs]
    cases = [
        sink.case(pair.label, ours, what="sink", overwrite=True, settings=pair.settings(registry))
        for pair, sink in zip(pairs, sinks, strict=True)
    ]
    series = list(in_turn(cases, stack.sizes.sink_rounds, log).values())
    for sink in sinks:
        tables.destroy(stack.ignite.address, sink.target.cache)
    return series


def _ratios(about: str, pairs: Sequence[Pair], series: Sequence[Series]) -> list[str]:
    """How fast each pair is in times of JSON, of that with the same keys in the cache."""
    of = {pair.name: one for pair, one in zip(pairs, series, strict=True)}
    lines = []
    for pair in pairs[1:]:
        base = _TEXT_KEYS if pair.text_keys and pair is not _TEXT_KEYS and _TEXT_KEYS.name in of else pairs[0]
        lines.append(ratio_text(f"{about}: {pair.label} against {base.label}", of[pair.name], of[base.name], pair.goal))
    return lines


def _copy(request: Mapping[str, object], connector: str, settings: Mapping[str, object]) -> dict[str, object]:
    return copy_request(request, connector, field_nullability_policy="EAGER", **settings)


def _copied(stack: Stack, ours: Contender, table: BenchTable, rows: int, pair: Pair, registry: str) -> Sink:
    """A topic with the table's entries, copied there from a cache that is gone afterwards."""
    source = replace(table, cache=f"{table.cache}-{pair.name}", key=TEXT_KEY if pair.text_keys else table.key)
    tables.load(stack.ignite.address, source, rows)
    settings = {**pair.settings(registry), "topic_prefix": SINK_TOPICS}
    ours.round(**_copy({**stack.places, "cache": source.cache}, f"source-of-{source.cache}", settings))
    tables.destroy(stack.ignite.address, source.cache)
    return Sink(stack, f"{SINK_TOPICS}{source.cache}", replace(source, cache=f"{SINK_CACHES}{source.cache}"))
