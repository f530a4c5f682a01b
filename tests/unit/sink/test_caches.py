"""Existing caches that acknowledge entries before their backups have them are reported; settings of new ones may differ by topic."""

from __future__ import annotations

import logging
from typing import cast

import pytest

from ignite_kafka import events
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink import caches
from ignite_kafka.sink.caches import ensure_caches


class OneCache:
    """A cluster that has one cache."""

    def __init__(self, cache: CacheInfo) -> None:
        self._cache = cache

    def cache_names(self) -> list[str]:
        return [self._cache.name]

    def cache(self, name: str) -> CacheInfo:
        assert name == self._cache.name
        return self._cache


@pytest.mark.parametrize(
    ("mode", "backups", "synchronization", "reported"),
    [
        ("PARTITIONED", 1, "PRIMARY_SYNC", True),
        ("PARTITIONED", 2, "FULL_ASYNC", True),
        ("REPLICATED", 0, "PRIMARY_SYNC", True),
        ("PARTITIONED", 1, "FULL_SYNC", False),
        ("REPLICATED", 0, "FULL_SYNC", False),
        ("PARTITIONED", 0, "PRIMARY_SYNC", False),
    ],
)
def test_a_cache_that_acknowledges_before_its_backups_is_reported(
    caplog: pytest.LogCaptureFixture, mode: str, backups: int, synchronization: str, reported: bool
) -> None:
    plan = SinkPlan("c", 1, 1, SinkSettings(name="c", topics=("t",)), (TopicPlan("t", "id", "trades", 1),))
    cache = CacheInfo("trades", 1, backups=backups, mode=mode, write_synchronization=synchronization)
    with caplog.at_level(logging.WARNING):
        assert ensure_caches(plan, cast(Cluster, OneCache(cache)), lambda _: None) == []
    found = [record for record in caplog.records if getattr(record, "event_id", 0) == events.BACKUPS_BEHIND.id]
    assert len(found) == reported
    for record in found:
        assert (
            f"cache trades acknowledges entries before its backups have them (write synchronization mode {synchronization})"
            in record.getMessage()
        )
    assert "FULL_SYNC" in events.BACKUPS_BEHIND.action


class NoCaches:
    """A cluster without caches."""

    def cache_names(self) -> list[str]:
        return []


@pytest.mark.parametrize("of_all", [True, False])
def test_cache_as_source_may_differ_between_topics(of_all: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, str | None] = {}

    def create(_cluster: object, wanted: CacheConfiguration) -> CacheInfo:
        made[wanted.name] = wanted.atomicity
        return CacheInfo(wanted.name, 1)

    monkeypatch.setattr(caches, "get_or_create_cache", create)
    settings = SinkSettings(name="c", topics=("a", "b"), cache_as_source=of_all, overrides={"b": {"cache_as_source": not of_all}})
    plan = SinkPlan("c", 1, 1, settings, tuple(TopicPlan(name, name, f"cache-{name}", 1) for name in "ab"))
    ensure_caches(plan, cast(Cluster, NoCaches()), lambda topic: CacheConfiguration(topic, atomicity="TRANSACTIONAL"))
    assert {name: atomicity == "TRANSACTIONAL" for name, atomicity in made.items()} == {"cache-a": of_all, "cache-b": not of_all}
