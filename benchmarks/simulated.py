"""A simulated cluster of any number of caches: measures planning, claiming and finishing without a server."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn, Self, cast

from ignite_kafka.errors import IgniteKafkaError, UnknownBinaryType
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.protocol import ThinError, cache_id
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, Page
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.runtime.counts import SlotResult
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.source.snapshot.task import copy_slots

PARTITIONS = 1024
FAULT = "a fault of the simulation"
_PREFIX = "simulated-"
_FILLED = 100  # every hundredth cache holds one entry a partition; the others are empty
_ENTRY = struct.Struct("<BqBq")  # a Long key and a Long value
_EMPTY = memoryview(b"")


class SimulatedCluster:
    """The calls of a snapshot to a cluster."""

    def __init__(self, caches: int) -> None:
        self._caches = caches

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, _question: Callable[[ThinConnection], object]) -> NoReturn:
        """Refuse SQL, as nodes without ignite-indexing do.

        :raises ThinError: always.
        """
        raise ThinError(1, "a simulated cluster runs no SQL")

    def cache_names(self) -> list[str]:
        """Return the names of the simulated caches."""
        return [f"{_PREFIX}{number}" for number in range(self._caches)]

    def cache(self, name: str) -> CacheInfo:
        """Return a cache of 1,024 partitions, without query entity."""
        return CacheInfo(name, cache_id(name), PARTITIONS)

    def configuration(self, name: str) -> CacheConfiguration:
        """Return a configuration that leaves all to the cluster, without tables."""
        return CacheConfiguration(name)

    def binary_type(self, type_id: int) -> BinaryType:
        """Raise UnknownBinaryType: the simulated cluster has no types."""
        raise UnknownBinaryType("no types here", type_id=type_id)


class SimulatedScan:
    """A scan with one page a partition.

    :param broken: names of caches whose scan ends the run, so that another one can continue it.
    """

    def __init__(
        self, broken: Collection[str], _cluster: object, cache: CacheInfo, partitions: Sequence[int], _size: object
    ) -> None:
        self._broken, self._cache, self.left = broken, cache, list(partitions)

    def begin(self) -> None:
        """Raise the error of a broken cache."""
        if self._cache.name in self._broken:
            raise IgniteKafkaError(FAULT, cache=self._cache.name)

    def pages(self) -> Iterator[Page]:
        """Yield one page of one entry for each partition of a filled cache."""
        filled = int(self._cache.name.removeprefix(_PREFIX)) % _FILLED == 0
        for partition in self.left:
            if filled:
                yield Page(partition, 1, memoryview(_ENTRY.pack(4, partition, 4, partition)), True)
            else:
                yield Page(partition, 0, _EMPTY, True)

    def close(self) -> None:
        """Do nothing: there is no connection."""


def connect(caches: int, *_: object) -> Cluster:
    """Connect to a simulated cluster."""
    return cast(Cluster, SimulatedCluster(caches))


def simulated_slots(
    caches: int,
    broken: Sequence[str],
    plan: TransferPlan,
    secrets: Secrets,
    slots: Sequence[int],
    attempt: int,
    ends: Sequence[int] | None,
) -> Iterator[SlotResult]:
    """Copy slots of simulated caches, as the Spark task of a snapshot does."""
    scan: Any = partial(SimulatedScan, frozenset(broken))
    yield from copy_slots(plan, secrets, slots, attempt, ends, connect=partial(connect, caches), scan=scan)
