"""Versions of the entries that an active-active sink stores, from the headers of their records."""

from __future__ import annotations

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


def with_versions(entries: Entries, consumed: Consumed) -> Entries:
    """Return entries with the versions of their records; a record without a version is a bad record.

    :param consumed: the records that the entries were made of, with headers.
    """
    assert consumed.headers is not None
    versions, valid = read_versions(consumed.headers)
    has_version = valid[entries.rows]
    bad = [BadRecord(row, Stage.PUT, _NO_VERSION) for row in entries.rows[~has_version].tolist()]
    kept = replace(entries, versions=versions[entries.rows]).take(np.flatnonzero(has_version))
    return replace(kept, bad=tuple(sorted([*entries.bad, *bad], key=lambda record: record.row)))
