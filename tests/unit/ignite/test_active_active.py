"""Checks of nodes for active-active connectors: each lack is named before the first record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from ignite_kafka.errors import BacklogMissing, BacklogRefused
from ignite_kafka.ignite import active_active
from ignite_kafka.ignite.active_active import VersionCounts, VersionRules, check_active_active, check_unversioned, read_counts, read_rule
from ignite_kafka.ignite.cache_configuration import CacheConfiguration

ANSWER = {
    "cluster": 3,
    "foreignRefused": 5,
    "localRefused": 1,
    "lastKeys": ["k"],
    "tombstonesDropped": 2,
    "readsThrough": 0,
    "rule": "field a",
}


@dataclass
class Nodes:
    """Nodes whose jar has a version, and which keep versions of some caches."""

    contract: int = 6
    has_jar: bool = True
    expiry: tuple[int, int, int] | None = None
    caches: dict[str, dict[str, Any]] = field(default_factory=lambda: {"a": ANSWER, "b": ANSWER, "plain": {"cluster": 0}})
    refusal: str = ""

    def ask(self, question: Callable[[Any], Any]) -> Any:
        return question(self)

    def version(self) -> int:
        return self.contract

    def configuration(self, cache: str) -> CacheConfiguration:
        return CacheConfiguration(cache, expiry_policy=self.expiry)

    def active_active_caches(self) -> frozenset[str]:
        if self.refusal:
            raise BacklogRefused("no", code=self.refusal)
        return frozenset({"a", "b", "not-created"})

    def active_active(self, cache: str) -> dict[str, Any]:
        return self.caches[cache]


@pytest.fixture(autouse=True)
def service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_active, "BacklogService", lambda nodes: nodes)
    monkeypatch.setattr(active_active, "has_service", lambda nodes: nodes.has_jar)


def check(nodes: Nodes, *caches: str) -> VersionRules:
    return check_active_active(cast(Any, nodes), caches)


def test_configured_nodes_tell_the_clusters_id_and_their_rules() -> None:
    given: dict[str, dict[str, Any]] = {"a": ANSWER, "b": ANSWER | {"rule": ""}, "plain": {"cluster": 0}}
    assert check(Nodes(caches=given), "a", "b") == VersionRules(3, {"a": "field a", "b": ""})
    assert check(Nodes()) == VersionRules(0, {})
    assert [read_rule(cast(Any, Nodes(caches=given)), cache) for cache in given] == ["field a", "", ""]


def test_what_nodes_lack_is_named() -> None:
    with pytest.raises(BacklogMissing, match="which active_active needs"):
        check(Nodes(has_jar=False), "a")
    with pytest.raises(BacklogRefused, match="older than active_active"):
        check(Nodes(contract=5), "a")
    with pytest.raises(BacklogRefused, match="IGNITE_KAFKA_ACTIVE_ACTIVE_CACHES") as refused:
        check(Nodes(), "a", "plain")
    assert refused.value.where == {"code": "NOT_ACTIVE_ACTIVE", "cache": "plain"}


def test_an_expiry_policy_is_refused_unless_it_is_eternal() -> None:
    assert check(Nodes(expiry=(-1, -2, -2)), "a").cluster_id == 3
    with pytest.raises(BacklogRefused, match="has an expiry policy"):
        check(Nodes(expiry=(1_000, -2, -2)), "a")


def test_a_cache_that_reads_through_is_refused() -> None:
    with pytest.raises(BacklogRefused, match="what a read loads counts as a new write") as refused:
        check(Nodes(caches={"a": ANSWER | {"readsThrough": 1}}), "a")
    assert refused.value.where == {"code": "READS_THROUGH", "cache": "a"}


def test_connectors_without_versions_are_refused_on_caches_of_several_clusters() -> None:
    with pytest.raises(BacklogRefused, match="without active_active its entries lose their versions") as refused:
        check_unversioned(cast(Any, Nodes()), ["plain", "b", "a"])
    assert refused.value.where == {"code": "UNVERSIONED", "cache": "a, b"}
    assert "allow_unversioned" in str(refused.value)
    check_unversioned(cast(Any, Nodes()), ["plain"])


def test_nodes_that_cannot_say_what_several_clusters_write_refuse_nothing() -> None:
    check_unversioned(cast(Any, Nodes(has_jar=False)), ["a"])
    for code in ("OLDER_JAR", "FORBIDDEN"):
        check_unversioned(cast(Any, Nodes(refusal=code)), ["a"])
    with pytest.raises(BacklogRefused, match="no"):
        check_unversioned(cast(Any, Nodes(refusal="OTHER")), ["a"])


def test_counts_are_those_of_the_nodes_and_differ_by_what_is_new() -> None:
    nodes = cast(Any, Nodes())
    assert read_counts(nodes, "a") == VersionCounts(5, 1, ("k",), 2)
    assert read_counts(nodes, "plain") == VersionCounts()
    assert VersionCounts(5, 1, ("k",), 7).since(VersionCounts(2, 4, ("j",), 3)) == VersionCounts(3, 0, ("k",), 4)
