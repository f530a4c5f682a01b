"""Discovery of the caches that transforms choose for each record, by reading the topics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import accumulate

from ..plan.sink_plan import TopicPlan
from .direction import ComparedPair
from .exchange import Block, MakeExchange, OnTasks
from .task import Share, Task, distribute

Routes = Mapping[int, Counter[str]]
"""Number of records for each cache, by number of the pair that reads the topic."""


def find_routes(exchange: MakeExchange, task: Task, cores: int, follow: OnTasks) -> Routes:
    """Read topics whose transforms choose the cache, and count the records by cache.

    :raises IgniteKafkaError: the error that ended a task.
    """
    routed = [replace(pair, ends=pair.ends if pair.routed else (), partitions=0) for pair in task.pairs]
    shares = distribute(routed, cores)
    if not shares:
        return {}
    with closing(exchange(shares, partial(_count_caches, task), _merge, 1, follow)) as read:
        (routes,) = read.collect(lambda item: item)
    return dict(routes)


def _count_caches(task: Task, share: Share) -> Iterator[Block]:
    with task.begin() as direction:
        for number, partitions in share.partitions.items():
            counts = Counter[str]()
            for part in direction.count_caches(task.pairs[number], partitions):
                counts.update(part)
            yield 0, (number, counts)


def _merge(blocks: Iterator[tuple[int, Counter[str]]]) -> dict[int, Counter[str]]:
    merged: dict[int, Counter[str]] = defaultdict(Counter)
    for number, counts in blocks:
        merged[number].update(counts)
    return dict(merged)


def make_pairs(topics: Sequence[TopicPlan], partitions: Mapping[str, int]) -> list[ComparedPair]:
    """Pair each topic with its cache, without the topic's offsets yet.

    A topic that shares its cache has a pair of its own for its bad records; the cache gets a pair by
    :func:`add_routed_pairs`.

    :param partitions: number of partitions of each topic's cache.
    """
    firsts = [0, *accumulate(topic.partitions for topic in topics)]
    shared = shared_caches(topics)
    return [
        ComparedPair(
            f"{topic.cache} ({topic.name})" if topic.cache in shared else topic.cache,
            topic.name,
            (),
            partitions[topic.cache],
            topic.routed,
            first,
        )
        for topic, first in zip(topics, firsts[:-1], strict=True)
    ]


def shared_caches(topics: Sequence[TopicPlan]) -> frozenset[str]:
    """Return the names of caches to which several topics go by their names."""
    counts = Counter(topic.cache for topic in topics)
    return frozenset(cache for cache, count in counts.items() if count > 1)


def with_shared_routed(topics: Sequence[TopicPlan]) -> tuple[TopicPlan, ...]:
    """Mark topics that share a cache as routed: the cache is compared with the records of all of them."""
    shared = shared_caches(topics)
    return tuple(replace(topic, routed=topic.routed or topic.cache in shared) for topic in topics)


def count_absent_caches(routes: Routes, partitions: Mapping[str, int]) -> dict[str, int]:
    """Count, by cache, the records that go to caches missing in the cluster.

    :param partitions: number of partitions of each cache of the cluster.
    """
    absent = Counter[str]()
    for counts in routes.values():
        absent.update({cache: count for cache, count in counts.items() if cache not in partitions})
    return dict(sorted(absent.items()))


def add_routed_pairs(
    pairs: Sequence[ComparedPair], routes: Routes, partitions: Mapping[str, int]
) -> list[ComparedPair]:
    """Add a pair of topic and cache, without topic partitions, for each further cache chosen by transforms.

    :param partitions: number of partitions of each cache of the cluster.
    """
    topics: dict[str, list[str]] = defaultdict(list)
    for number, counts in sorted(routes.items()):
        for cache in counts:
            topics[cache].append(pairs[number].topic)
    own = {pair.cache for pair in pairs}
    routed = [
        replace(pair, partitions=partitions[pair.cache] if pair.cache in topics and pair.cache in partitions else 0)
        if pair.routed
        else pair
        for pair in pairs
    ]
    further = sorted(cache for cache in topics if cache in partitions and cache not in own)
    return [*routed, *(ComparedPair(cache, ", ".join(topics[cache]), (), partitions[cache]) for cache in further)]
