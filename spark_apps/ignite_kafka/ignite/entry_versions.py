"""Versions of entries that several clusters write, and their bytes in PUT_ALL_CONFLICT and REMOVE_ALL_CONFLICT.

A version is the rank of the write, by the rule of its cache (0 without one), its order, by the clock of the cluster
that made it, and that cluster's id. Ignite has the last two in its `GridCacheVersion`, whose other parts mean nothing
outside a cluster: in a removal they carry the rank. Java writes it by its optimized marshaller: code 254, int32 length,
101 (Externalizable), int32 hash of the class name, int16 checksum, then topology version (int32), order (int64), and
the number of the node with the cluster id in its 5 high bits (int32).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.arrays import Int64Array, Mask, RowIndex
from ..java.hash_code import java_hash
from .binary.byte_columns import fixed_rows, structured
from .binary.optimized import EXTERNALIZABLE
from .types import type_codes as codes

NO_ORDER = 0
"""Order of what has no version: a key that was never written or whose removal is forgotten, and entries of a data
streamer, which get Ignite's lowest version. It loses against every other."""

MOST_CLUSTER = 31
"""Highest id of a cluster; the lowest is 1."""

MOST_RANK = (1 << 57) - 1
"""Highest rank of a write."""

_CLASS = java_hash("org.apache.ignite.internal.processors.cache.version.GridCacheVersion")
_LENGTH = 23
_CLUSTER_SHIFT = 27
_RANK_BITS = 26  # in the number of a node; the others are in the topology version
_HAS_RANK = 1 << _RANK_BITS
_NEVER = 0  # time of expiry


@dataclass(frozen=True)
class EntryVersions:
    """Versions of N entries, as columns.

    :param orders: N orders, :data:`NO_ORDER` for an unknown one.
    :param clusters: N ids of clusters, from 1 to :data:`MOST_CLUSTER`.
    :param ranks: N ranks, from 0 to :data:`MOST_RANK`, that nodes made of the values, or of those that were removed.
    """

    orders: Int64Array
    clusters: npt.NDArray[np.int8]
    ranks: Int64Array

    @staticmethod
    def none(count: int) -> EntryVersions:
        """Return the versions of N entries that only their own cluster writes: zeros."""
        return EntryVersions(np.zeros(count, np.int64), np.zeros(count, np.int8), np.zeros(count, np.int64))

    def __len__(self) -> int:
        return len(self.orders)

    def __getitem__(self, rows: RowIndex | Mask | slice) -> EntryVersions:
        return EntryVersions(self.orders[rows], self.clusters[rows], self.ranks[rows])

    def ascending(self) -> RowIndex:
        """Return the N rows from the least version to the greatest."""
        return np.lexsort((self.clusters, self.orders, self.ranks))

    def encoded(self, *, with_expiry: bool) -> pa.BinaryArray:
        """Encode each version as it follows its key in REMOVE_ALL_CONFLICT, or its value in PUT_ALL_CONFLICT.

        :param with_expiry: whether the time of expiry follows, as in PUT_ALL_CONFLICT; no entry has one. Such a version
            has no rank, which nodes read from the value.
        """
        node = self.clusters.astype(np.int64) << _CLUSTER_SHIFT
        topology = np.zeros(len(self), np.int32)
        if not with_expiry:
            node |= _HAS_RANK | self.ranks & _HAS_RANK - 1
            topology = (self.ranks >> _RANK_BITS).astype(np.int32)
        parts: dict[str, tuple[str, Any]] = {
            "code": ("u1", codes.OPTIMIZED),
            "length": ("<i4", _LENGTH),
            "kind": ("u1", EXTERNALIZABLE),
            "type": ("<i4", _CLASS),
            "checksum": ("<i2", 0),
            "topology": ("<i4", topology),
            "order": ("<i8", self.orders),
            "node": ("<i4", node.astype(np.int32)),
        }
        if with_expiry:
            parts["expiry"] = ("<i8", _NEVER)
        return fixed_rows(structured(len(self), **parts))


def concat_versions(parts: list[EntryVersions]) -> EntryVersions:
    """Concatenate the versions of several batches."""
    return EntryVersions(
        np.concatenate([part.orders for part in parts]),
        np.concatenate([part.clusters for part in parts]),
        np.concatenate([part.ranks for part in parts]),
    )
