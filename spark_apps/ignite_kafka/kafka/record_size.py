"""Which records a client or a topic would refuse for their size, told before they are sent: a transaction that has one must be aborted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import RecordTooLarge
from .records import Records, record_sizes

RECORD_OVERHEAD = 70  # bytes of a record batch's head: what librdkafka adds when it compares with message.max.bytes
DEFAULT_MESSAGE_BYTES = 1_000_000
"""librdkafka's message.max.bytes."""

_CODECS = ("gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class SizeLimit:
    """What a producer sends at most: ``message.max.bytes`` before compression; a topic's ``max.message.bytes`` counts after it."""

    message_bytes: int
    compression: str

    @staticmethod
    def of(config: Mapping[str, Any]) -> SizeLimit:
        """That of a producer with this configuration."""
        compression = str(config.get("compression.codec", config.get("compression.type", "none")))
        return SizeLimit(int(config.get("message.max.bytes", DEFAULT_MESSAGE_BYTES)), compression)

    def exceeded(self, records: Records, topic: str, topic_bytes: int | None) -> dict[int, RecordTooLarge]:
        """Rows of the records that are too large, and by what.

        A record larger than ``topic_bytes`` is alone in its batch, as no batch is meant to be larger; it is compressed here to see whether
        the topic would take it. Another library than the client's does that: a record within some bytes of the limit may still be refused.

        :param topic_bytes: ``max.message.bytes`` of the topic; None: not known, and the broker tells, by a transaction that is refused.
        """
        sizes = record_sizes(records) + RECORD_OVERHEAD
        found = {}
        smallest = self.message_bytes if topic_bytes is None else min(self.message_bytes, topic_bytes)
        for row in np.flatnonzero(sizes > smallest).tolist():
            size = int(sizes[row])
            if size > self.message_bytes:
                found[row] = too_large(f"a record of {size} bytes is larger than the producer's message.max.bytes", topic)
            elif topic_bytes is not None and (sent := self._compressed(records, row)) > topic_bytes:
                compressed = f" ({sent} compressed)" if sent < size else ""
                found[row] = too_large(f"a record of {size} bytes{compressed} is larger than the topic's max.message.bytes", topic)
        return found

    def _compressed(self, records: Records, row: int) -> int:
        plain = (records.keys[row].as_py() or b"") + (records.values[row].as_py() or b"")
        if self.compression not in _CODECS:
            return len(plain) + RECORD_OVERHEAD
        return min(len(plain), len(pa.compress(plain, codec=self.compression, asbytes=True))) + RECORD_OVERHEAD


def too_large(what: str, topic: str, **where: Any) -> RecordTooLarge:
    """The error of a record that neither client nor topic takes as they are."""
    return RecordTooLarge(what, "Raise message.max.bytes in producer_override and max.message.bytes of the topic.", topic=topic, **where)
