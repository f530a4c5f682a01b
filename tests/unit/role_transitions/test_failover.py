"""A failover: killed before each of its effects it ends the same, and it is refused while the source's cluster answers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ignite_kafka.errors import RoleTransitionRefused
from ignite_kafka.role_transitions.failover import behind, fail_over
from ignite_kafka.state.configs import Retirement
from ignite_kafka.state.role_transitions import DONE, FAILBACK, SWITCHOVER, RoleTransition
from tests.unit.role_transitions.world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    lost = World(monkeypatch)
    lost.answers = False
    return lost


def leave(world: World, **options: Any) -> Any:
    return fail_over(world.pair, world.store, world.waits, lambda _: None, **options)


def test_a_command_that_is_killed_anywhere_is_continued(world: World) -> None:
    rounds = world.with_kills(lambda: leave(world))
    assert len(rounds) == 13
    for acts in rounds:
        assert "admit sink" not in acts, "a supervisor could start it"
        order = [acts.index(act) for act in ("mark source", "fence source", "stop sink", "run sink")]
        assert order == sorted(order)
        assert world.record is not None
        assert world.record.step == DONE
        assert world.pair.source.retirement() is not None
        assert world.pair.sink.retirement() is not None


def test_a_cluster_that_answers_is_not_left_without_force(world: World) -> None:
    world.answers = True
    with pytest.raises(RoleTransitionRefused, match="the source's cluster answers"):
        leave(world)
    assert world.acts == []
    assert leave(world, force=True).transition.step == DONE


def test_a_dry_run_says_how_far_the_other_one_is_behind(world: World) -> None:
    result = leave(world, dry_run=True)
    assert result.steps == ("fence_source", "stop_sink", "store")
    assert result.transition.figures["distance"]["unsent"] == 5
    assert world.acts == []


@pytest.mark.parametrize("own", [True, False])
def test_a_cluster_that_dies_during_a_switchover_is_left(world: World, own: bool) -> None:
    world.record = RoleTransition("t1", SWITCHOVER, "verify")
    cast(Any, world.pair.sink).mark_held = Retirement("t1" if own else "t0", SWITCHOVER)
    if own:
        assert leave(world).transition.step == DONE
    else:
        with pytest.raises(RoleTransitionRefused, match="a switchover has ended this sink"):
            leave(world)


def test_the_distance_is_one_sentence() -> None:
    distance = {"newest_record_ms": 1_000, "unsent": 1_200, "unstored": 7}
    text = behind({"distance": distance, "fenced_ms": 3_500})
    assert text.startswith("the newest record is of 2.5 s before the fence; 1,200 changes were not sent")
    assert "7 records were not stored" in text
    unknown = behind({"distance": {**distance, "newest_record_ms": None, "unsent": None}, "fenced_ms": 3_500})
    assert unknown.startswith("the topics have no record; the source never recorded")


def test_a_failback_is_not_continued_as_a_failover(world: World) -> None:
    world.record = RoleTransition("t", FAILBACK, "store")
    cast(Any, world.pair.sink).mark_held = Retirement("t", FAILBACK)
    with pytest.raises(RoleTransitionRefused, match="a failback of the pair has not ended"):
        leave(world)
    assert world.acts == []


def test_what_the_run_did_not_store_is_refused(world: World) -> None:
    world.stops_early = True
    with pytest.raises(RoleTransitionRefused, match="the sink did not store everything: sink has to copy p-x 1"):
        leave(world)
    world.stops_early = False
    assert leave(world).transition.step == DONE


def test_a_pair_that_may_skip_entries_fails_over_with_a_warning(world: World) -> None:
    world.set_pair(sink={"error_handling_policy": "LOG_ONLY"})
    lines: list[str] = []
    assert fail_over(world.pair, world.store, world.waits, lines.append).transition.step == DONE
    assert lines[0].startswith("warning: error_handling_policy of the sink is LOG_ONLY")
