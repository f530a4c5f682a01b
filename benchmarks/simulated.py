"""A cluster of any number of caches without a server: for what planning, claiming and finishing cost by themselves."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

from ignite_kafka.errors import IgniteKafkaError, UnknownBinaryType
from ignite_kafka.ignite.protocol import cache_id
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, Page
from ignite_kafka.runtime import spark_job as slot_job
from ignite_kafka.runtime.counts import SlotResult
from ignite_kafka.source.snapshot import task as slot_copy

PARTITIONS = 1024
FAULT = "a fault of the simulation"
_PREFIX = "simulated-"
_FILLED = 100  # every hundredth cache holds one entry a partition; the others are empty
_ENTRY = struct.Struct("<BqBq")  # a Long key and a Long value
_EMPTY = memoryview(b"")


class SimulatedCluster:
    """What a snapshot asks of a cluster."""

    def __init__(self, caches: int) -> None:
        self._caches = caches

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def cache_names(self) -> list[str]:
        return [f"{_PREFIX}{number}" for number in range(self._caches)]

    def cache(self, name: str) -> CacheInfo:
        return CacheInfo(name, cache_id(name), PARTITIONS)

    def binary_type(self, type_id: int) -> BinaryType:
        raise UnknownBinaryType("no types here", type_id=type_id)


class SimulatedScan:
    """One page a partition. A cache whose name is in :data:`broken` ends the run, so that another can go on from there."""

    def __init__(self, _cluster: object, cache: CacheInfo, partitions: Sequence[int], _size: object) -> None:
        self._cache, self.left = cache, list(partitions)

    def begin(self) -> None:
        if self._cache.name in broken:
            raise IgniteKafkaError(FAULT, cache=self._cache.name)

    def pages(self) -> Iterator[Page]:
        filled = int(self._cache.name.removeprefix(_PREFIX)) % _FILLED == 0
        for partition in self.left:
            if filled:
                yield Page(partition, 1, memoryview(_ENTRY.pack(4, partition, 4, partition)), True)
            else:
                yield Page(partition, 0, _EMPTY, True)

    def close(self) -> None:
        pass


broken: set[str] = set()
_real_task = slot_job._run_task


def task(caches: int, broken_caches: Sequence[str], *arguments: Any) -> Iterable[SlotResult]:
    """The Spark task of a snapshot, in a worker whose Ignite is simulated."""
    broken.clear()
    broken.update(broken_caches)
    slot_copy.ignite_cluster = lambda *_: SimulatedCluster(caches)  # type: ignore[assignment,attr-defined]
    slot_copy.Scan = SimulatedScan  # type: ignore[assignment,attr-defined]
    return _real_task(*arguments)
