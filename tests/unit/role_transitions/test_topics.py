"""Topics of a pair: read by the sink, shortened by retention, and created for caches that were never sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.errors import RoleTransitionRefused, SettingsError
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.role_transitions import topics as module
from ignite_kafka.role_transitions.topics import check_topics, create_missing_topics, shortened_topics
from ignite_kafka.settings.source import SourceSettings
from tests.unit.role_transitions.world import SOURCE, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_the_sink_reads_the_topics_of_all_caches(world: World) -> None:
    world.caches = ["x", "y"]
    check_topics(world.pair)
    world.set_pair(sink={"topics_regex": "p-[a-x]"})
    with pytest.raises(RoleTransitionRefused, match="some caches of the source: y"):
        check_topics(world.pair)
    world.set_pair(source={"cache_whitelist": []}, sink={"topics": ["p-x"], "topics_regex": ""})
    world.caches = ["x", *(f"c{number}" for number in range(7))]
    with pytest.raises(RoleTransitionRefused, match="c0, c1, c2, c3, c4 and 2 more"):
        check_topics(world.pair)


def test_the_sink_does_not_read_the_reverse_topics(world: World) -> None:
    world.set_pair(sink={"topics_regex": ".*p-[xy]", "topic_prefix": "p-"})
    with pytest.raises(SettingsError, match="such as reverse-p-x"):
        check_topics(world.pair)


@pytest.mark.parametrize(
    ("policy", "first", "shortened"),
    [("delete", 5, True), ("delete", 0, False), ("compact", 5, False), ("compact,delete", 5, True), (None, 5, True)],
)
def test_a_topic_is_shortened_if_records_went_without_a_newer_one(policy: str | None, first: int, shortened: bool) -> None:
    def describe(names: list[str]) -> dict[str, Any]:
        return {name: SimpleNamespace(name=name, partitions=2, cleanup_policy=policy) for name in names if name != "absent"}

    topics = SimpleNamespace(describe=describe, offsets=lambda places, _: {place: first * place[1] for place in places})
    member: Any = SimpleNamespace(topics=topics)
    assert shortened_topics(member, ["t", "absent"]) == ({"t"} if shortened else set())


def test_topics_are_created_after_the_configurations_of_their_caches(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    settings = SourceSettings.from_dict(SOURCE)
    plan = TransferPlan("source", "", 0, 0, settings, tuple(CachePlan(name, 1, f"p-{name}", 4, 1, "") for name in ("x", "y")))
    acts: list[Any] = []
    present = {"p-x": 1}
    monkeypatch.setattr(module, "make_plan", lambda *_: plan)
    monkeypatch.setattr(module, "register_schemas", lambda *_: acts.append("schemas"))
    monkeypatch.setattr(module, "cache_configurations", lambda caches, _: {cache.topic: "its configuration" for cache in caches})
    monkeypatch.setattr(module, "cache_to_json", lambda configuration: configuration)
    monkeypatch.setattr(module, "ensure_types_topic", lambda *_: acts.append("types topic"))
    monkeypatch.setattr(module, "write_record", lambda _, topic, key, value, *__, **___: acts.append((topic, key, value)))
    monkeypatch.setattr(module, "ensure_topics", lambda chosen, _: acts.append([cache.topic for cache in chosen.caches]))
    member: Any = world.pair.source
    member.topics = SimpleNamespace(counts=lambda names: {name: present[name] for name in names if name in present})
    create_missing_topics(member)
    types = ("ignite-kafka-types", b'["cache","p-y"]', "its configuration")
    assert acts == ["schemas", "types topic", types, ["p-y"]]
    acts.clear()
    present["p-y"] = 1
    create_missing_topics(member)
    assert acts == []
