"""Steps of a role transition: recorded one by one, continued after a kill, and by one command only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from ignite_kafka.errors import RoleTransitionRefused
from ignite_kafka.role_transitions import steps as module
from ignite_kafka.role_transitions.pair import Pair
from ignite_kafka.role_transitions.steps import Progress, Step, do_steps, new_transition, steps_left
from ignite_kafka.state.role_transitions import DONE, RoleTransition


class Killed(Exception):
    """The command's process was killed."""


class World:
    """The record of the pair in Kafka, and the steps that were done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.record: RoleTransition | None = None
        self.done: list[str] = []
        self.dies_in = ""
        monkeypatch.setattr(module, "read_transition", lambda *_: self.record)
        monkeypatch.setattr(module, "write_transition", lambda *arguments: setattr(self, "record", arguments[-1]))

    def steps(self) -> list[Step]:
        return [Step(name, f"do {name}", self._doing(name)) for name in ("first", "second", "third")]

    def _doing(self, name: str) -> Any:
        def do(_: RoleTransition) -> Mapping[str, Any]:
            self.done.append(name)
            if name == self.dies_in:
                raise Killed
            return {name: len(self.done)}

        return do

    def run(self, lines: list[str]) -> RoleTransition:
        progress = Progress(cast(Pair, _FakePair()))
        present = progress.read()
        transition = new_transition("switchover", self.steps()) if present is None else present
        return do_steps(progress, transition, self.steps(), lines.append)


class _Member:
    clients = topics = None
    prefix = name = "c"


class _FakePair:
    source = sink = _Member()


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


@pytest.mark.parametrize(
    ("dies_in", "done", "lines"),
    [
        ("first", ["first", "first", "second", "third"], ["step 1 of 3: do first", "step 2 of 3: do second", "step 3 of 3: do third"]),
        ("second", ["first", "second", "second", "third"], ["step 2 of 3: do second", "step 3 of 3: do third"]),
        ("third", ["first", "second", "third", "third"], ["step 3 of 3: do third"]),
    ],
)
def test_the_next_call_continues_with_the_step_that_was_killed(world: World, dies_in: str, done: list[str], lines: list[str]) -> None:
    world.dies_in = dies_in
    with pytest.raises(Killed):
        world.run([])
    assert world.record is not None
    assert world.record.step == dies_in
    world.dies_in = ""
    shown: list[str] = []
    ended = world.run(shown)
    assert world.done == done
    assert shown == lines
    assert ended == world.record
    assert (ended.step, ended.ended, set(ended.figures)) == (DONE, True, {"first", "second", "third"})
    assert ended.ended_ms >= ended.started_ms > 0
    assert not steps_left(ended, world.steps())


def test_a_second_command_ends_the_first(world: World) -> None:
    progress = Progress(cast(Pair, _FakePair()))
    progress.read()
    begun = new_transition("switchover", world.steps())
    progress.write(begun)
    world.record = replace(begun, step="second")
    with pytest.raises(RoleTransitionRefused, match="another command continues"):
        progress.write(replace(begun, step="third"))
    assert world.record.step == "second"


def test_a_step_of_another_transition_is_refused(world: World) -> None:
    with pytest.raises(RoleTransitionRefused, match="a failover of the pair is at step 'fence_source'"):
        steps_left(RoleTransition("t", "failover", "fence_source"), world.steps())
