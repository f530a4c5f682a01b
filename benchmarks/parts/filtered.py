"""Copies with a filter that keeps few entries, against the copy of all."""

from __future__ import annotations

from ..report import Section, ratio_text, series_table
from ..rounds import Case, Log, in_turn
from ..stack import TOPIC_PARTITIONS, Stack
from ..tables import TRADES, WIDE

_GOAL = 1 / 0.6
_FILTERS = {
    TRADES.cache: (("a text", "symbol = 'SYM7'"), ("a number", "qty < 10")),
    WIDE.cache: (("one of 40 columns", "l0 < 5000000000"),),
}


def kept_few(stack: Stack, log: Log) -> Section:
    """The copy of each table with conditions that keep about one entry of a hundred, and without, by turns."""
    tables, findings = [], []
    with stack.python("spark", "filter") as ours:
        for cache, conditions in _FILTERS.items():
            request = {**stack.places, "cache": cache, "what": "copy"}
            chosen = (("all entries", ""), *((f"by {label}", where) for label, where in conditions))
            cases = [
                Case(
                    f"{cache}: {label}",
                    ours,
                    {
                        **request,
                        "connector": f"{number}-of-{cache}",
                        "settings": {"topic_partitions": TOPIC_PARTITIONS, "where": where},
                    },
                )
                for number, (label, where) in enumerate(chosen)
            ]
            series = list(in_turn(cases, stack.sizes.rounds, log).values())
            tables.append(series_table(series))
            findings += [ratio_text(f"{one.label} against all entries", one, series[0], _GOAL) for one in series[1:]]
    about = (
        "As *Whole copy*, JSON, with setting `where`. Entries a second are those read, whether the filter keeps them or not. At most 0.6 "
        f"of the time of the whole copy is {_GOAL:.2f} times as fast."
    )
    return Section("Filtered copy", about, tuple(tables), tuple(findings))
