"""Whether the cache of a plan is still the one that a slot finds."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import CacheDestroyed, CacheNotFound
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.plan.source_plan import CachePlan
from ignite_kafka.source.snapshot.task import same_cache


class OneCache:
    """A cluster that holds one cache, or none."""

    def __init__(self, info: CacheInfo | None) -> None:
        self._info = info

    def cache(self, name: str) -> CacheInfo:
        if self._info is None:
            raise CacheNotFound("no such cache", cache=name)
        return self._info


def planned(incarnation: str) -> CachePlan:
    return CachePlan("c", 7, "to-c", 16, 2, incarnation)


@pytest.mark.parametrize(("then", "now"), [("a", "a"), ("", "a"), ("a", ""), ("", "")])
def test_unknown_incarnations_are_no_difference(then: str, now: str) -> None:
    info = CacheInfo("c", 7, 16, incarnation=now)
    assert same_cache(OneCache(info), planned(then)) is info  # type: ignore[arg-type]


@pytest.mark.parametrize("info", [CacheInfo("c", 7, 16, incarnation="b"), CacheInfo("c", 7, 32, incarnation="a")])
def test_a_cache_that_was_made_again(info: CacheInfo) -> None:
    with pytest.raises(CacheDestroyed, match="made again after the snapshot was planned"):
        same_cache(OneCache(info), planned("a"))  # type: ignore[arg-type]


def test_a_cache_that_is_gone() -> None:
    with pytest.raises(CacheDestroyed, match="destroyed after the snapshot was planned"):
        same_cache(OneCache(None), planned("a"))  # type: ignore[arg-type]
