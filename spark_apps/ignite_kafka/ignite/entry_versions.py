"""Versions of entries that several clusters write, and their bytes in PUT_ALL_CONFLICT and REMOVE_ALL_CONFLICT.

A version is the order of the write, by the clock of the cluster that made it, and that cluster's id. Ignite has both in
its `GridCacheVersion`, whose other parts mean nothing outside a cluster. Java writes it by its optimized marshaller:
code 254, int32 length, 101 (Externalizable), int32 hash of the class name, int16 checksum, then topology version
(int32), order (int64), and the number of the node with the cluster id in its 5 high bits (int32).
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

_CLASS = java_hash("org.apache.ignite.internal.processors.cache.version.GridCacheVersion")
_LENGTH = 23
_NONE = 0  # topology version and number of a node: another cluster has no use for them
_CLUSTER_SHIFT = 27
_NEVER = 0  # time of expiry


@dataclass(frozen=True)
class EntryVersions:
    """Versions of N entries, as columns.

    :param orders: N orders, :data:`NO_ORDER` for an unknown one.
    :param clusters: N ids of clusters, from 1 to :data:`MOST_CLUSTER`.
    """

    orders: Int64Array
    clusters: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.orders)

    def __getitem__(self, rows: RowIndex | Mask | slice) -> EntryVersions:
        return EntryVersions(self.orders[rows], self.clusters[rows])

    def encoded(self, *, with_expiry: bool) -> pa.BinaryArray:
        """Encode each version as it follows its key in REMOVE_ALL_CONFLICT, or its value in PUT_ALL_CONFLICT.

        :param with_expiry: whether the time of expiry follows, as in PUT_ALL_CONFLICT; no entry has one.
        """
        node = self.clusters.astype(np.int64) << _CLUSTER_SHIFT
        parts: dict[str, tuple[str, Any]] = {
            "code": ("u1", codes.OPTIMIZED),
            "length": ("<i4", _LENGTH),
            "kind": ("u1", EXTERNALIZABLE),
            "type": ("<i4", _CLASS),
            "checksum": ("<i2", 0),
            "topology": ("<i4", _NONE),
            "order": ("<i8", self.orders),
            "node": ("<i4", node.astype(np.int32)),
        }
        if with_expiry:
            parts["expiry"] = ("<i8", _NEVER)
        return fixed_rows(structured(len(self), **parts))


def concat_versions(parts: list[EntryVersions]) -> EntryVersions:
    """Concatenate the versions of several batches."""
    return EntryVersions(
        np.concatenate([part.orders for part in parts]), np.concatenate([part.clusters for part in parts])
    )
