"""Transform Filter: drops records. Source: org.apache.kafka.connect.transforms.Filter (4.3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from .batch import ConnectBatch, Transformed


@dataclass(frozen=True)
class Filter:
    """Transform that drops all its records; a predicate of the chain selects them."""

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Drop all records of the batch."""
        return Transformed(())
