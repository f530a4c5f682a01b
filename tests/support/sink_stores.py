"""Stores of a sink on caches in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from ignite_kafka.errors import CacheNotFound
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.entry_router import EntryRouter
from ignite_kafka.sink.store import Store
from tests.support.to_ignite_records import GrowingTypes
from tests.support.types_log import TypesLog

KAFKA = "org.apache.kafka.connect.transforms."
BY_DAY: dict[str, Any] = {
    "transforms": "day,mask",
    "transform_config": {
        "day": {"type": f"{KAFKA}TimestampRouter", "timestamp.format": "yyyyMMdd"},
        "mask": {"type": f"{KAFKA}MaskField$Value", "fields": "x"},
    },
}


class Caches:
    """A cluster without types, and the entries that were put."""

    def __init__(self) -> None:
        self.types = GrowingTypes()
        self.put: list[tuple[bytes, bytes]] = []

    def cache(self, name: str) -> CacheInfo:
        return CacheInfo(name, 1)

    def writer(self, *_: Any, **__: Any) -> Any:
        def put(keys: pa.BinaryArray, values: pa.BinaryArray, _: object) -> None:
            self.put += zip(keys.to_pylist(), values.to_pylist(), strict=True)

        return SimpleNamespace(put=put, flush=lambda: None)

    def replace_cluster(self, monkeypatch: pytest.MonkeyPatch, log: TypesLog) -> None:
        """Let routers and stores use this cluster, and the types topic of a log."""
        monkeypatch.setattr("ignite_kafka.sink.store.CacheWriter", self.writer)
        monkeypatch.setattr("ignite_kafka.sink.entry_router.ClusterTypes", lambda _: self.types)
        monkeypatch.setattr("ignite_kafka.sink.entry_router.TypesTopic", lambda *_: log.topic)


class RoutedCaches(Caches):
    """A cluster on which caches are created, and the entries that were put in each."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.by_cache: dict[str, list[bytes]] = {}

    def cache(self, name: str) -> CacheInfo:
        if name not in self.names:
            raise CacheNotFound("no cache", cache=name)
        return CacheInfo(name, 1 + self.names.index(name))

    def ask(self, _: object) -> bool:
        """Answer that no node has the jar, so that no cache is of several clusters."""
        return False

    def create(self, _: Any, wanted: CacheConfiguration) -> CacheInfo:
        self.names.append(wanted.name)
        return self.cache(wanted.name)

    def writer(self, _: Any, cache: CacheInfo, **__: Any) -> Any:
        put = self.by_cache.setdefault(cache.name, [])
        return SimpleNamespace(put=lambda keys, *_: put.extend(keys.to_pylist()), remove=lambda *_: None, flush=lambda: None)


def make_store(plan: SinkPlan, cluster: object, *, in_order: bool = False) -> Store:
    return Store(make_router(plan, cluster), cast(Any, cluster), plan.settings, in_order=in_order)


def make_router(plan: SinkPlan, cluster: object) -> EntryRouter:
    return EntryRouter(plan, cast(Any, cluster), cast(Any, None))


def make_plan(topics: tuple[str, ...] = ("topic",), **settings: Any) -> SinkPlan:
    plans = tuple(TopicPlan(topic, "id", "cache", 4) for topic in topics)
    return SinkPlan("c", 1, 4, SinkSettings(name="c", topics=topics, **settings), plans)


def by_day(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[SinkPlan, RoutedCaches]:
    """Plan of a topic whose records have a cache for each day, and the cluster of these caches."""
    return routed_plan(monkeypatch, **{**BY_DAY, **settings})


def routed_plan(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[SinkPlan, RoutedCaches]:
    """Plan of a topic whose transforms choose the cache of each record, and the cluster of these caches."""
    caches = RoutedCaches()
    caches.replace_cluster(monkeypatch, TypesLog())
    monkeypatch.setattr("ignite_kafka.sink.caches.get_or_create_cache", caches.create)
    made = SinkSettings.from_dict({"name": "c", "topics": "topic", **settings})
    return SinkPlan("c", 1, 4, made, (TopicPlan("topic", "id", "cache", 4, routed=True),)), caches
