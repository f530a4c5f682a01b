"""Transform Filter, which drops records. Source: org.apache.kafka.connect.transforms.Filter (4.3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from .batch import ConnectBatch, Transformed


@dataclass(frozen=True)
class Filter:
    """Transform Filter: it drops every record that the predicate of its step selects."""

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Drop all records of the batch."""
        return Transformed(())
