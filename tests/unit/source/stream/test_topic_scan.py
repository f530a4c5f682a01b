"""The scan of a topic that several caches share: keys of other caches are no keys that this cache has lost."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from confluent_kafka import KafkaError

from ignite_kafka.plan.source_plan import CachePlan
from ignite_kafka.source.stream.topic_scan import TopicKeys, TopicScan

Written = tuple[bytes, bytes | None, str | None]
"""Key, value and name in the header of a record."""
RECORDS: list[Written] = [
    (b"1", b"x", "orders"),
    (b"2", b"x", "orders"),
    (b"3", b"x", "returns"),
    (b"2", None, "returns"),
    (b"4", b"x", None),
    (b"5", b"x", "orders"),
    (b"5", None, "orders"),
]


class Message:
    def __init__(self, offset: int, written: Written | None) -> None:
        self._offset, self._written = offset, written or (b"", None, None)
        self._end = written is None

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self._end else None

    def key(self) -> bytes:
        return self._written[0]

    def value(self) -> bytes | None:
        return self._written[1]

    def headers(self) -> list[tuple[str, bytes]] | None:
        name = self._written[2]
        return None if name is None else [("cache", b"of a transform"), ("cache", name.encode())]


class Keys:
    """A cache that has key 1 alone; all keys are in partition 0."""

    def read_back(self, keys: Sequence[bytes]) -> list[bytes]:
        return list(keys)

    def located(self, keys: Sequence[bytes]) -> tuple[Any, Any]:
        return np.zeros(len(keys), np.int64), np.array([key == b"1" for key in keys], bool)

    def gone(self, absent: Sequence[bytes]) -> set[bytes]:
        return set(absent)


@pytest.mark.parametrize(("header", "gone"), [("cache", {b"2"}), ("", {b"3", b"4"})])
def test_only_keys_of_the_cache_get_tombstones(header: str, gone: set[bytes]) -> None:
    left = [Message(offset, written) for offset, written in enumerate(RECORDS)]

    def consume(count: int, timeout: float) -> list[Message]:
        taken = left[:3] or [Message(len(RECORDS), None)]
        del left[:3]
        return taken

    consumer = SimpleNamespace(assign=lambda _: None, consume=consume, close=lambda: None)
    clients = cast(Any, SimpleNamespace(reader=lambda: consumer))
    topics = cast(Any, SimpleNamespace(ends=lambda *_: {0: len(RECORDS)}))
    plan = CachePlan("orders", 1, "shop", 1, 1)
    scan = TopicScan(clients, topics, plan, {0: 7}, (0, 0), cast(TopicKeys, Keys()), header)
    while not scan.finished:
        scan.step()
    assert {key for keys in scan.pop_gone().values() for key in keys} == gone
    scan.close()
