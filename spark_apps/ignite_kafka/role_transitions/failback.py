"""Failback: the lost cluster A has come back. Its unsent changes are reported, sent or dropped; then B copies to A.

What A had and never sent is the difference between A's caches and the topics of the old direction, where B's own
changes never were. So a report stays right while these topics keep the last record of each key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..admin import backlog
from ..errors import IgniteKafkaError, RoleTransitionRefused
from ..source.planning import chosen_caches
from ..state.configs import Retirement
from ..state.role_transitions import FAILBACK, FAILOVER, RoleTransition
from ..state.status import RUNNING, now_ms
from ..verification.result import VerifyResult
from .align import align
from .failover import store_to_ends
from .pair import Pair, Store, Verify
from .reverse_pair import check_lossless
from .steps import Progress, Report, Step, TransitionResult, do_steps, new_transition, steps_left
from .topics import check_topics, create_missing_topics, shortened_topics
from .waits import Waits, answers, unsent_changes

SEND = "send"
DROP = "drop"
_SHOWN = 5


@dataclass(frozen=True)
class UnsentChanges:
    """Unsent changes of a cache of A.

    :param stored: keys that were put on A, and no record says so.
    :param changed: keys with another value on A than in the topic.
    :param removed: keys that A does not have any more, without a tombstone in the topic.
    :param entries: entries of the cache on A.
    :param records_deleted: retention may have deleted records of the topic, so that keys count as stored or changed
        that A did send.
    """

    cache: str
    topic: str
    stored: int
    changed: int
    removed: int
    entries: int
    examples: tuple[str, ...] = ()
    records_deleted: bool = False

    @property
    def count(self) -> int:
        """Number of keys."""
        return self.stored + self.changed + self.removed


@dataclass(frozen=True)
class UnsentReport:
    """Unsent changes of A, by cache."""

    source: str
    caches: tuple[UnsentChanges, ...]

    @property
    def count(self) -> int:
        """Number of keys in all caches."""
        return sum(cache.count for cache in self.caches)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


def report_unsent(pair: Pair, verify: Verify) -> UnsentReport:
    """Compare A with the topics of the old direction; change nothing.

    :raises RoleTransitionRefused: the pair has not failed over, or A does not answer.
    :raises IgniteKafkaError: the comparison failed.
    """
    _check_failed_over(pair, Progress(pair).read())
    return _report_of(pair, verify(pair.source, False))


def fail_back(
    pair: Pair, choice: str, verify: Verify, store: Store, waits: Waits, report: Report, *, dry_run: bool = False
) -> TransitionResult:
    """Send or drop A's unsent changes, and let B copy to A; or continue an interrupted failback.

    :param choice: :data:`SEND` or :data:`DROP`.
    :param store: runs the old sink up to the ends of its topics.
    :raises RoleTransitionRefused: the pair has not failed over, A does not answer, or a step did not succeed.
    :raises IgniteKafkaError: a cluster did not answer; the next call continues.
    """
    work = _Failback(pair, verify, store, waits)
    progress = Progress(pair)
    present = progress.read()
    steps = work.steps(choice)
    check_lossless(pair.source.settings, pair.sink.settings)
    sent_nothing = present is not None and present.step == SEND  # the choice may still change
    if present is not None and present.kind == FAILBACK and (choice == SEND or not sent_nothing):
        begun = present.figures.get("choice")
        if begun != choice:
            raise RoleTransitionRefused(
                f"a failback that began with --{begun} has not ended, or the pair has failed back already",
                f"Continue with --{begun}.",
                connector=pair.sink.name,
            )
    else:
        _check_failed_over(pair, present)
        present = new_transition(FAILBACK, steps, {"choice": choice})
    left = steps_left(present, steps)
    if dry_run or not left:
        for step in left:
            report(f"would do: {step.text}")
        names = tuple(step.name for step in left)
        return TransitionResult(pair.source.name, pair.sink.name, present, names, dry_run)
    return TransitionResult(pair.source.name, pair.sink.name, do_steps(progress, present, steps, report))


def _check_failed_over(pair: Pair, present: RoleTransition | None) -> None:
    if present is None or present.kind not in (FAILOVER, FAILBACK):
        raise RoleTransitionRefused(
            "the pair has not failed over",
            "Give the settings of the pair that failed over.",
            connector=pair.sink.name,
        )
    if present.kind == FAILOVER and not present.ended:
        raise RoleTransitionRefused(
            "the failover of the pair has not ended",
            "Run ignite-kafka replicate failover again; it continues.",
            connector=pair.sink.name,
            step=present.step,
        )
    if not answers(pair.source):
        raise RoleTransitionRefused(
            "the source's cluster does not answer",
            "Bring it back; no application may write to it.",
            connector=pair.source.name,
            address=", ".join(pair.source.settings.ignite_addresses),
        )
    check_topics(pair)


def _report_of(pair: Pair, result: VerifyResult) -> UnsentReport:
    caches = []
    shortened = shortened_topics(pair.source, [judged.result.topic for judged in result.caches])
    for judged in result.caches:
        of_cache = judged.result
        caches.append(
            UnsentChanges(
                of_cache.cache,
                of_cache.topic,
                of_cache.missing,
                of_cache.different,
                of_cache.unexpected,
                of_cache.entries,
                tuple(difference.text for difference in of_cache.noted[:_SHOWN]),
                of_cache.topic in shortened,
            )
        )
    return UnsentReport(pair.source.name, tuple(caches))


class _Failback:
    """The steps of a failback of a pair; each may be repeated."""

    def __init__(self, pair: Pair, verify: Verify, store: Store, waits: Waits) -> None:
        self._pair = pair
        self._verify = verify
        self._store = store
        self._waits = waits

    def steps(self, choice: str) -> list[Step]:
        """Return the steps in their order."""
        a = self._pair.source.name
        b = self._pair.sink.name
        back = self._pair.reverse
        send = [
            Step("send", f"send what {a} never sent", self._send),
            Step("store", f"let {b} store it", self._store_sent),
        ]
        return [
            *(send if choice == SEND else ()),
            Step("end_capture", "end the capture on A", self._end_capture),
            Step("open_source", f"let {back.source.name} begin", self._open_source),
            Step("await_source", f"wait for the run of {back.source.name}: start it now with ignite-kafka run",
                 self._await_source),
            Step("align", "remove from A the keys that B does not have", self._align),
            Step("open_sink", f"let {back.sink.name} begin: start it with ignite-kafka run", self._open_sink),
        ]  # fmt: skip

    def _send(self, _: RoleTransition) -> Mapping[str, Any]:
        unsent = _report_of(self._pair, self._verify(self._pair.source, False))
        for cache in unsent.caches:
            if cache.count and cache.records_deleted:
                raise RoleTransitionRefused(
                    "retention may have deleted records of the topic, so what A never sent is not known, and sending "
                    "all that the topic lacks would put old values on B",
                    "Use --drop; before that, write what you need of ignite-kafka replicate failback … --report to B.",
                    cache=cache.cache,
                    topic=cache.topic,
                )
            if cache.removed and not cache.entries:
                raise RoleTransitionRefused(
                    f"the cache is empty on the returned cluster, and its topic has {cache.removed:,} keys: the "
                    "cluster has lost its entries, and sending this would remove them all",
                    "Use --drop; B's entries then come back to it.",
                    cache=cache.cache,
                )
        if unsent.count:
            create_missing_topics(self._pair.source)
            if not self._verify(self._pair.source, True).equal:
                raise RoleTransitionRefused(
                    "not everything that A had could be sent",
                    "See ignite-kafka verify of the source; the next call tries again, or takes --drop.",
                    connector=self._pair.source.name,
                )
        counts = {cache.cache: [cache.stored, cache.changed, cache.removed] for cache in unsent.caches}
        return {"sent": counts}

    def _store_sent(self, transition: RoleTransition) -> Mapping[str, Any]:
        store_to_ends(self._pair, self._store, Retirement(transition.id, FAILBACK, now_ms()))
        return {}

    def _end_capture(self, _: RoleTransition) -> Mapping[str, Any]:
        source = self._pair.source
        backlog.cleanup(source.settings, source.secrets, force=False, discard=True)
        return {}

    def _open_source(self, transition: RoleTransition) -> Mapping[str, Any]:
        back = self._pair.reverse
        # the sink waits until A is aligned
        back.sink.mark(Retirement(transition.id, FAILBACK, now_ms()))
        back.source.admit()
        return {}

    def _await_source(self, _: RoleTransition) -> Mapping[str, Any]:
        source = self._pair.reverse.source

        def reason() -> str:
            newest = source.newest_run()
            if newest.ended or newest.unknown or newest.state != RUNNING:
                return f"{source.name} does not run"
            try:
                unsent_changes(source)
            except IgniteKafkaError as error:
                return f"{source.name} does not capture yet: {error.what}"
            return ""

        self._waits.until(
            reason,
            "the reverse source did not begin",
            f"Start {source.name} with ignite-kafka run, then run the same command again.",
        )
        return {}

    def _align(self, _: RoleTransition) -> Mapping[str, Any]:
        with self._pair.source.connect() as stale, self._pair.reverse.source.connect() as living:
            caches = chosen_caches(self._pair.source.settings, stale.cache_names())
            return {"removed_from_a": align(stale, living, caches)}

    def _open_sink(self, _: RoleTransition) -> Mapping[str, Any]:
        self._pair.reverse.sink.admit()
        return {}
