"""Estimate of the rows to request in a scan page, for a target page size in bytes."""

from __future__ import annotations

PROBE_ROWS = 32
MAX_PAGE_ROWS = 65_536


class PageSize:
    """Estimator of the rows to request in a page, from the pages received so far.

    A node fixes the rows of a cursor's pages when the cursor opens. So the first cursors request :data:`PROBE_ROWS`,
    and a partition is opened again if its first page shows that this was far too few. The estimate uses the larger of
    the last page's and the mean row width, because a page may be too small but must not be much too large. The same
    holds for :attr:`page_mean`, the bytes of pages as received: a small partition does not fill a page.
    """

    def __init__(self, page_bytes: int) -> None:
        self.page_bytes = page_bytes
        self.rows = PROBE_ROWS
        self.page_mean = page_bytes
        self._seen_pages = self._seen_rows = self._seen_bytes = 0

    def saw(self, rows: int, length: int) -> None:
        """Update the estimate with a received page of `rows` entries in `length` bytes."""
        if rows == 0:
            return
        self._seen_pages += 1
        self._seen_rows += rows
        self._seen_bytes += length
        width = max(length / rows, self._seen_bytes / self._seen_rows, 1.0)
        self.page_mean = max(length, self._seen_bytes // self._seen_pages, 1)
        self.rows = min(max(int(self.page_bytes / width), 1), MAX_PAGE_ROWS)

    def far_above(self, asked: int) -> bool:
        """Return whether pages of `asked` rows are so small that reopening the partition is worth it."""
        return self.rows >= 4 * asked
