"""Entries of an active-active source that are read from the cache: each with its own version, or not sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

from ignite_kafka.ignite.binary import raw_entries
from ignite_kafka.ignite.entry_versions import EntryVersions
from ignite_kafka.source.stream.versioned_entries import VersionedEntries
from tests.support.backlog_changes import CACHE, key_bytes, value_bytes

OWN, OTHER = 1, 2
KEPT, FOREIGN, REMOVED, EXPIRED, OLDER_THAN_ANY_CLUSTER, STREAMED = map(key_bytes, range(6))
HELD = {
    KEPT: (value_bytes(7), 50, OWN),
    FOREIGN: (value_bytes(8), 60, OTHER),
    REMOVED: (None, 70, OWN),
    EXPIRED: (None, 0, 0),
    OLDER_THAN_ANY_CLUSTER: (value_bytes(9), 40, 0),
    STREAMED: (value_bytes(6), 0, OWN),
}


@dataclass
class Client:
    """Nodes with these entries."""

    checked: list[str] = field(default_factory=list)

    def entries(self, cache: str, keys: Sequence[bytes]) -> tuple[list[bytes | None], EntryVersions]:
        assert cache == CACHE.name
        values, orders, clusters = zip(*(HELD[key] for key in keys), strict=True)
        return list(values), EntryVersions(np.array(orders, np.int64), np.array(clusters, np.int8), np.array(orders, np.int64) + 1)

    def check_same(self, cache: Any) -> None:
        self.checked.append(cache.name)


@pytest.mark.parametrize(("foreign", "rows"), [(False, [0, 2, 4, 5]), (True, [0, 1, 2, 4, 5])])
def test_own_entries_and_removals_are_sent_and_foreign_ones_by_request(foreign: bool, rows: list[int]) -> None:
    client = Client()
    keys = list(HELD)
    read = VersionedEntries(cast(Any, client), OWN, foreign=foreign).read(CACHE, keys)
    assert read.rows.tolist() == rows
    assert [key for key, _ in raw_entries(read.page)] == [keys[row] for row in rows]
    assert read.removed.tolist() == [keys[row] == REMOVED for row in rows]
    assert read.versions.orders.tolist() == [HELD[keys[row]][1] for row in rows]
    assert read.versions.clusters.tolist() == [HELD[keys[row]][2] or OWN for row in rows]
    assert read.versions.ranks.tolist() == [HELD[keys[row]][1] + 1 for row in rows]
    assert client.checked == [CACHE.name]


def test_keys_without_versions_alone_make_an_empty_page() -> None:
    read = VersionedEntries(cast(Any, Client()), OWN, foreign=False).read(CACHE, [EXPIRED, FOREIGN])
    assert (read.rows.size, read.page.rows, len(read.versions)) == (0, 0, 0)
