"""Filter: drops records. Source: org.apache.kafka.connect.transforms.Filter (4.3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from .batch import ConnectBatch, Transformed


@dataclass(frozen=True)
class Filter:
    """Drops each record that reaches it; a predicate selects them."""

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Drop all records."""
        return Transformed(())
