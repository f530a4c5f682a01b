"""A switchover: killed before each of its effects it ends the same; late writers and differences stop it; it can be undone."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ignite_kafka.errors import BacklogRefused, RoleTransitionRefused, SettingsError
from ignite_kafka.role_transitions.switchover import abort, switch_over
from ignite_kafka.state.configs import Retirement
from ignite_kafka.state.role_transitions import ABORTED, DONE, FAILBACK, FAILOVER, RoleTransition
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


def test_changes_that_the_capture_has_lost_since_the_drain_stop_it(world: World) -> None:
    """They are in no count: only the mark on their partition shows them."""
    world.lost_writes = True
    with pytest.raises(RoleTransitionRefused, match=r"the capture has lost changes since the drain.*--abort"):
        turn(world)
    assert "end capture" not in world.acts


def test_differences_stop_it_before_the_capture_ends(world: World) -> None:
    world.differing = 3
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


@pytest.mark.parametrize(("kind", "step"), [(FAILBACK, "end_capture"), (FAILOVER, "stop_sink")])
def test_another_transition_is_not_continued_as_a_switchover(world: World, kind: str, step: str) -> None:
    """Its steps of the same names are followed by others."""
    world.record = RoleTransition("t", kind, step)
    with pytest.raises(RoleTransitionRefused, match=rf"a {kind} of the pair has not ended.*replicate {kind}"):
        turn(world)
    assert world.acts == []


def test_caches_that_the_sink_does_not_read_are_refused(world: World) -> None:
    world.set_pair(sink={"topics": ["p-x"], "topics_regex": ""})
    world.caches = ["x", "y", "z"]
    with pytest.raises(RoleTransitionRefused, match=r"does not read the topics of some caches of the source: y\b.*cache_blacklist"):
        turn(world)
    assert world.acts == []
    world.set_pair(source={"cache_blacklist": ["y"]}, sink={"topics": ["p-x"], "topics_regex": ""})
    assert turn(world).transition.step == DONE


def test_a_pair_that_may_skip_entries_is_refused(world: World) -> None:
    world.set_pair(sink={"error_handling_policy": "LOG_ONLY"})
    with pytest.raises(SettingsError, match="error_handling_policy of the sink is LOG_ONLY"):
        turn(world)
    assert world.acts == []


def test_skipped_records_stop_it(world: World) -> None:
    world.skipped = 2
    with pytest.raises(RoleTransitionRefused, match="cannot be converted, and are on one cluster alone: x 2"):
        turn(world)
    assert world.captured


def test_a_refusal_of_the_nodes_is_no_ended_capture(world: World) -> None:
    world.record = RoleTransition("t", "switchover", "end_capture")
    world.captured, world.refusal = False, "FORBIDDEN"
    with pytest.raises(BacklogRefused):
        turn(world)
    assert world.acts == ["record end_capture"]
    world.refusal = "UNKNOWN_CONNECTOR"
    assert turn(world).transition.step == DONE
    assert "end capture" in world.acts, "what an interrupted end has left is removed"
