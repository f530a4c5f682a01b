"""Lag of a source: the changes that nodes have captured and the source has not sent, and their age.

This is the one definition of a source's lag, for the driver's metrics, Airflow, sensors, the page and the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ...ignite import protocol
from ...ignite.backlog_service import BacklogService
from ...ignite.backlog_units import GONE, UnitEnds
from ...kafka.partition_lag import PartitionLag, counts_by_name
from ...metrics.samples import NodeBacklog
from ...state.status import TaskProgress, Waiting
from .heartbeats import is_heartbeat_cache

_NODE = re.compile(r"(.*) entries=(\d+) bytes=(\d+) written=\d+ fill=([\d.]+)", re.DOTALL)
T = TypeVar("T")


class Ask(Protocol):
    """Function that runs a call of the backlog service on any node, and repeats it on another one."""

    def __call__(self, question: Callable[[BacklogService], T], /) -> T:
        """Return the answer of the call."""


@dataclass(frozen=True)
class UnitLag:
    """Changes of a cache partition that are captured and not sent.

    :param low: lowest update number; -1 without changes.
    :param high: highest update number; -1 without changes.
    :param changes: numbers from low to high that were not sent, and expired keys. Numbers that Ignite skipped count.
    :param oldest_ms: time of the oldest change in milliseconds since 1970; 0: none, or unknown.
    :param marks: bit set of :mod:`~ignite_kafka.ignite.backlog_units`; until a marked unit is sent again from its
        cache, the changes that its backlog lacks are not counted.
    """

    cache: str
    partition: int
    low: int
    high: int
    changes: int
    oldest_ms: int
    marks: int = 0


@dataclass(frozen=True)
class BacklogLag:
    """Lag of a source whose changes the backlog service captures.

    :param caches: names of all captured caches.
    :param units: cache partitions with changes or marks.
    :param nodes: backlog of each node.
    """

    caches: tuple[str, ...]
    units: tuple[UnitLag, ...] = ()
    nodes: tuple[NodeBacklog, ...] = ()

    def partitions(self) -> list[PartitionLag]:
        """Return the lag of each cache partition with changes to send."""
        return [
            PartitionLag(unit.cache, unit.partition, unit.low - 1, unit.high, unit.changes)
            for unit in self.units
            if unit.changes
        ]

    def counts(self) -> dict[str, int]:
        """Return the number of changes to send, by cache; 0 for a cache without changes."""
        return {**dict.fromkeys(self.caches, 0), **counts_by_name(self.partitions())}

    def waiting(self) -> dict[str, Waiting]:
        """Return number and oldest time of the changes to send, by cache."""
        oldest_ms: dict[str, int] = {}
        for unit in self.units:
            if unit.oldest_ms:
                oldest_ms[unit.cache] = min(unit.oldest_ms, oldest_ms.get(unit.cache, unit.oldest_ms))
        return {name: Waiting(count, oldest_ms.get(name, 0)) for name, count in self.counts().items()}

    @property
    def sends_again(self) -> bool:
        """Whether a cache partition waits to be sent again from its cache."""
        return any(unit.marks & ~GONE for unit in self.units)


def held_by_tasks(tasks: Iterable[TaskProgress]) -> dict[str, Waiting]:
    """Add up the changes that the tasks of continuous queries hold, by cache; each cache is of one task."""
    return {name: waiting for task in tasks for name, waiting in task.waiting.items()}


def read_backlog_lag(ask: Ask, connector: str) -> BacklogLag:
    """Read a source's lag from the nodes, which read two entries of each partition's backlog for it.

    :raises BacklogRefused: the nodes have no capture for a connector of that name.
    :raises BacklogMissing, BacklogUnavailable, IgniteUnreachable: the service is missing or did not answer.
    """
    status = ask(lambda service: service.status(connector))
    ends = ask(lambda service: service.ends(connector))
    caches = tuple(name for name in status["caches"] if not is_heartbeat_cache(name, connector))
    return BacklogLag(caches, _units_of(ends, caches), _nodes_of(status["nodes"]))


def _units_of(ends: UnitEnds, caches: Iterable[str]) -> tuple[UnitLag, ...]:
    names = {protocol.cache_id(cache): cache for cache in caches}
    columns = (ends.low, ends.high, ends.count, ends.oldest_ms, ends.marks)
    return tuple(
        UnitLag(names[cache_id], partition, *numbers)
        for (cache_id, partition, _), *numbers in zip(
            ends.unit.tolist(), *(column.tolist() for column in columns), strict=True
        )
        if cache_id in names
    )


def _nodes_of(lines: Iterable[str]) -> tuple[NodeBacklog, ...]:
    """Parse the lines of nodes in the status of a capture; a line of a newer form is left out."""
    parsed = [_NODE.fullmatch(line) for line in lines]
    return tuple(
        NodeBacklog(match[1], int(match[2]), int(match[3]), float(match[4])) for match in parsed if match is not None
    )
