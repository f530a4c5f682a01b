"""A switchover: killed before each of its effects it ends the same; late writers and differences stop it; it can be undone."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ignite_kafka.errors import RoleTransitionRefused
from ignite_kafka.role_transitions.switchover import abort, switch_over
from ignite_kafka.state.configs import Retirement
from ignite_kafka.state.role_transitions import ABORTED, DONE
from tests.unit.role_transitions.world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def turn(world: World, **options: Any) -> Any:
    return switch_over(world.pair, world.verify, world.waits, lambda _: None, **options)


def marks(world: World) -> dict[str, bool]:
    members = (world.pair.source, world.pair.sink, world.pair.reverse.source, world.pair.reverse.sink)
    return {member.name: member.retirement() is not None for member in members}


def test_the_steps_have_their_order(world: World) -> None:
    result = turn(world)
    assert [act for act in world.acts if not act.startswith("record")] == [
        "drained", "mark source", "stop source", "mark sink", "stop sink", "verify source", "verify sink", "end capture",
        "admit back-source", "admit back-sink",
    ]  # fmt: skip
    assert (result.transition.step, result.steps) == (DONE, ())
    assert result.transition.figures["compared_entries"] == {"source": 10, "sink": 10}
    assert marks(world) == {"source": True, "sink": True, "back-source": False, "back-sink": False}


def test_a_command_that_is_killed_anywhere_is_continued(world: World) -> None:
    rounds = world.with_kills(lambda: turn(world))
    assert len(rounds) == 17
    for number, acts in enumerate(rounds):
        order = [acts.index(act) for act in ("drained", "stop source", "stop sink", "verify sink", "end capture", "admit back-sink")]
        assert order == sorted(order), f"killed before effect {number}"
        assert world.record is not None
        assert world.record.step == DONE
        assert not world.captured
        assert marks(world) == {"source": True, "sink": True, "back-source": False, "back-sink": False}


def test_a_repetition_after_the_end_does_nothing(world: World) -> None:
    first = turn(world).transition
    world.acts.clear()
    assert turn(world).transition == first
    assert world.acts == []


def test_a_dry_run_changes_nothing(world: World) -> None:
    result = turn(world, dry_run=True)
    assert result.steps == ("drain", "stop_source", "stop_sink", "verify", "end_capture", "reverse")
    assert world.acts == []


def test_writers_that_write_after_the_drain_stop_it_and_it_can_be_undone(world: World) -> None:
    world.late_writes = {"x": 3}
    with pytest.raises(RoleTransitionRefused, match=r"writers of A have written after the drain; changes not sent: x 3"):
        turn(world)
    assert marks(world)["source"]
    assert not marks(world)["sink"]
    assert abort(world.pair, lambda _: None).transition.step == ABORTED
    assert not marks(world)["source"]
    world.late_writes = {}
    world.acts.clear()
    assert turn(world).transition.step == DONE, "a new switchover begins"
    assert "drained" in world.acts


def test_differences_stop_it_before_the_capture_ends(world: World) -> None:
    world.equal = False
    with pytest.raises(RoleTransitionRefused, match=r"topics and caches differ; keys that differ: x 3"):
        turn(world)
    assert world.captured
    assert marks(world) == {"source": True, "sink": True, "back-source": False, "back-sink": False}


def test_what_has_ended_cannot_be_undone(world: World) -> None:
    turn(world)
    with pytest.raises(RoleTransitionRefused, match="no switchover of this pair that can be undone"):
        abort(world.pair, lambda _: None)
    assert marks(world)["source"]


def test_a_pair_that_was_left_is_not_switched_over(world: World) -> None:
    cast(Any, world.pair.sink).mark_held = Retirement("t", "failover")
    with pytest.raises(RoleTransitionRefused, match="a failover has ended this connector"):
        turn(world)
    assert world.acts == []
