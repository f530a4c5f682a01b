"""Reading a cache: to Arrow on one connection, and through Spark."""

from __future__ import annotations

from ..report import Section, Table, ratio_text, series_table
from ..rounds import Case, Log, in_turn, warm
from ..stack import Stack
from ..tables import TRADES, WIDE

_GOAL = 0.8


def one_connection(stack: Stack, log: Log) -> Section:
    """Ours against Java's field-by-field scan, each on one connection and one thread."""
    tables, findings = [], []
    with stack.python("read", "read") as ours, stack.java("FieldScan") as java:
        for cache in (TRADES.cache, WIDE.cache):
            request = {**stack.places, "cache": cache}
            cases = [
                Case(f"{cache}: ours, to Arrow", ours, {**request, "what": "arrow"}),
                Case(f"{cache}: Java, every field", java, request),
                Case(f"{cache}: ours, to JSON", ours, {**request, "what": "json"}),
                Case(f"{cache}: ours, pages alone", ours, {**request, "what": "pages"}),
            ]
            found = in_turn(cases, stack.sizes.rounds, log)
            tables.append(series_table(list(found.values())))
            arrow, peer = found[cases[0].label], found[cases[1].label]
            findings.append(ratio_text(f"{cache}: to Arrow against Java's field-by-field scan", arrow, peer, _GOAL))
            if cache == TRADES.cache:
                slow = Case(
                    "trades: pyignite scan", ours, {**request, "what": "pyignite", "most": stack.sizes.pyignite}
                )
                scanned = in_turn([slow], 1, log)[slow.label]
                times = arrow.per_second / scanned.per_second
                findings.append(
                    f"trades: to Arrow against pyignite's scan ({scanned.per_second:,.0f} entries/s): **{times:,.0f}** times as fast"
                )
    about = "One thread, one connection, no Spark. *pages alone* decodes nothing: the limit of one connection."
    return Section("Read on one connection", about, tuple(tables), tuple(findings))


def through_spark(stack: Stack, log: Log) -> Section:
    """The data source `ignite` against `spark.read.jdbc` with Ignite's JDBC driver."""
    tables, findings = [], []
    with stack.python("spark", "spark-read") as session:
        for table, rows, column in ((TRADES, stack.sizes.trades, "ID"), (WIDE, stack.sizes.wide, "L0")):
            request = {**stack.places, "cache": table.cache, "rows": rows, "column": column}
            ours = Case(f'{table.cache}: read.format("ignite")', session, {**request, "what": "read_ignite"})
            jdbc = Case(f"{table.cache}: read.jdbc", session, {**request, "what": "read_jdbc"})
            found = in_turn([ours, jdbc], stack.sizes.spark_rounds, log)
            tables.append(series_table(list(found.values())))
            findings.append(
                ratio_text(f"{table.cache}: data source against JDBC", found[ours.label], found[jdbc.label])
            )
    about = "One Spark session, local[2], every column made and thrown away; JDBC in two ranges of a column, fetch size 10,000."
    return Section("Read through Spark", about, tuple(tables), tuple(findings))


def empty_units(stack: Stack, cache: str, log: Log) -> Section:
    """What a unit without entries costs on a real node."""
    with stack.python("read", "empty") as ours:
        request = {**stack.places, "cache": cache, "what": "pages"}
        rounds = [ours.round(**request) for _ in range(stack.sizes.rounds + 1)]
    best = min(warm(rounds), key=lambda one: one.seconds)
    units = int(best.answer["units"])
    log(f"  {units} empty units in {best.seconds:.2f} s")
    row = (
        f"{units:,}",
        f"{best.seconds:.2f}",
        f"{units / best.seconds:,.0f}",
        *(f"{best.cpu_seconds.get(role, 0) / units * 1e6:,.0f}" for role in ("python", "ignite")),
    )
    table = Table(("units", "s", "units/s", "own CPU µs a unit", "Ignite CPU µs a unit"), (row,))
    return Section(
        "Empty units", "A scan of a cache of 1,024 partitions without an entry, on one connection.", (table,)
    )
