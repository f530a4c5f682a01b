"""A failback: its order, its kills, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import RoleTransitionRefused, SettingsError
from ignite_kafka.role_transitions.failback import DROP, SEND, fail_back, report_unsent
from ignite_kafka.state.role_transitions import DONE, FAILOVER, SWITCHOVER, RoleTransition
from tests.unit.role_transitions.world import World

LEFT = RoleTransition("t", FAILOVER, DONE)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    left = World(monkeypatch)
    left.record = left.start = LEFT
    left.differing = left.begins_with = 3
    left.pair.reverse.source.ended = False  # type: ignore[attr-defined]
    return left


def take_back(world: World, choice: str, **options: Any) -> Any:
    return fail_back(world.pair, choice, world.verify, world.store, world.waits, lambda _: None, **options)


@pytest.mark.parametrize("choice", [SEND, DROP])
def test_a_command_that_is_killed_anywhere_is_continued(world: World, choice: str) -> None:
    for acts in world.with_kills(lambda: take_back(world, choice)):
        sends = ["create topics", "repair source", "run sink"] if choice == SEND else []
        # the removal on A comes after the begin of the capture on B, and before the first put on A
        order = [acts.index(act) for act in (*sends, "end capture", "mark back-sink", "admit back-source", "align", "admit back-sink")]
        assert order == sorted(order)
        assert ("repair source" in acts) is (choice == SEND)
        assert world.record is not None
        assert world.record.step == DONE
        assert not world.unstored
        assert world.pair.reverse.source.retirement() is None
        assert world.pair.reverse.sink.retirement() is None


def test_an_empty_cluster_sends_no_tombstones(world: World) -> None:
    world.entries, world.removed = 0, 500
    with pytest.raises(RoleTransitionRefused, match=r"the cache is empty on the returned cluster, and its topic has 500 keys.*--drop"):
        take_back(world, SEND)
    assert "repair source" not in world.acts
    assert take_back(world, DROP).transition.step == DONE, "nothing was sent, so the choice may change"


def test_what_cannot_be_sent_is_not_removed_from_the_returned_cluster(world: World) -> None:
    world.sendable = False
    with pytest.raises(RoleTransitionRefused, match="not everything that A had could be sent"):
        take_back(world, SEND)
    assert "align" not in world.acts
    world.sendable = True
    assert take_back(world, SEND).transition.step == DONE


def test_what_was_sent_and_not_stored_is_not_removed_from_the_returned_cluster(world: World) -> None:
    world.stops_early = True
    with pytest.raises(RoleTransitionRefused, match="the sink did not store everything"):
        take_back(world, SEND)
    assert "align" not in world.acts


def test_keys_that_retention_deleted_are_not_sent(world: World) -> None:
    world.shortened = {"p-x"}
    assert [cache.records_deleted for cache in report_unsent(world.pair, world.verify).caches] == [True]
    with pytest.raises(RoleTransitionRefused, match="retention may have deleted records of the topic"):
        take_back(world, SEND)
    assert "repair source" not in world.acts
    assert take_back(world, DROP).transition.step == DONE


def test_caches_that_the_sink_never_read_are_not_emptied(world: World) -> None:
    world.set_pair(sink={"topics": ["p-x"], "topics_regex": ""})
    world.caches = ["x", "y"]
    with pytest.raises(RoleTransitionRefused, match="does not read the topics of some caches of the source: y"):
        take_back(world, DROP)
    assert world.acts == []


def test_a_pair_that_may_skip_entries_is_refused(world: World) -> None:
    world.set_pair(source={"conversion_error_policy": "LOG_ONLY"})
    with pytest.raises(SettingsError, match="conversion_error_policy of the source is LOG_ONLY"):
        take_back(world, DROP)
    assert world.acts == []


def test_a_report_changes_nothing(world: World) -> None:
    report = report_unsent(world.pair, world.verify)
    assert [(cache.cache, cache.stored, cache.changed, cache.removed) for cache in report.caches] == [("x", 3, 0, 0)]
    assert report.count == 3
    assert world.acts == ["verify source"]


@pytest.mark.parametrize(
    ("record", "answers", "message"),
    [
        (None, True, "has not failed over"),
        (RoleTransition("t", SWITCHOVER, DONE), True, "has not failed over"),
        (RoleTransition("t", FAILOVER, "store"), True, "the failover of the pair has not ended"),
        (LEFT, False, "the source's cluster does not answer"),
    ],
)
def test_what_cannot_be_taken_back_is_refused(world: World, record: RoleTransition | None, answers: bool, message: str) -> None:
    world.record, world.answers = record, answers
    with pytest.raises(RoleTransitionRefused, match=message):
        take_back(world, DROP)
    assert world.acts == []


def test_a_choice_is_made_once(world: World) -> None:
    take_back(world, DROP)
    with pytest.raises(RoleTransitionRefused, match="began with --drop"):
        take_back(world, SEND)


def test_the_reverse_source_is_awaited(world: World) -> None:
    world.pair.reverse.source.ended = True  # type: ignore[attr-defined]
    with pytest.raises(RoleTransitionRefused, match="back-source does not run"):
        take_back(world, DROP)
    assert "align" not in world.acts
