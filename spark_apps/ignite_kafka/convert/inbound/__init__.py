"""Kafka records to Ignite entries: :class:`Inbound` converts, :func:`compacted` leaves one operation a key."""

from .cluster_types import ClusterTypes
from .compact import compacted
from .inbound import Inbound, InboundRules
from .model import BadRecord, Consumed, Entries, EntryTypes, Stage, Types

__all__ = ["BadRecord", "ClusterTypes", "Consumed", "Entries", "EntryTypes", "Inbound", "InboundRules", "Stage", "Types", "compacted"]
