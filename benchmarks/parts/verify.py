"""The comparison of a topic with its cache against the copy that wrote the topic."""

from __future__ import annotations

from ..report import Section, ratio_text, series_table
from ..rounds import Case, Log, in_turn
from ..stack import TOPIC_PARTITIONS, Stack
from ..tables import TRADES, WIDE

_GOAL = 0.5
"""Of the copy's speed: a comparison may take two times as long."""


def beside_the_copy(stack: Stack, log: Log) -> Section:
    """Each table copied, and an earlier copy of it compared with the cache, by turns."""
    tables, findings = [], []
    with stack.python("spark", "verify") as session:
        for cache in (TRADES.cache, WIDE.cache):
            request = {**stack.places, "cache": cache, "settings": {"topic_partitions": TOPIC_PARTITIONS}}
            verified = {**request, "connector": f"verified-{cache}"}
            session.round(**verified, what="copy")
            cases = [
                Case(f"{cache}: copy", session, {**request, "connector": f"beside-{cache}", "what": "copy"}),
                Case(f"{cache}: verify", session, {**verified, "what": "verify"}),
            ]
            copied, compared = in_turn(cases, stack.sizes.spark_rounds, log).values()
            tables.append(series_table([copied, compared]))
            findings.append(ratio_text(f"{cache}: verify against the copy", compared, copied, _GOAL))
    about = (
        "`run_snapshot` and `verify_connector` in one Spark session, local[2], by turns, default settings. The comparison reads a topic "
        "that has one record of each key."
    )
    return Section("Verify against the copy", about, tuple(tables), tuple(findings))
