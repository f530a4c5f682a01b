"""An exchange of blocks within the process, in place of Spark's."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ignite_kafka.verification.exchange import Block


class LocalExchange:
    """Reads all shares, and reduces all buckets; blocks and results are pickled as Spark would."""

    def __init__(
        self,
        shares: Sequence[Any],
        read: Callable[[Any], Iterator[Block]],
        reduce: Callable[[Iterator[Any]], Any],
        buckets: int,
        _on_tasks: Callable[[int, int], None],
    ) -> None:
        blocks: dict[int, list[Any]] = defaultdict(list)
        for share in shares:
            for bucket, block in read(share):
                blocks[bucket].append(copied(block))
        assert set(blocks) <= set(range(buckets))
        self._results = [copied(reduce(iter(blocks[bucket]))) for bucket in range(buckets)]

    def collect(self, summary: Callable[[Any], Any]) -> list[Any]:
        return [summary(one) for one in self._results]

    def fetch(self, buckets: Sequence[int]) -> list[Any]:
        return [self._results[bucket] for bucket in buckets]

    def close(self) -> None:
        pass


def copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))
