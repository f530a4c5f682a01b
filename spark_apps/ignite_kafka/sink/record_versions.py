"""Versions of the entries that an active-active sink stores, from the headers of their records."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ..convert.rules.failure_stages import Stage
from ..convert.to_ignite import BadRecord, Entries
from ..kafka.records import Consumed
from ..kafka.version_headers import has_rule, read_versions

_NO_VERSION = (
    "the record has no version: its source has not set active_active, or another program wrote it. Only entries with "
    "a version can be stored beside the writes of other clusters"
)
_AHEAD = (
    "the record's version is more than a day ahead of the time: stored, it would put the clocks of all clusters ahead "
    "for good. The clock of its source's nodes is wrong, or another program wrote the record"
)
_RULES = (
    "the nodes of the record's cluster decide by another rule than those of this cluster, whose rule is '{}': the "
    "clusters would differ. Set IGNITE_KAFKA_ACTIVE_ACTIVE_FIELDS and IGNITE_KAFKA_ACTIVE_ACTIVE_RANKS to the same on "
    "all server nodes of all clusters"
)
_MOST_AHEAD_S = 86_400
ORDER_SHIFT = 16
"""An order is a time in milliseconds, shifted left by these bits, plus a count: `VersionClock.SHIFT` of the jar."""


def with_versions(entries: Entries, consumed: Consumed, rule: str) -> Entries:
    """Return entries with the versions of their records; records without one, or with one far ahead, are bad records.

    :param consumed: the records that the entries were made of, with headers.
    :param rule: the rule of the cache's nodes; records that were ranked by another one are bad records, too.
    """
    assert consumed.headers is not None
    versions, valid = read_versions(consumed.headers)
    ahead = versions.orders >= int((time.time() + _MOST_AHEAD_S) * 1000) << ORDER_SHIFT
    same = has_rule(consumed.headers, rule)
    usable = (valid & ~ahead & same)[entries.rows]

    def reason(row: int) -> str:
        if not valid[row]:
            return _NO_VERSION
        return _AHEAD if same[row] else _RULES.format(rule or "the order of writes alone")

    bad = [BadRecord(row, Stage.PUT, reason(row)) for row in entries.rows[~usable].tolist()]
    kept = replace(entries, versions=versions[entries.rows]).take(np.flatnonzero(usable))
    return replace(kept, bad=tuple(sorted([*entries.bad, *bad], key=lambda record: record.row)))
