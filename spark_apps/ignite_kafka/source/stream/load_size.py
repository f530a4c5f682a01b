"""Estimate of how many partitions of a cache fill a batch, from the mean size of the partitions loaded so far."""

from __future__ import annotations


class LoadSize:
    """Estimator of the number of cache partitions to load in the next batch.

    :param batch_bytes: bytes of entries to load at once; at least one partition is loaded.
    :param most_records: entries to load at once, at least one partition; None: any number.
    :param first: partitions of the first load, whose size is not known yet, if its records are not limited.
    """

    def __init__(self, batch_bytes: int, most_records: int | None, first: int) -> None:
        self._batch_bytes = batch_bytes
        self._most_records = most_records
        self._first = first
        self._bytes = self._rows = 0.0  # means of a partition; 0: none was loaded

    @property
    def partitions(self) -> int:
        """Number of cache partitions to load in the next batch, at least one."""
        if not self._bytes:
            return self._first if self._most_records is None else 1
        fitting = self._batch_bytes / self._bytes
        return max(
            1, int(fitting if self._most_records is None else min(fitting, self._most_records / max(0.01, self._rows)))
        )

    def loaded(self, partitions: int, size: int, rows: int) -> None:
        """Update the estimate with the measured size of loaded partitions.

        :param size: bytes of the partitions' entries. :param rows: number of the partitions' entries.
        """
        mean_bytes = max(1.0, size / partitions)
        mean_rows = rows / partitions
        has_estimate = bool(self._bytes)
        self._bytes, self._rows = (
            ((self._bytes + mean_bytes) / 2, (self._rows + mean_rows) / 2) if has_estimate else (mean_bytes, mean_rows)
        )
