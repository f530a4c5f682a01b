"""Numpy buffer of several pages, with gathers at many positions, bounds checks and errors.

Errors name cache, partition and position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DecodeError, IgniteKafkaError, UnsupportedType
from ..types.model import CacheInfo, Page, TypeSource

Positions = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_BUDGET_FLOOR = 64 << 20
_BUDGET_FACTOR = 32


@dataclass
class PageBuffer:
    """Data of pages in one buffer, with the context for decoding and for error messages.

    `budget` limits the bytes that decoding may produce: overlapping fields or shared handles of broken data could grow
    without limit. `ends` has the ends of measured containers, so that nested ones are not measured again at each
    level.
    """

    data: Bytes
    cache: str
    types: TypeSource
    starts: Positions
    partitions: tuple[int, ...]
    budget: int = field(default=0)
    ends: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(pages: Sequence[Page], cache: CacheInfo, types: TypeSource) -> PageBuffer:
        """Join pages to one buffer; a single page is used without a copy."""
        parts = [np.frombuffer(page.data, np.uint8) for page in pages]
        data = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, np.uint8)
        starts = np.cumsum([0, *(part.size for part in parts)], dtype=np.int64)
        budget = _BUDGET_FLOOR + _BUDGET_FACTOR * int(data.size)
        return PageBuffer(data, cache.name, types, starts, tuple(page.partition for page in pages), budget)

    def error(self, position: int, what: str, type_id: int | None = None) -> DecodeError:
        """Make the error for broken bytes at a position of the buffer.

        It names cache, partition, type id and position within the page's data.
        """
        return DecodeError(
            what, "The bytes are broken or of an unknown format; nothing was skipped", **self._place(position, type_id)
        )

    def unsupported(self, position: int, what: str, type_id: int | None = None) -> UnsupportedType:
        """Make the error, with the position, for a valid value that neither column nor row can hold."""
        return UnsupportedType(
            what, "Copy this cache with the ignite-binary converter", **self._place(position, type_id)
        )

    def moved(self, error: IgniteKafkaError, position: int) -> IgniteKafkaError:
        """Replace the position in an error about rewritten bytes by the original value's position."""
        return type(error)(error.what, error.remedy, **self._place(position, error.where.get("type_id")))

    def _place(self, position: int, type_id: int | None) -> dict[str, Any]:
        page = int(np.searchsorted(self.starts, position, side="right")) - 1
        page = min(max(page, 0), len(self.partitions) - 1)
        partition = self.partitions[page] if self.partitions else None
        return {
            "cache": self.cache,
            "partition": partition,
            "type_id": type_id,
            "position": int(position) - int(self.starts[page]),
        }

    def spend(self, amount: int, position: int) -> None:
        """Count `amount` bytes of decoded output, and raise DecodeError beyond the `budget`, against hostile input."""
        self.budget -= amount
        if self.budget < 0:
            raise self.error(position, "The values expand far beyond their bytes (shared or overlapping parts)")

    def at(self, positions: Positions, dtype: str) -> npt.NDArray[Any]:
        """Gather a fixed-width value at each position, unaligned; the positions must have been checked."""
        width = np.dtype(dtype).itemsize
        if positions.size == 0 or self.data.size < width:
            return np.zeros(positions.size, dtype)
        window: npt.NDArray[Any] = np.ndarray((self.data.size - width + 1,), dtype, self.data, 0, (1,))
        return window[positions]

    def ints(self, positions: Positions) -> Positions:
        """Gather an int32 at each position, widened to int64."""
        return self.at(positions, "<i4").astype(np.int64)

    def require(self, start: Positions, stop: Positions | np.int64, limit: Positions, what: str) -> None:
        """Check that every value ends before its limit; DecodeError at the `start` of the first longer one."""
        bad = stop > limit
        if bad.any():
            where = int(np.flatnonzero(bad)[0])
            raise self.error(int(start[where]), f"{what} ends outside its page or object")

    def ragged(self, start: Positions, length: Positions) -> tuple[npt.NDArray[np.int32], Bytes]:
        """Gather n slices [start, start + length) in one buffer, as Arrow needs them: n + 1 offsets and the bytes.

        Slices must have been checked.

        Each slice is copied as two pieces of a power of two, one from its front and one up to its end, which may
        overlap. So the number of numpy calls grows with the logarithm of the longest slice only.
        """
        offsets = np.zeros(length.size + 1, np.int64)
        np.cumsum(length, out=offsets[1:])
        total = int(offsets[-1])
        first = int(start[0]) if start.size else 0
        self.spend(total, first)
        if total > np.iinfo(np.int32).max:
            raise self.unsupported(first, "A column of more than 2 GiB in one batch: use smaller pages")
        out = np.empty(total, np.uint8)
        power = np.frexp(length.astype(np.float64))[1]
        counts = np.bincount(power, minlength=1)
        for exponent in np.flatnonzero(counts):
            if exponent > 0:
                rows = slice(None) if counts[exponent] == length.size else np.flatnonzero(power == exponent)
                self._copy_pieces(1 << int(exponent - 1), start[rows], length[rows], offsets[:-1][rows], out)
        return offsets.astype(np.int32), out

    def _copy_pieces(self, width: int, start: Positions, length: Positions, target: Positions, out: Bytes) -> None:
        source: npt.NDArray[Any] = np.ndarray((self.data.size - width + 1,), f"V{width}", self.data, 0, (1,))
        sink: npt.NDArray[Any] = np.ndarray((out.size - width + 1,), f"V{width}", out, 0, (1,))
        sink[target] = source[start]
        rest = length - width
        if rest.any():
            sink[target + rest] = source[start + rest]
