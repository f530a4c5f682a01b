"""Targets of topics whose records are routed to caches one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, cast

from ignite_kafka.common.python_compat import Self
from ignite_kafka.plan.sink_plan import TopicPlan
from ignite_kafka.verification.direction import ComparedPair
from ignite_kafka.verification.fingerprints import probe
from ignite_kafka.verification.routed_caches import add_routed_pairs, count_absent_caches, find_routes, make_pairs, with_shared_routed
from ignite_kafka.verification.task import Task
from tests.support.local_exchange import LocalExchange

TOPICS = (TopicPlan("a", "id", "a", 3), TopicPlan("b", "id", "b", 2, routed=True), TopicPlan("c", "id", "c", 1, routed=True))
ROUTES = {1: Counter({"x": 4, "gone": 2}), 2: Counter({"x": 1, "a": 1, "c": 5, "gone": 1})}
PARTITIONS = {"x": 8, "c": 4, "a": 16}


def pairs() -> list[ComparedPair]:
    return make_pairs(TOPICS, {"a": 16, "b": 0, "c": 0})


def test_partitions_of_all_topics_have_places_of_their_own() -> None:
    assert [(one.topic, one.routed, one.first_partition) for one in pairs()] == [("a", False, 0), ("b", True, 3), ("c", True, 5)]


def test_caches_that_records_go_to_become_targets() -> None:
    found = {one.cache: (one.topic, one.partitions) for one in add_routed_pairs(pairs(), ROUTES, PARTITIONS)}
    assert found == {"a": ("a", 16), "b": ("b", 0), "c": ("c", 4), "x": ("b, c", 8)}
    assert add_routed_pairs(pairs()[:1], {}, {}) == pairs()[:1]


def test_a_cache_of_several_topics_is_one_target() -> None:
    topics = with_shared_routed((TopicPlan("a", "id", "all", 3), TopicPlan("b", "id", "own", 2), TopicPlan("c", "id", "all", 1)))
    assert [topic.routed for topic in topics] == [True, False, True]
    made = make_pairs(topics, {"all": 0, "own": 8})
    routes = {0: Counter({"all": 4}), 2: Counter({"all": 1})}
    targets = [(one.cache, one.topic, one.partitions) for one in add_routed_pairs(made, routes, {"all": 16})]
    assert targets == [("all (a)", "a", 0), ("own", "b", 8), ("all (c)", "c", 0), ("all", "a, c", 16)]


def test_records_of_caches_that_do_not_exist_are_counted() -> None:
    assert count_absent_caches(ROUTES, PARTITIONS) == {"gone": 3}


class Direction:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        """Do nothing, because nothing is open."""

    def count_caches(self, pair: ComparedPair, partitions: Sequence[int]) -> Iterator[Counter[str]]:
        assert pair.routed
        for partition in partitions:
            yield Counter({"x": 1, f"{pair.topic}-{partition}": 2})


def test_routed_topics_are_read_partition_by_partition() -> None:
    bounded = [ComparedPair(one.cache, one.topic, ((0, 9), (0, 9)), 7, one.routed) for one in pairs()[:2]]
    task = Task(bounded, lambda: cast(Any, Direction()), False, 5, True, probe())
    assert find_routes(LocalExchange, task, 2, lambda *_: None) == {1: Counter({"x": 2, "b-0": 2, "b-1": 2})}
    unrouted = Task(bounded[:1], lambda: cast(Any, Direction()), False, 5, True, probe())
    assert find_routes(LocalExchange, unrouted, 2, lambda *_: None) == {}
