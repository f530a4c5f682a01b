"""Failover: cluster A is lost; the sink stores what has arrived, ends, and B lives on.

The drivers may be lost with A, so the last records are stored by a run in this process.

The source's run is fenced by a new generation, as by a newer run, and its open transactions are aborted: from then on
no record of a driver that still lives can arrive, and the sink need not wait for the transactions' time-out.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from ..errors import RoleTransitionRefused, SettingsError
from ..state.configs import Retirement
from ..state.configs_writer import ConfigsWriter
from ..state.role_transitions import FAILOVER, SWITCHOVER, RoleTransition
from ..state.status import FENCED, RunStatus, StatusWriter, now_ms
from .distance import read_distance
from .pair import Member, Pair, Store
from .reverse_pair import check_lossless
from .steps import Progress, Report, Step, TransitionResult, check_kind, do_steps, new_transition, steps_left
from .waits import Waits, answers, describe_lag, sink_lag

_END_S = 60.0  # for the end of the sink's run


def fail_over(
    pair: Pair, store: Store, waits: Waits, report: Report, *, force: bool = False, dry_run: bool = False
) -> TransitionResult:
    """End the copy from a lost cluster A to B, or continue a failover that was interrupted.

    :param store: runs the sink up to the ends of its topics.
    :param force: proceed although A answers; what it has not sent stays there for a failback.
    :param dry_run: say how far B is behind, and change nothing.
    :raises SettingsError: the pair cannot be turned round.
    :raises RoleTransitionRefused: A answers, or a step did not succeed; the next call repeats the step.
    :raises IgniteKafkaError: Kafka did not answer.
    """
    pair.reverse  # noqa: B018 - checks the settings first
    work = _Failover(pair, store, waits)
    steps = work.steps()
    progress = Progress(pair)
    present = progress.read()
    if present is not None and present.kind == FAILOVER and present.ended and pair.source.retirement() is not None:
        report("the pair has failed over already")
        return TransitionResult(pair.source.name, pair.sink.name, present, (), dry_run)
    check_kind(pair, present, SWITCHOVER, FAILOVER)
    try:
        check_lossless(pair.source.settings, pair.sink.settings)
    except SettingsError as error:  # better B without these entries than no B
        report(f"warning: {error.what}")
    if present is None or present.ended or present.kind != FAILOVER:
        work.check(force, present)
        present = new_transition(FAILOVER, steps, {"distance": dict(read_distance(pair).to_dict())})
    left = steps_left(present, steps)
    if dry_run:
        for step in left:
            report(f"would do: {step.text}")
        names = tuple(step.name for step in left)
        return TransitionResult(pair.source.name, pair.sink.name, present, names, True)
    return TransitionResult(pair.source.name, pair.sink.name, do_steps(progress, present, steps, report))


class _Failover:
    """The steps of a failover of a pair; each may be repeated."""

    def __init__(self, pair: Pair, store: Store, waits: Waits) -> None:
        self._pair = pair
        self._store = store
        self._waits = waits

    def check(self, force: bool, present: RoleTransition | None) -> None:
        """Check the past runs of the pair, and the silence of A.

        :param present: newest transition of the pair; A may have died during a switchover, which the failover replaces.
        :raises RoleTransitionRefused: it never ran, or A answers and ``force`` is False.
        """
        for member in (self._pair.source, self._pair.sink):
            member.require_started()
        mark = self._pair.sink.retirement()
        if mark is not None and (present is None or present.ended or mark.transition != present.id):
            raise RoleTransitionRefused(
                f"a {mark.reason} has ended this sink",
                "Give the settings of the pair that copies now.",
                connector=self._pair.sink.name,
            )
        if not force and answers(self._pair.source):
            raise RoleTransitionRefused(
                "the source's cluster answers, and a failover would leave behind what it has not sent",
                "Use ignite-kafka replicate switchover; or --force, if applications must not use that cluster.",
                connector=self._pair.source.name,
                address=", ".join(self._pair.source.settings.ignite_addresses),
            )

    def steps(self) -> list[Step]:
        """Return the steps in their order."""
        a = self._pair.source.name
        b = self._pair.sink.name
        return [
            Step("fence_source", f"retire {a}, fence its run, and abort its open transactions", self._fence_source),
            Step("stop_sink", f"retire {b}, and end its run", self._stop_sink),
            Step("store", f"store all that has arrived, by a run of {b} in this process", self._store_arrived),
        ]

    def _fence_source(self, transition: RoleTransition) -> Mapping[str, Any]:
        source = self._pair.source
        source.retire(Retirement(transition.id, FAILOVER, now_ms()))
        fence(source, transition.id)
        return {"fenced_ms": now_ms()}

    def _stop_sink(self, transition: RoleTransition) -> Mapping[str, Any]:
        self._pair.sink.retire(Retirement(transition.id, FAILOVER, now_ms()))
        with suppress(RoleTransitionRefused):  # its driver may be dead; the run of the next step fences it
            replace(self._waits, longest_s=min(self._waits.longest_s, _END_S)).until_ended(self._pair.sink)
        return {}

    def _store_arrived(self, transition: RoleTransition) -> Mapping[str, Any]:
        store_to_ends(self._pair, self._store, Retirement(transition.id, FAILOVER, now_ms()))
        return {"behind": behind(transition.figures)}


def store_to_ends(pair: Pair, store: Store, retirement: Retirement) -> None:
    """Run a retired sink up to the ends of its topics; no other run of it may begin meanwhile.

    :raises RoleTransitionRefused: the run was stopped before it stored everything.
    """
    pair.sink.mark(retirement)
    try:
        store(pair.sink, retirement.transition)
    finally:
        pair.sink.retire(retirement)  # the run's start has cancelled the request to stop
    if left := describe_lag(sink_lag(pair)):
        raise RoleTransitionRefused(f"the sink did not store everything: {left}", "Run the same command again.")


def behind(figures: Mapping[str, Any]) -> str:
    """Return one sentence on how far B is behind, from the figures of a failover."""
    distance = figures["distance"]
    newest = distance["newest_record_ms"]
    seconds = (figures["fenced_ms"] - newest) / 1000 if newest is not None else None
    age = (
        "the topics have no record" if seconds is None else f"the newest record is of {seconds:.1f} s before the fence"
    )
    unsent = distance["unsent"]
    count = (
        "the source never recorded how many changes it had to send"
        if unsent is None
        else f"{unsent:,} changes were not sent in the last minute that the source recorded"
    )
    return f"{age}; {count}; {distance['unstored']:,} records were not stored when the failover began, and are now"


def fence(member: Member[Any], transition_id: str) -> None:
    """Take a connector over under a new generation that sends nothing, and abort its open transactions.

    The generation's run has a status record of its own, which ends at once. Repeatable.

    :raises IgniteKafkaError: the offsets topic is missing, or a broker did not answer.
    """
    settings = member.settings
    newest = member.require_started().connector
    assert newest is not None
    run_id = f"fence-{transition_id}"
    with closing(ConfigsWriter(member.clients, member.topics, member.prefix, member.name)) as control:
        control.take(newest.slots, run_id, newest.settings, settings.replication_factor)
        control.begin()
        control.fence_slots()
        generation = control.record.generation
    at_ms = now_ms()
    error = RoleTransitionRefused("a failover fenced the run", "See docs/disaster.md.", connector=member.name)
    StatusWriter(member.clients, member.prefix).run(
        RunStatus(
            FENCED,
            member.name,
            run_id,
            generation=generation,
            started_ms=at_ms,
            ended_ms=at_ms,
            error=error.to_dict(),
        )
    )
