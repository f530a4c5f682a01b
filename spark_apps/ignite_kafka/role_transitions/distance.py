"""Distance of a sink's cluster from a lost source, read from Kafka alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from confluent_kafka.admin import OffsetSpec

from ..admin.connector_lag import list_topics
from ..admin.overview import OverviewReader
from ..kafka.partition_lag import partition_lags
from ..kafka.topics import TopicPartition, read_to
from ..state.internal_records import written_ms
from .pair import Pair
from .waits import topic_ends

_LAST_OFFSETS = 200  # read of each partition, because markers of transactions are no records


@dataclass(frozen=True)
class Distance:
    """What was on its way when the source was lost. Times are in milliseconds since 1970.

    :param newest_record_ms: time of the newest committed record: what A confirmed before its capture, up to about this
        time, is in the topics. None: the topics have no record.
    :param source_reported_ms: time of the last status record of the source's run; 0: it wrote none.
    :param unsent: changes that A had captured and not sent, at the last minute that the source recorded; None: unknown.
    :param latency_ms: mean time of a change from A to the topics in that minute; None: unknown.
    :param unstored: records of the topics that the sink had not stored when the failover began, of open transactions
        included.
    """

    newest_record_ms: int | None
    source_reported_ms: int
    unsent: int | None
    latency_ms: int | None
    unstored: int

    def to_dict(self) -> Mapping[str, Any]:
        """Return the distance as JSON values."""
        return asdict(self)


def read_distance(pair: Pair) -> Distance:
    """Read how far the sink is behind, from Kafka alone.

    :raises KafkaUnavailable: a broker did not answer.
    """
    source = pair.source
    overview = OverviewReader(source.prefix).read_with_deleted(source.clients, source.topics).get(source.name)
    reports = overview.reports if overview is not None else ()
    points = [point for point in (overview.points() if overview is not None else ()) if point.lag is not None]
    # not stable: a lost sink's transaction may be open
    settings = pair.sink.settings
    names = list_topics(settings, pair.sink.topics)
    lags = partition_lags(pair.sink.topics, settings.group_id, names, stable=False)
    return Distance(
        newest_record_ms(pair, topic_ends(pair)),
        reports[-1].at_ms if reports else 0,
        points[-1].lag if points else None,
        points[-1].latency_ms if points else None,
        sum(lag.count + lag.open for lag in lags),
    )


def newest_record_ms(pair: Pair, places: Iterable[TopicPartition]) -> int | None:
    """Return the latest timestamp among the last records of some partitions; None without a record."""
    topics = pair.sink.topics
    places = sorted(places)
    firsts = topics.offsets(places, OffsetSpec.earliest())
    ends = topics.offsets(places, OffsetSpec.latest(), committed=True)
    newest: int | None = None
    for topic in sorted({topic for topic, _ in places}):
        of_topic = {number: ends[name, number] for name, number in places if name == topic}
        starts = {number: max(firsts[topic, number], end - _LAST_OFFSETS) for number, end in of_topic.items()}
        for message in read_to(pair.sink.clients, topic, of_topic, starts):
            newest = max(newest or 0, written_ms(message))
    return newest
