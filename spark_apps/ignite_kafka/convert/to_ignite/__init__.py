"""Kafka records to Ignite entries: :class:`Inbound` converts, :func:`compacted` leaves one operation a key.

Imports convert.rules and ignite; sink imports it.
"""

from ..rules.stage import Stage
from .cluster_types import ClusterTypes
from .conversion import Inbound, InboundRules
from .conversion_values import BadRecord, Entries, EntryTypes, Types
from .last_per_key import compacted

__all__ = ["BadRecord", "ClusterTypes", "Entries", "EntryTypes", "Inbound", "InboundRules", "Stage", "Types", "compacted"]
