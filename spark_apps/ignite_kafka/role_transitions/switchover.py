"""Switchover: a pair that copies from A to B is drained, compared, and copies from B to A from then on.

The order is that of Oracle Data Guard's SWITCHOVER: validate, drain, end the old primary role, verify, begin the new
one. Progress and marks are in Kafka, so that any machine continues after a kill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..admin import backlog
from ..errors import BacklogRefused, RoleTransitionRefused
from ..ignite.backlog_errors import UNKNOWN_CONNECTOR
from ..settings.connector import ConnectorSettings
from ..state.configs import Retirement
from ..state.role_transitions import ABORTED, SWITCHOVER, RoleTransition
from ..state.status import now_ms
from .pair import Member, Pair, Verify
from .reverse_pair import check_lossless
from .steps import Progress, Report, Step, TransitionResult, check_kind, do_steps, new_transition, steps_left
from .topics import check_topics
from .waits import Waits, describe_lag, sink_lag, unsent_changes

_CONTINUE = "Or go back to the old direction: ignite-kafka replicate switchover … --abort."
_REPEAT = (
    "Go back to the old direction with ignite-kafka replicate switchover … --abort, start the pair, stop all writers "
    "of A, and repeat."
)
END_CAPTURE = "end_capture"


def switch_over(pair: Pair, verify: Verify, waits: Waits, report: Report, *, dry_run: bool = False) -> TransitionResult:
    """Turn the direction of a pair, or continue a switchover that was interrupted.

    After the last step no run of this pair can begin, and the reverse pair may be started.

    :param verify: called for the source, then for the sink.
    :param dry_run: check that the switchover could begin, and change nothing.
    :raises SettingsError: the reverse pair cannot be derived, or the pair may skip entries.
    :raises RoleTransitionRefused: a step did not succeed. The next call repeats it, and :func:`abort` undoes it.
    :raises IgniteKafkaError: a cluster did not answer.
    """
    work = _Switchover(pair, verify, waits)
    reverse = pair.reverse
    progress = Progress(pair)
    present = progress.read()
    retired = pair.source.retirement()
    if present is not None and present.kind == SWITCHOVER and present.ended and retired is not None:
        report(f"the pair is switched over already: {reverse.source.name} and {reverse.sink.name} copy back")
        return _result(pair, present, dry_run=dry_run)
    check_kind(pair, present, SWITCHOVER)
    check_lossless(pair.source.settings, pair.sink.settings)
    steps = work.steps()
    if present is None or present.ended:
        work.check()
        present = new_transition(SWITCHOVER, steps)
        begun = False
    else:
        begun = True
    left = steps_left(present, steps)
    if dry_run:
        for step in left:
            report(f"would {'continue with' if begun and step is left[0] else 'do'}: {step.text}")
        return _result(pair, present, tuple(step.name for step in left), dry_run=True)
    return _result(pair, do_steps(progress, present, steps, report))


def abort(pair: Pair, report: Report) -> TransitionResult:
    """Undo a switchover that has not ended the capture on A: both connectors may run again.

    :raises RoleTransitionRefused: there is no such switchover.
    """
    progress = Progress(pair)
    present = progress.read()
    names = [step.name for step in _Switchover(pair, _never, Waits()).steps()]
    undoable = names[: names.index(END_CAPTURE) + 1]
    if present is None or present.kind != SWITCHOVER or present.step not in undoable:
        raise RoleTransitionRefused(
            "there is no switchover of this pair that can be undone",
            "One that is complete is undone by a switchover of the reverse pair.",
            connector=pair.sink.name,
            step=None if present is None else present.step,
        )
    for member in (pair.sink, pair.source):
        member.admit()
    aborted = replace(present, step=ABORTED, ended_ms=now_ms())
    progress.write(aborted)
    report("aborted: start the pair again with ignite-kafka replicate")
    return _result(pair, aborted)


def _never(*_: object) -> Any:
    raise AssertionError("an aborted switchover does no step")


def _result(
    pair: Pair, transition: RoleTransition, steps: tuple[str, ...] = (), *, dry_run: bool = False
) -> TransitionResult:
    return TransitionResult(pair.source.name, pair.sink.name, transition, steps, dry_run)


class _Switchover:
    """The steps of a switchover of a pair; each may be repeated."""

    def __init__(self, pair: Pair, verify: Verify, waits: Waits) -> None:
        self._pair = pair
        self._verify = verify
        self._waits = waits

    def check(self) -> None:
        """Check the runs of both connectors, and the topics of all caches.

        :raises RoleTransitionRefused: one of them never ran, or is retired; or the sink does not read a topic.
        """
        for member in (self._pair.source, self._pair.sink):
            member.require_started()
            if (mark := member.retirement()) is not None:
                raise RoleTransitionRefused(
                    f"a {mark.reason} has ended this connector",
                    "The reverse pair is the one that can be switched over: give its settings.",
                    connector=member.name,
                )
        check_topics(self._pair)

    def steps(self) -> list[Step]:
        """Return the steps in their order."""
        a = self._pair.source.name
        b = self._pair.sink.name
        quiet = f"{self._waits.quiet_s:g} s"
        return [
            Step("drain", f"wait until the lag of {a} and {b} is 0 and stays 0 for {quiet}: stop all writers of A now",
                 self._drain),
            Step("stop_source", f"retire {a}, and end its run", self._stop_source),
            Step("stop_sink", f"let {b} store the rest, retire it, and end its run", self._stop_sink),
            Step("verify", "compare all keys of A with the topics, and of the topics with B", self._compare),
            Step(END_CAPTURE, "end the capture on A", self._end_capture),
            Step("reverse", "let the reverse pair begin", self._reverse),
        ]  # fmt: skip

    def _drain(self, _: RoleTransition) -> Mapping[str, Any]:
        return {"topic_offsets": self._waits.until_drained(self._pair)}

    def _stop_source(self, transition: RoleTransition) -> Mapping[str, Any]:
        self._stop(self._pair.source, transition)
        self._check_no_writers()
        return {}

    def _stop_sink(self, transition: RoleTransition) -> Mapping[str, Any]:
        if not self._pair.sink.newest_run().ended:
            self._waits.until_stored(self._pair)
        self._stop(self._pair.sink, transition)
        if left := describe_lag(sink_lag(self._pair)):
            raise RoleTransitionRefused(f"the sink ended before it stored everything: {left}", _CONTINUE)
        return {}

    def _stop(self, member: Member[Any], transition: RoleTransition) -> None:
        member.retire(Retirement(transition.id, SWITCHOVER, now_ms()))
        self._waits.until_ended(member)

    def _check_no_writers(self) -> None:
        """Check that nothing was written on A since the drain.

        :raises RoleTransitionRefused: the capture has changes, or has lost some.
        """
        left = unsent_changes(self._pair.source)
        shown = ", ".join(f"{cache} {count:,}" for cache, count in sorted(left.counts().items()) if count)
        if shown:
            raise RoleTransitionRefused(
                f"writers of A have written after the drain; changes not sent: {shown}",
                _REPEAT,
                connector=self._pair.source.name,
            )
        if left.sends_again:  # the lost changes are in no count
            raise RoleTransitionRefused(
                "the capture has lost changes since the drain, and the source has to send partitions again",
                _REPEAT,
                connector=self._pair.source.name,
            )

    def _compare(self, _: RoleTransition) -> Mapping[str, Any]:
        counts: dict[str, int] = {}
        members: tuple[Member[ConnectorSettings], ...] = (self._pair.source, self._pair.sink)
        for member in members:
            result = self._verify(member, False)
            if skipped := {
                judged.result.cache: judged.result.skipped for judged in result.caches if judged.result.skipped
            }:
                shown = ", ".join(f"{cache} {count:,}" for cache, count in sorted(skipped.items()))
                raise RoleTransitionRefused(
                    f"entries or records cannot be converted, and are on one cluster alone: {shown}",
                    f"ignite-kafka verify describes them. {_CONTINUE}",
                    connector=member.name,
                )
            if not result.equal:
                differing = ", ".join(
                    f"{judged.result.cache} {judged.result.count:,}" for judged in result.caches if not judged.equal
                )
                raise RoleTransitionRefused(
                    f"topics and caches differ; keys that differ: {differing}",
                    f"ignite-kafka verify describes them. {_CONTINUE}",
                    connector=member.name,
                )
            counts[member.name] = sum(judged.result.entries for judged in result.caches)
        return {"compared_entries": counts}

    def _end_capture(self, _: RoleTransition) -> Mapping[str, Any]:
        source = self._pair.source
        try:
            self._check_no_writers()
        except BacklogRefused as error:
            if error.where.get("code") != UNKNOWN_CONNECTOR:  # else an earlier call of this step has ended the capture
                raise
        backlog.cleanup(source.settings, source.secrets, force=False, discard=True)
        return {}

    def _reverse(self, _: RoleTransition) -> Mapping[str, Any]:
        for member in (self._pair.reverse.source, self._pair.reverse.sink):
            member.admit()
        return {}
