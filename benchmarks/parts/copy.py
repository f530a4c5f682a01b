"""The whole copy: ours against the peer written by hand, JSON against Ignite binary, one fused task against two data sources."""

from __future__ import annotations

from collections.abc import Mapping

from ..report import Section, ratio_text, series_table
from ..rounds import Case, Log, Series, in_turn
from ..stack import TOPIC_PARTITIONS, Stack
from ..tables import TRADES, WIDE

_GOAL, _AIM, _BINARY_GOAL = 1.0, 1.5, 1.5
_THREADS = 2
_BINARY = {"key_converter": "ignite-binary", "value_converter": "ignite-binary"}


def whole(stack: Stack, log: Log) -> Section:
    """The copy of each table by ours (JSON, Ignite binary) and by the peer, by turns."""
    tables, findings = [], []
    with stack.python("spark", "copy") as ours, stack.java("HandWrittenCopy") as java:
        for cache in (TRADES.cache, WIDE.cache):
            request = {**stack.places, "cache": cache}
            by_hand = {**request, "topic": stack.topic(f"java-{cache}"), "threads": _THREADS}
            cases = [
                Case(f"{cache}: ours, JSON", ours, copy_request(request, f"json-{cache}")),
                Case(f"{cache}: by hand in Java, JSON", java, {**by_hand, "keepNames": False}),
                Case(f"{cache}: ours, Ignite binary", ours, copy_request(request, f"binary-{cache}", **_BINARY)),
                Case(f"{cache}: by hand, names kept", java, {**by_hand, "keepNames": True}),
            ]
            found = in_turn(cases, stack.sizes.rounds, log)
            json, peer, binary, tuned = (found[case.label] for case in cases)
            tables.append(series_table([json, binary, peer, tuned]))
            findings.append(f"{ratio_text(f'{cache}: JSON against Java by hand', json, peer, _GOAL)} (aim {_AIM})")
            findings.append(ratio_text(f"{cache}: JSON against Java by hand that keeps field names", json, tuned))
            findings.append(ratio_text(f"{cache}: Ignite binary against our JSON", binary, json, _BINARY_GOAL))
            if cache == TRADES.cache:
                findings.append(_cold(json, peer))
    about = (
        "`run_snapshot` in one Spark session, local[2], a new snapshot id each round, default settings: all that a run does, plan, "
        f"copy, finish, status. The peer has {_THREADS} threads with one transaction each and keeps no offsets; *names kept* asks for the "
        "names of fields once, not for each entry."
    )
    return Section("Whole copy", about, tuple(tables), tuple(findings))


def copy_request(request: Mapping[str, object], connector: str, **settings: object) -> dict[str, object]:
    """What ours must know to copy a cache.

    :param request: the cache, and where the clusters are.
    """
    more = {"topic_partitions": TOPIC_PARTITIONS, **settings}
    return {**request, "what": "copy", "connector": connector, "settings": more}


def _cold(ours: Series, peer: Series) -> str:
    return (
        f"A cold copy, first round with the start of the process: ours {ours.start_seconds + ours.cold.seconds:.1f} s "
        f"(Spark session and Python workers), by hand {peer.start_seconds + peer.cold.seconds:.1f} s"
    )


def fused(stack: Stack, log: Log) -> Section:
    """One Python task that reads, converts and sends, against two data sources with Spark SQL between them."""
    cache = TRADES.cache
    request = {**stack.places, "cache": cache, "rows": stack.sizes.trades}
    with stack.python("spark", "fused") as session:
        cases = [
            Case("fused in one task", session, copy_request(request, "fused")),
            Case(
                "two data sources",
                session,
                {**request, "what": "two_sources", "connector": "two", "topic": stack.topic("two-sources")},
            ),
        ]
        found = in_turn(cases, stack.sizes.spark_rounds, log)
    one, two = found.values()
    about = (
        "The same session copies `trades` by the snapshot pipeline (no record crosses the JVM), and by "
        '`read.format("ignite")` → `to_json` in Spark SQL → `write.format("kafka-tx")`.'
    )
    return Section(
        "Fused copy against two data sources",
        about,
        (series_table([one, two]),),
        (ratio_text("Fused against two sources", one, two),),
    )


def queueing(stack: Stack, log: Log) -> Section:
    """A batch in one call of librdkafka against a call a record."""
    request = {**stack.places, "topic": stack.topic("produced"), "count": stack.sizes.produced}
    with stack.python("produce", "produce") as ours:
        cases = [
            Case(label, ours, {**request, "what": what})
            for label, what in (("rd_kafka_produce_batch", "batch"), ("producer.produce", "one_by_one"))
        ]
        found = in_turn(cases, stack.sizes.rounds, log)
    batch, single = found.values()
    own = [min(float(one.answer["queueing_us"]) for one in series.warm) for series in (batch, single)]
    findings = (
        f"CPU of the calling thread alone, least: {own[0]:.2f} µs a record by the batch, {own[1]:.2f} µs by a call each",
        ratio_text("Batch against a call each", batch, single),
    )
    about = "Records of about 130 bytes in one transaction a round; conversion is not measured."
    return Section("Handing records to librdkafka", about, (series_table([batch, single]),), findings)
