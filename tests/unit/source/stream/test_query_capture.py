"""The replacement for a capture if the nodes have no backlog service."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ignite_kafka.errors import CacheDestroyed, IgniteUnreachable, SettingsError
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.capture import Capture
from ignite_kafka.source.stream.query_capture import QueryCapture, capture_of
from ignite_kafka.source.stream.query_task import query_slots
from ignite_kafka.source.stream.task import stream_slots


class Nodes:
    """A cluster with the given caches."""

    credentials: Any = type("Credentials", (), {"backlog_secret": None})

    def __init__(self, *caches: str, service: bool = False) -> None:
        self.caches, self.service = list(caches), service

    def cache_names(self) -> list[str]:
        return self.caches

    def ask(self, question: object) -> bool:
        return self.service


def settings(**given: Any) -> SourceSettings:
    return SourceSettings(name="c", run_mode="continuous", **{"failover_policy": "NONE", **given})


def capture(nodes: Nodes, **given: Any) -> QueryCapture:
    found = capture_of(settings(**given), cast(Cluster, nodes), "owner")
    assert isinstance(found, QueryCapture)
    return found


@pytest.mark.parametrize(
    ("policy", "service", "by_queries"),
    [("NONE", False, True), ("FULL_SNAPSHOT", False, True), ("NONE", True, False), ("BACKLOG", False, False), ("BACKLOG", True, False)],
)
def test_the_nodes_and_the_policy_decide(policy: str, service: bool, by_queries: bool) -> None:
    found = capture_of(settings(failover_policy=policy), cast(Cluster, Nodes(service=service)), "owner")
    assert found.follows_cores is not by_queries
    assert found.run_slots() is (query_slots if by_queries else stream_slots)
    assert type(found) is (QueryCapture if by_queries else Capture)


def test_nothing_outlives_a_run() -> None:
    nodes = Nodes("a", "b")
    found = capture(nodes)
    found.check()
    found.stop()
    assert found.present() is None
    assert found.start(["a"]).capture_id == 0


def test_a_cache_that_comes_back_or_was_made_again_is_another() -> None:
    nodes = Nodes("a", "b", "other")
    found = capture(nodes, cache_whitelist=("a", "b"))
    first = found.seen()
    assert set(first) == {"a", "b"}
    assert found.seen() == first
    nodes.caches = ["a"]
    assert found.seen() == {"a": first["a"]}
    nodes.caches = ["a", "b"]
    second = found.seen()
    assert second["a"] == first["a"]
    assert second["b"] != first["b"]
    assert found.start(["a", "b"]).incarnations == {"a": "1", "b": "2"}
    found.made_again(CacheDestroyed("gone", cache="a"))
    third = found.seen()
    assert third["a"] != first["a"]
    assert third["b"] == second["b"]
    found.made_again(IgniteUnreachable("another error"))
    found.made_again(ValueError())
    assert found.seen() == third


def test_provenance_that_needs_the_service_is_refused_by_name() -> None:
    capture(Nodes(), provenance_headers=("cache", "time")).check()
    with pytest.raises(SettingsError, match=r"provenance_headers is wrong: .* does not tell update_counter") as refused:
        capture(Nodes(), provenance_headers=("cache", "update_counter")).check()
    assert "docs/deploy.md" in refused.value.remedy
