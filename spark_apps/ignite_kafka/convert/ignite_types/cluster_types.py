"""The binary types of a live cluster, as the conversion reads and extends them."""

from __future__ import annotations

from dataclasses import dataclass

from ...ignite.cluster import Cluster
from ...ignite.schema import register_type
from ...ignite.types.model import BinaryType


@dataclass(frozen=True)
class ClusterTypes:
    """Types of a cluster: see :class:`~ignite_kafka.convert.ignite_types.entries.Types`.

    For the cluster's one thread.
    """

    cluster: Cluster

    def binary_type(self, type_id: int) -> BinaryType:
        """Return a type's metadata, asked for once; raises UnknownBinaryType."""
        return self.cluster.binary_type(type_id)

    def register(self, kind: BinaryType, *, unless_known: bool = False) -> BinaryType:
        """Add what the cluster lacks. Raises TypeClash, WriteFailed."""
        register_type(self.cluster, kind, unless_known=unless_known)
        return self.cluster.binary_type(kind.type_id)

    def forget_types(self) -> None:
        """Ask again for every type: another task may have extended it."""
        self.cluster.forget_types()
