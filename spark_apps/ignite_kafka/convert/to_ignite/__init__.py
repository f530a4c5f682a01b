"""Conversion of Kafka records to Ignite entries.

:class:`RecordConverter` converts records; :func:`last_per_key` keeps one operation for each key.

Imports convert.rules and ignite; sink imports it.
"""

from ..ignite_types.cluster_types import ClusterTypes
from ..ignite_types.entries import BadRecord, Entries, EntryTypes, Types
from ..rules.failure_stages import Stage
from .conversion_rules import ConversionRules, SideRules
from .last_per_key import concat_entries, last_per_key, merge_rows
from .record_converter import RecordConverter

__all__ = [
    "BadRecord",
    "ClusterTypes",
    "ConversionRules",
    "Entries",
    "EntryTypes",
    "RecordConverter",
    "SideRules",
    "Stage",
    "Types",
    "concat_entries",
    "last_per_key",
    "merge_rows",
]
