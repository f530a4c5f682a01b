"""Memory of a connector's comparisons: which keys are compared next, and the history of the results."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median_high

from .. import events
from ..common.event_log import EventCounts
from ..common.time_spans import format_span
from ..errors import IgniteKafkaError
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..runtime.event_recorder import EventRecorder
from ..settings.connector import ConnectorSettings
from ..state.comparison_history import (
    ComparisonHistory,
    CoverageRecord,
    PastComparison,
    forget_old,
    read_history,
    write_history,
)
from ..state.internal_names import comparisons_topic
from ..state.status import StatusWriter, now_ms
from .coverage import NEVER, Coverage
from .direction import ComparedPair, Judged
from .key_slices import SLICES, SliceRange, count_slices
from .result import VerifyOptions, VerifyResult

log = logging.getLogger(__name__)
_GAPS = 5  # last times between comparisons, whose median is the interval
_MOST_TEXT = 300  # characters of the reason in an event
_NAMES = 3


@dataclass
class ComparisonMemory:
    """Chooses the keys of a comparison by those before, and keeps its result.

    :param history: records of the comparisons before.
    """

    settings: ConnectorSettings
    clients: KafkaClients
    options: VerifyOptions
    history: ComparisonHistory = field(default_factory=ComparisonHistory)
    started_ms: int = field(default_factory=now_ms)
    _before: dict[tuple[str, str], Coverage] = field(default_factory=dict, init=False)
    _after: dict[tuple[str, str], Coverage] = field(default_factory=dict, init=False)
    _chosen: dict[tuple[str, str], tuple[SliceRange, ...]] = field(default_factory=dict, init=False)
    _compared: int = field(default=0, init=False)

    @staticmethod
    def read(settings: ConnectorSettings, clients: KafkaClients, options: VerifyOptions) -> ComparisonMemory:
        """Read the memory from the comparisons topic.

        :raises IgniteKafkaError: the topic cannot be read, and all keys are to be compared within a named time.
        """
        try:
            history = read_history(clients, settings.internal_topic_prefix, settings.name)
        except IgniteKafkaError as error:
            if options.within_ms:
                raise
            log.warning("the history of comparisons cannot be read: %s", error)
            history = ComparisonHistory()
        return ComparisonMemory(settings, clients, options, history)

    @property
    def interval_ms(self) -> int | None:
        """Usual time between two comparisons in milliseconds; None before the second one."""
        starts = [past.started_ms for past in self.history.comparisons.values()]
        gaps = [max(1, later - earlier) for earlier, later in pairwise([*starts, self.started_ms])]
        return median_high(gaps[-_GAPS:]) if gaps else None

    def with_slices(self, pairs: Sequence[ComparedPair]) -> list[ComparedPair]:
        """Choose the slices to compare of each pair."""
        chosen = []
        for pair in pairs:
            before = self._coverage_of(pair)
            slices = self.options.sample.choose(before, self.interval_ms, self.started_ms)
            chosen.append(replace(pair, slices=slices))
            if pair.partitions:
                key = pair.cache, pair.topic
                self._before[key] = before
                self._after[key] = before.with_compared(slices, self.started_ms)
                self._chosen[key] = slices
                self._compared += count_slices(slices)
        return chosen

    def _coverage_of(self, pair: ComparedPair) -> Coverage:
        record = self.history.coverage.get((pair.cache, pair.topic))
        if record is None:
            return Coverage()
        try:
            return Coverage.of(record.ranges, record.since_ms, record.differing)
        except ValueError as error:
            log.warning("the coverage of cache %s begins anew: %s", pair.cache, error)
            return Coverage()

    def conclude(self, caches: Sequence[Judged]) -> VerifyResult:
        """Make the result of the comparison, emit its events, and keep both.

        :raises IgniteKafkaError: the result cannot be kept, and all keys are to be compared within a named time.
        """
        options = self.options
        self._note_differing(caches)
        times = [coverage.oldest_ms for coverage in self._after.values()]
        result = VerifyResult(
            caches,
            100 * self._compared / SLICES / len(self._after) if self._after else 100.0,
            min(times) if times and NEVER not in times else None,
            self._find_gap(),
            options.repair_at_most if options.repair else 0,
        )
        id = f"verify-{uuid.uuid4()}"
        with events.collect() as emitted:
            self._emit(result)
        try:
            self._keep(id, result, emitted.counts())
        except IgniteKafkaError as error:
            if options.within_ms:
                raise
            log.warning("the comparison is not in the history: %s", error)
        return result

    def _note_differing(self, caches: Sequence[Judged]) -> None:
        """Keep the slices with differences due.

        A difference without a key may be in any slice that was compared. These stay due, but no more once as many as a
        share are: each comparison would add its own, until all keys are compared every time.
        """
        for judged in caches:
            key = judged.result.cache, judged.result.topic
            if key not in self._after:
                continue
            slices = set[int]() if judged.equal else set(judged.slices)
            if not judged.equal and (judged.result.keyless or not slices):
                chosen = self._chosen[key]
                due = self._before[key].differing
                kept = due if 2 * count_slices(due) >= count_slices(chosen) else chosen
                slices.update(number for first, end in kept for number in range(first, end))
            self._after[key] = self._after[key].with_differing(slices)

    def _find_gap(self) -> str:
        """Return why not all keys are compared within the named time, for the first cache with a reason."""
        plan = self.options.sample
        for (cache, _), before in self._before.items():
            if gap := plan.find_gap(before, self.interval_ms, self.started_ms):
                return f"cache {cache}: {gap}"
        return ""

    def _emit(self, result: VerifyResult) -> None:
        connector = self.settings.name
        if result.gap:
            within = format_span(self.options.within_ms)
            events.emit(events.NOT_ALL_COMPARED, connector=connector, within=within, reason=result.gap)
        differing = [judged.result for judged in result.caches if not judged.equal]
        if differing:
            names = ", ".join(differences.cache for differences in differing[:_NAMES])
            more = f" and {len(differing) - _NAMES} more" if len(differing) > _NAMES else ""
            events.emit(
                events.DIFFERENCES_FOUND,
                connector=connector,
                keys=sum(differences.count for differences in differing),
                caches=f"{names}{more}"[:_MOST_TEXT],
            )

    def _keep(self, id: str, result: VerifyResult, emitted: EventCounts) -> None:
        settings = self.settings
        prefix = settings.internal_topic_prefix
        topic = comparisons_topic(prefix)
        topics = Topics(self.clients)
        StatusWriter.ensure_topic(topics, prefix, settings.replication_factor, topic)
        StatusWriter.ensure_topic(topics, prefix, settings.replication_factor)  # of the events
        writer = StatusWriter(self.clients, prefix, topic)
        status = StatusWriter(self.clients, prefix)
        past = make_past(id, self.started_ms, now_ms(), result, self.options.within_ms)
        write_history(writer, settings.name, past, {key: _to_record(after) for key, after in self._after.items()})
        if emitted:
            recorder = EventRecorder(status, settings, id)
            recorder.open_topic(self.clients, topics)
            recorder.record(emitted)
            recorder.close()
            status.flush()
        forget_old(writer, status, settings.name, [*self.history.comparisons, id])


def make_past(id: str, started_ms: int, ended_ms: int, result: VerifyResult, within_ms: int) -> PastComparison:
    """Make the record of a comparison in the history."""
    results = [judged.result for judged in result.caches]
    return PastComparison(
        id,
        started_ms,
        max(started_ms, ended_ms),
        round(result.sample, 2),
        len(results),
        sum(counts.entries for counts in results),
        sum(counts.records for counts in results),
        sum(counts.missing for counts in results),
        sum(counts.different for counts in results),
        sum(counts.unexpected for counts in results),
        sum(counts.skipped for counts in results),
        sum(counts.changing for counts in results),
        sum(judged.repaired for judged in result.caches),
        result.equal,
        result.oldest_ms,
        within_ms,
        result.gap,
    )


def _to_record(coverage: Coverage) -> CoverageRecord:
    ranges = tuple((part.first, part.end, part.compared_ms) for part in coverage.ranges)
    return CoverageRecord(ranges, coverage.since_ms, coverage.differing)
