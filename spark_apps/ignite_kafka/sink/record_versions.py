"""Versions of the entries that an active-active sink stores, from the headers of their records."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ..convert.rules.failure_stages import Stage
from ..convert.to_ignite import BadRecord, Entries
from ..kafka.records import Consumed
from ..kafka.version_headers import read_versions

_NO_VERSION = (
    "the record has no version: its source has not set active_active, or another program wrote it. Only entries with "
    "a version can be stored beside the writes of other clusters"
)
_AHEAD = (
    "the record's version is more than a day ahead of the time: stored, it would put the clocks of all clusters ahead "
    "for good. The clock of its source's nodes is wrong, or another program wrote the record"
)
_MOST_AHEAD_S = 86_400
ORDER_SHIFT = 16
"""An order is a time in milliseconds, shifted left by these bits, plus a count: `VersionClock.SHIFT` of the jar."""


def with_versions(entries: Entries, consumed: Consumed) -> Entries:
    """Return entries with the versions of their records; records without one, or with one far ahead, are bad records.

    :param consumed: the records that the entries were made of, with headers.
    """
    assert consumed.headers is not None
    versions, valid = read_versions(consumed.headers)
    ahead = versions.orders >= int((time.time() + _MOST_AHEAD_S) * 1000) << ORDER_SHIFT
    usable = (valid & ~ahead)[entries.rows]
    bad = [BadRecord(row, Stage.PUT, _AHEAD if valid[row] else _NO_VERSION) for row in entries.rows[~usable].tolist()]
    kept = replace(entries, versions=versions[entries.rows]).take(np.flatnonzero(usable))
    return replace(kept, bad=tuple(sorted([*entries.bad, *bad], key=lambda record: record.row)))
