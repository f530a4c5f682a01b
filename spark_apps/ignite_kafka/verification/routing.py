"""Finds the caches of topics whose records are routed one by one, by reading the topics through the transforms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import accumulate

from ..plan.sink_plan import TopicPlan
from .direction import Target
from .exchange import Block, MakeExchange, OnTasks
from .task import Share, Task, shares_of

Routes = Mapping[int, Counter[str]]
"""Number of records for each cache, by the number of the target that reads the topic."""


def find_routes(exchange: MakeExchange, task: Task, cores: int, follow: OnTasks) -> Routes:
    """Read the routed topics of a task's targets to find the caches of their records.

    :raises IgniteKafkaError: the error that ended a task.
    """
    routed = [replace(target, ends=target.ends if target.routed else (), partitions=0) for target in task.targets]
    shares = shares_of(routed, cores)
    if not shares:
        return {}
    with closing(exchange(shares, partial(_routes_of, task), _merged, 1, follow)) as read:
        (routes,) = read.collect(lambda item: item)
    return dict(routes)


def _routes_of(task: Task, share: Share) -> Iterator[Block]:
    with task.begin() as direction:
        for number, partitions in share.partitions.items():
            counts = Counter[str]()
            for part in direction.caches(task.targets[number], partitions):
                counts.update(part)
            yield 0, (number, counts)


def _merged(blocks: Iterator[tuple[int, Counter[str]]]) -> dict[int, Counter[str]]:
    merged: dict[int, Counter[str]] = defaultdict(Counter)
    for number, counts in blocks:
        merged[number].update(counts)
    return dict(merged)


def sink_targets(topics: Sequence[TopicPlan], partitions: Mapping[str, int]) -> list[Target]:
    """A target for each topic, without the topic's bounds.

    :param partitions: number of partitions of each topic's cache.
    """
    places = [0, *accumulate(topic.partitions for topic in topics)]
    return [
        Target(topic.cache, topic.name, (), partitions[topic.cache], topic.routed, place)
        for topic, place in zip(topics, places[:-1], strict=True)
    ]


def absent_caches(routes: Routes, partitions: Mapping[str, int]) -> dict[str, int]:
    """Number of records for each cache that the cluster does not have.

    :param partitions: number of partitions of each cache of the cluster.
    """
    absent = Counter[str]()
    for counts in routes.values():
        absent.update({cache: count for cache, count in counts.items() if cache not in partitions})
    return dict(sorted(absent.items()))


def routed_targets(targets: Sequence[Target], routes: Routes, partitions: Mapping[str, int]) -> list[Target]:
    """The targets, and a target without topic partitions for each further cache of the records.

    :param partitions: number of partitions of each cache of the cluster.
    """
    topics: dict[str, list[str]] = defaultdict(list)
    for number, counts in sorted(routes.items()):
        for cache in counts:
            topics[cache].append(targets[number].topic)
    own = {target.cache for target in targets}
    routed = [
        replace(
            target, partitions=partitions[target.cache] if target.cache in topics and target.cache in partitions else 0
        )
        if target.routed
        else target
        for target in targets
    ]
    further = sorted(cache for cache in topics if cache in partitions and cache not in own)
    return [*routed, *(Target(cache, ", ".join(topics[cache]), (), partitions[cache]) for cache in further)]
