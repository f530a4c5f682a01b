"""What is said of caches that are there: whether their nodes may lose what they have acknowledged."""

from __future__ import annotations

import logging
from typing import cast

import pytest

from ignite_kafka import events
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.settings.sink import SinkSettings
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
    ("mode", "backups", "synchronization", "told"),
    [
        ("PARTITIONED", 1, "PRIMARY_SYNC", True),
        ("PARTITIONED", 2, "FULL_ASYNC", True),
        ("REPLICATED", 0, "PRIMARY_SYNC", True),
        ("PARTITIONED", 1, "FULL_SYNC", False),
        ("REPLICATED", 0, "FULL_SYNC", False),
        ("PARTITIONED", 0, "PRIMARY_SYNC", False),
    ],
)
def test_a_cache_that_acknowledges_before_its_backups_have_an_entry_is_named(
    caplog: pytest.LogCaptureFixture, mode: str, backups: int, synchronization: str, told: bool
) -> None:
    plan = SinkPlan("c", 1, 1, SinkSettings(name="c", topics=("t",)), (TopicPlan("t", "id", "trades", 1),))
    cache = CacheInfo("trades", 1, backups=backups, mode=mode, write_synchronization=synchronization)
    with caplog.at_level(logging.WARNING):
        assert ensure_caches(plan, cast(Cluster, OneCache(cache))) == []
    found = [record for record in caplog.records if getattr(record, "event_id", 0) == events.BACKUPS_BEHIND.id]
    assert len(found) == told
    for record in found:
        assert (
            f"cache trades acknowledges entries before its backups have them (write synchronization mode {synchronization})"
            in record.message
        )
    assert "FULL_SYNC" in events.BACKUPS_BEHIND.action
