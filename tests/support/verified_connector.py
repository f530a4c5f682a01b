"""A cache and a topic in memory, compared by the job of `ignite-kafka verify` within the process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka import convert
from ignite_kafka.ignite.types.model import CacheInfo, Page
from ignite_kafka.kafka.record_size import SizeLimit
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.verification import source_direction
from ignite_kafka.verification.direction import ComparedPair, Judged
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.job import VerifyJob
from ignite_kafka.verification.key_slices import ALL
from ignite_kafka.verification.source_direction import SourceDirection
from tests.support.ignite_bytes import CACHE, Types, page
from tests.support.local_exchange import LocalExchange
from tools.compare_topics import compare

PARTITIONS = 3
Record = tuple[bytes, bytes | None]
Entry = tuple[bytes, bytes]


@dataclass
class OneCache(Types):
    """A cluster of one cache."""

    info: CacheInfo = field(default=CACHE)

    def cache(self, name: str) -> CacheInfo:
        return self.info

    def close(self) -> None:
        pass


class InMemory(SourceDirection):
    """The comparison of a source without its servers."""

    def __init__(self, types: OneCache, *given: Any, **more: Any) -> None:
        super().__init__(*given, **{"claim": cast(Any, "a claim"), **more})
        self.__dict__.update(cluster=types, clients=None, size_limit=SizeLimit(1_000_000, "none"))


@dataclass
class Compared:
    """A source's cache and topic.

    :param entries: of each partition of the cache.
    :param records: of each partition of the topic.
    """

    types: OneCache
    entries: Sequence[Sequence[Entry]]
    records: Sequence[Sequence[Record]]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def plan(self) -> TransferPlan:
        cache = CachePlan(CACHE.name, 1, "t", len(self.entries), len(self.records))
        return TransferPlan("c", "s", 0, 1, SourceSettings(name="c", **self.settings), (cache,))

    def job(self, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Judged:
        """The verdict of the job."""
        of_direction = {name: more.pop(name) for name in ("thorough",) if name in more}
        slices = more.pop("slices", ALL)
        direction = InMemory(self.types, self.plan, Secrets(), limit=more.get("limit", 5), **of_direction)
        monkeypatch.setattr(source_direction, "scan_partitions", lambda _cluster, _info, numbers, **_: self._pages(numbers))
        monkeypatch.setattr(source_direction, "topic_batches", lambda _clients, _pair, numbers, **_: self._consumed(numbers))
        pair = ComparedPair(CACHE.name, "t", tuple((0, len(part)) for part in self.records), len(self.entries), slices=slices)
        options = {"buckets": 2, "cores": 2, **more}
        (judged,) = VerifyJob(LocalExchange, pairs=[pair], open=lambda: direction, **options).run()
        return judged

    def row_by_row(self) -> PairDifferences:
        """The verdict of the comparison in one process."""
        messages = [
            SimpleNamespace(key=lambda key=key: key, value=lambda value=value: value) for part in self.records for key, value in part
        ]
        plan, pages = self.plan, list(self._pages(range(len(self.entries))))
        return compare(plan, plan.caches[0], cast(Any, self.types), cast(Any, messages), pages)

    def _pages(self, numbers: Sequence[int]) -> Iterator[Page]:
        return (page(self.entries[number], number) for number in numbers)

    def _consumed(self, numbers: Sequence[int]) -> Iterator[Consumed]:
        for number in numbers:
            if part := self.records[number]:
                keys, values = (pa.array(column, pa.binary()) for column in zip(*part, strict=True))
                yield Consumed("t", number, keys, values, np.arange(len(part), dtype=np.int64))


def copied(types: OneCache, entries: Sequence[Entry], **settings: Any) -> list[Record]:
    """What the converter makes of entries."""
    chosen = convert.converter(SourceSettings(name="c", **settings))
    records = chosen.convert([page(entries, 0)], types.info, cast(Any, types), topic="t", in_order=True)
    return list(zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True))
