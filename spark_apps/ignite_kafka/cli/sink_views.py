"""Plan of a sink's next run, shown without writing anything."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass

from confluent_kafka.admin import OffsetSpec

from ..errors import SettingsError
from ..kafka.topics import TopicPartition, Topics
from ..plan.sink_offsets import PartitionOffset
from ..preflight import report_unmatched
from ..runtime.clients import ignite_cluster, kafka_clients
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from ..sink.planning import make_plan, partitions_of, with_first_offsets
from ..sink.start_offsets import resolve_starts
from ..state.configs import read_connector
from ..state.offsets import read_slots
from .tables import table


@dataclass(frozen=True)
class TopicPreview:
    """A topic of a plan; ``records`` is the number of offsets to read, including transaction markers.

    :param cache: name of the cache; empty: a header of each record names it.
    """

    topic: str
    cache: str
    cache_exists: bool
    partitions: int
    records: int


@dataclass(frozen=True)
class SinkPlanView:
    """Plan of a sink's next run."""

    connector: str
    group: str
    converter: str
    topics: tuple[TopicPreview, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the plan as JSON values."""
        return asdict(self)

    def text(self) -> str:
        """Return the plan as text for a terminal."""
        rows = [
            (
                t.topic,
                t.partitions,
                t.cache if t.cache_exists else f"{t.cache}, to be created" if t.cache else "named by a header",
                t.records,
            )
            for t in self.topics
        ]
        head = f"connector {self.connector}, group {self.group}, converter {self.converter}"
        return "\n".join([head, "", table(("topic", "partitions", "cache", "records to read"), rows)])


def sink_plan_view(settings: SinkSettings, secrets: Secrets) -> SinkPlanView:
    """Return the plan of the run that the settings would start.

    :raises SettingsError, TopicError, RecordsLost: as the run would.
    """
    clients = kafka_clients(settings, secrets)
    clients.check()
    topics = Topics(clients)
    control = read_connector(clients, topics, settings.internal_topic_prefix, settings.name)
    plan = make_plan(settings, topics, 0)
    report_unmatched(settings, [topic.name for topic in plan.topics])
    partitions = partitions_of(plan.topics)
    copies: dict[TopicPartition, PartitionOffset] = {}
    if control.connector is not None:
        if control.connector.is_source:
            raise SettingsError(
                "a source connector has this name", "Give the sink another name.", setting="name", value=settings.name
            )
        for state in read_slots(
            clients, topics, settings.internal_topic_prefix, settings.name, control.connector.slots
        ):
            copies |= state.by_topic
    plan = with_first_offsets(plan, topics, clients)
    by_partition = {(topic.name, partition): topic for topic in plan.topics for partition in range(topic.partitions)}
    starts = resolve_starts(by_partition, settings, topics, copies)
    ends = topics.offsets(partitions, OffsetSpec.latest(), committed=True)
    with ignite_cluster(settings, secrets) as cluster:
        existing = set(cluster.cache_names())
    left: Counter[str] = Counter()
    for topic_partition in by_partition:
        left[topic_partition[0]] += max(0, ends[topic_partition] - starts.offsets[topic_partition])
    previews = tuple(
        TopicPreview(topic.name, cache, cache in existing, topic.partitions, left[topic.name])
        for topic in plan.topics
        for cache in ["" if settings.cache_header else topic.cache]
    )
    return SinkPlanView(settings.name, settings.group_id, settings.value_converter, previews)
