"""Check of record sizes before sending, because one refused record aborts its whole transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import RecordTooLarge
from .records import Records, record_sizes

RECORD_OVERHEAD = 70  # bytes of a record batch's header, which librdkafka adds to a record's size for message.max.bytes
DEFAULT_MESSAGE_BYTES = 1_000_000
"""librdkafka's default of message.max.bytes."""

_CODECS = ("gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class SizeLimit:
    """Size limits of a producer's records.

    ``message.max.bytes`` applies before compression, a topic's ``max.message.bytes`` after it.
    """

    message_bytes: int
    compression: str

    @staticmethod
    def of(config: Mapping[str, Any]) -> SizeLimit:
        """Return the size limits that a librdkafka configuration sets."""
        compression = str(config.get("compression.codec", config.get("compression.type", "none")))
        return SizeLimit(int(config.get("message.max.bytes", DEFAULT_MESSAGE_BYTES)), compression)

    def exceeded(self, records: Records, topic: str, topic_bytes: int | None) -> dict[int, RecordTooLarge]:
        """Return, by row, the error for each record that producer or topic would refuse as too large.

        A record larger than ``topic_bytes`` is alone in its batch; it is compressed here to learn whether the topic
        accepts it. The client compresses with another library, so a record within some bytes of the limit may still be
        refused.

        :param topic_bytes: ``max.message.bytes`` of the topic; None: unknown, so that the broker's refusal ends the
            transaction.
        :returns: error by row.
        """
        sizes = record_sizes(records) + RECORD_OVERHEAD
        refusals = {}
        smallest = self.message_bytes if topic_bytes is None else min(self.message_bytes, topic_bytes)
        for row in np.flatnonzero(sizes > smallest).tolist():
            size = int(sizes[row])
            if size > self.message_bytes:
                refusals[row] = too_large(
                    f"a record of {size} bytes is larger than the producer's message.max.bytes", topic
                )
            elif topic_bytes is not None and (sent := self._compressed_size(records, row)) > topic_bytes:
                compressed = f" ({sent} compressed)" if sent < size else ""
                refusals[row] = too_large(
                    f"a record of {size} bytes{compressed} is larger than the topic's max.message.bytes", topic
                )
        return refusals

    def _compressed_size(self, records: Records, row: int) -> int:
        plain = (records.keys[row].as_py() or b"") + (records.values[row].as_py() or b"")
        if self.compression not in _CODECS:
            return len(plain) + RECORD_OVERHEAD
        return min(len(plain), len(pa.compress(plain, codec=self.compression, asbytes=True))) + RECORD_OVERHEAD


def too_large(what: str, topic: str, **where: Any) -> RecordTooLarge:
    """Return the error to raise for a record that is too large for the client or the topic."""
    return RecordTooLarge(
        what, "Raise message.max.bytes in producer_override and max.message.bytes of the topic.", topic=topic, **where
    )
