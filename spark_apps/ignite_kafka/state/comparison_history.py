"""Records of past comparisons in the comparisons topic: results of the last ones, and when each cache was compared.

Compacted, one partition, written without transactions.

=============================================== ===========================================================
key (JSON)                                      value (JSON)
=============================================== ===========================================================
``["comparison","<connector>","<id>"]``         :class:`PastComparison`
``["coverage","<connector>","<cache>","<topic>"]`` :class:`CoverageRecord`
=============================================== ===========================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from ..common.typed_json import Milliseconds, Range, dumps, read_as
from ..kafka.clients import REQUEST_TIMEOUT_S, KafkaClients
from ..kafka.topics import Topics
from .event_records import KIND as EVENTS
from .internal_names import comparisons_topic
from .internal_records import read_internal_topic
from .status import Count, StatusWriter, keep_newest, parsed_record, run_id_of

COMPARISON = "comparison"
COVERAGE = "coverage"
KEPT = 100
"""Number of a connector's comparisons whose results are kept."""
Share = Annotated[float, Range(0, 100)]


@dataclass(frozen=True)
class PastComparison:
    """Result of a comparison that has ended. Times are in milliseconds since 1970.

    :param percent: share of the keys that was compared.
    :param caches: number of compared caches.
    :param changing: keys that changed at each look; they are no differences.
    :param equal: whether nothing differs, or every difference was repaired.
    :param oldest_ms: start of the comparison before which no key was last compared, over all caches; None: some keys
        were never compared.
    :param within_ms: time within which all keys were to be compared; 0: none was named.
    :param gap: why not all keys are compared within that time; empty if they are.
    """

    id: str
    started_ms: Milliseconds
    ended_ms: Milliseconds
    percent: Share = 100.0
    caches: Count = 0
    entries: Count = 0
    records: Count = 0
    missing: Count = 0
    different: Count = 0
    unexpected: Count = 0
    skipped: Count = 0
    changing: Count = 0
    repaired: Count = 0
    equal: bool = True
    oldest_ms: Milliseconds | None = None
    within_ms: Milliseconds = 0
    gap: str = ""

    @property
    def differences(self) -> int:
        """Number of missing, different and unexpected keys."""
        return self.missing + self.different + self.unexpected


@dataclass(frozen=True)
class CoverageRecord:
    """When the slices of a cache's keys were last compared.

    :param ranges: triples of first slice, end, and milliseconds since 1970 (0: never).
    :param since_ms: start of the first comparison.
    :param differing: pairs of first slice and end, in whose slices the last comparison left differences.
    """

    ranges: tuple[tuple[int, int, Milliseconds], ...]
    since_ms: Milliseconds = 0
    differing: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class ComparisonHistory:
    """Records of a connector's comparisons.

    :param comparisons: by id, oldest first.
    :param coverage: by cache and topic.
    """

    comparisons: Mapping[str, PastComparison] = field(default_factory=dict)
    coverage: Mapping[tuple[str, str], CoverageRecord] = field(default_factory=dict)


def read_history(clients: KafkaClients, prefix: str, connector: str) -> ComparisonHistory:
    """Read the records of a connector's comparisons; unreadable ones are left out, with an event.

    :raises KafkaUnavailable, TopicError: a broker did not answer, or refused.
    """
    comparisons: dict[str, PastComparison] = {}
    coverage: dict[tuple[str, str], CoverageRecord] = {}
    for record, _ in read_internal_topic(clients, Topics(clients), comparisons_topic(prefix)):
        if record.name != connector:
            continue
        if (id := run_id_of(record, COMPARISON)) is not None:
            past = parsed_record(record, _read_comparison, "it is no result of a comparison")
            keep_newest(comparisons, id, record, past)
        elif record.kind == COVERAGE and len(record.rest) == 2:  # cache and topic
            cache, topic = map(str, record.rest)
            covered = parsed_record(record, _read_coverage, "it is no coverage of a cache")
            if covered is not None:
                coverage[cache, topic] = covered
    return ComparisonHistory(comparisons, coverage)


def _read_comparison(value: Mapping[str, Any]) -> PastComparison:
    return read_as(PastComparison, value)


def _read_coverage(value: Mapping[str, Any]) -> CoverageRecord:
    return read_as(CoverageRecord, value)


def write_history(
    writer: StatusWriter,
    connector: str,
    comparison: PastComparison,
    coverage: Mapping[tuple[str, str], CoverageRecord],
) -> None:
    """Write the records of a comparison that has ended, and wait for the broker's confirmation.

    :param writer: writer of the comparisons topic.
    :param coverage: coverage of each compared cache and topic.
    :raises KafkaUnavailable: the broker did not confirm the records, which may still be written.
    """
    for (cache, topic), covered in coverage.items():
        writer.queue([COVERAGE, connector, cache, topic], dumps(asdict(covered)))
    writer.send([COMPARISON, connector, comparison.id], dumps(asdict(comparison)), REQUEST_TIMEOUT_S)


def forget_old(writer: StatusWriter, events: StatusWriter, connector: str, ids: Sequence[str]) -> None:
    """Remove all but the newest :data:`KEPT` comparisons, and their events.

    :param writer: writer of the comparisons topic.
    :param events: writer of the status topic.
    :param ids: ids of the connector's comparisons, oldest first.
    :raises KafkaUnavailable: the broker did not confirm the removal.
    """
    old = ids[:-KEPT]
    writer.forget(connector, old, COMPARISON)
    events.forget(connector, old, EVENTS)
