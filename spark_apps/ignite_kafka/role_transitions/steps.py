"""Steps of a role transition, each recorded after it is done, so that the next call continues behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..common.new_id import new_id
from ..errors import RoleTransitionRefused
from ..state.role_transitions import DONE, RoleTransition, read_transition, write_transition
from ..state.status import now_ms
from .pair import Pair

Report = Callable[[str], None]
"""Function that shows a line about a step."""


@dataclass(frozen=True)
class Step:
    """A step of a transition.

    :param name: kept in the record; never changed, because another version may continue the transition.
    :param text: the step in one line.
    :param do: does the step, which may be repeated, and returns figures for the record.
    """

    name: str
    text: str
    do: Callable[[RoleTransition], Mapping[str, Any]]


@dataclass(frozen=True)
class TransitionResult:
    """A role transition after a call of the command.

    :param steps: names of the steps left for the next call; of a dry run, those that a call would do.
    :param dry_run: whether nothing was changed.
    """

    source: str
    sink: str
    transition: RoleTransition
    steps: tuple[str, ...] = ()
    dry_run: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return asdict(self)


class Progress:
    """Record of a pair's transition, of which this process wrote the last state."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._written: RoleTransition | None = None

    def read(self) -> RoleTransition | None:
        """Read the newest transition of the pair; None without one."""
        sink = self._pair.sink
        self._written = read_transition(sink.clients, sink.topics, sink.prefix, sink.name, self._pair.source.name)
        return self._written

    def write(self, transition: RoleTransition) -> None:
        """Record the transition.

        :raises RoleTransitionRefused: another process has recorded another state since :meth:`read`.
        """
        seen = self._written
        if self.read() != seen:
            raise RoleTransitionRefused(
                "another command continues this role transition",
                "Let it end, and run one command only.",
                connector=self._pair.sink.name,
            )
        sink = self._pair.sink
        write_transition(sink.clients, sink.topics, sink.prefix, sink.name, self._pair.source.name, transition)
        self._written = transition


def new_transition(kind: str, steps: Sequence[Step], figures: Mapping[str, Any] | None = None) -> RoleTransition:
    """Return a transition before its first step."""
    return RoleTransition(new_id(), kind, steps[0].name, now_ms(), 0, dict(figures or {}))


def do_steps(progress: Progress, transition: RoleTransition, steps: Sequence[Step], report: Report) -> RoleTransition:
    """Do all steps from the recorded one on, and record each.

    :param transition: the recorded state, or a new transition, which is recorded first.
    :raises IgniteKafkaError: a step failed; the next call repeats it.
    """
    progress.write(transition)
    for number, step in enumerate(steps_left(transition, steps), len(steps) - len(steps_left(transition, steps)) + 1):
        report(f"step {number} of {len(steps)}: {step.text}")
        figures = {**transition.figures, **step.do(transition)}
        following = steps[number].name if number < len(steps) else DONE
        ended_ms = now_ms() if following == DONE else 0
        transition = replace(transition, step=following, ended_ms=ended_ms, figures=figures)
        progress.write(transition)
    return transition


def check_kind(pair: Pair, present: RoleTransition | None, *kinds: str) -> None:
    """Check that no transition of another kind is under way: steps of two kinds may have one name.

    :raises RoleTransitionRefused: one is.
    """
    if present is not None and not present.ended and present.kind not in kinds:
        raise RoleTransitionRefused(
            f"a {present.kind} of the pair has not ended",
            f"Continue it: ignite-kafka replicate {present.kind}.",
            connector=pair.sink.name,
            step=present.step,
        )


def steps_left(transition: RoleTransition, steps: Sequence[Step]) -> Sequence[Step]:
    """Return the steps from the recorded one on; none after the end.

    :raises RoleTransitionRefused: this version does not have the recorded step.
    """
    if transition.ended:
        return ()
    names = [step.name for step in steps]
    if transition.step not in names:
        raise RoleTransitionRefused(
            f"a {transition.kind} of the pair is at step {transition.step!r}, which this command does not have",
            f"Continue or abort that {transition.kind} with the command and the version that began it.",
            step=transition.step,
        )
    return steps[names.index(transition.step) :]
