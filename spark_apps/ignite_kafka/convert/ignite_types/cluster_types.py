"""Binary types of a live cluster, which the conversion of records reads and extends."""

from __future__ import annotations

from dataclasses import dataclass

from ...ignite.cluster import Cluster
from ...ignite.schema import register_type
from ...ignite.types.model import BinaryType


@dataclass(frozen=True)
class ClusterTypes:
    """Access to the binary types of a live cluster (:class:`~ignite_kafka.convert.ignite_types.entries.Types`).

    Only the thread of the cluster's connection may use it.
    """

    cluster: Cluster

    def binary_type(self, type_id: int) -> BinaryType:
        """Return a binary type's metadata, fetched once per process; raise UnknownBinaryType."""
        return self.cluster.binary_type(type_id)

    def register(self, kind: BinaryType, *, unless_known: bool = False) -> BinaryType:
        """Register a binary type, or its missing fields and schemas; raise TypeClash or WriteFailed."""
        register_type(self.cluster, kind, unless_known=unless_known)
        return self.cluster.binary_type(kind.type_id)

    def forget_types(self) -> None:
        """Forget the fetched types, because another task may have extended them."""
        self.cluster.forget_types()
