"""The comparison of a connector, from its settings: plans it, runs the job, checks that a repair is alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from confluent_kafka.admin import OffsetSpec
from pyspark.sql import SparkSession

from ..errors import NotAvailableYet
from ..ignite.cluster import Cluster
from ..kafka.clients import KafkaClients
from ..kafka.topics import TopicPartition, Topics
from ..plan.sink_offsets import PartitionOffset
from ..plan.sink_plan import SinkPlan
from ..plan.source_plan import TransferPlan
from ..runtime.clients import ignite_cluster, kafka_clients
from ..runtime.parallelism import cores
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.secrets_file import SecretsSource
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..sink import planning as sink_planning
from ..sink.start_offsets import resolve_starts
from ..source import planning as source_planning
from ..state.configs import read_connector
from ..state.offsets import read_slots
from .direction import Direction, Judged, Target
from .exchange import Exchange
from .job import Open, Progress, VerifyJob
from .repair import Idle
from .sink import SinkDirection
from .source import SourceDirection

_ANY, _NO_SLOTS = "(any)", 0


@dataclass(frozen=True)
class VerifyOptions:
    """How to compare.

    :param percent: of the keys, that are compared, more than 0 and at most 100.
    :param thorough: decode all entries by rows too, not one of 256; only JSON has such a decoder.
    :param limit: maximum number of differences to describe, of each cache.
    :param repair: send, or put, again what differs.
    :param force: repair although the newest run's status record shows no end.
    """

    percent: float = 100
    thorough: bool = False
    limit: int = 5
    repair: bool = False
    force: bool = False


@dataclass(frozen=True)
class VerifyResult:
    """Results of all caches, in the order of the plan."""

    caches: Sequence[Judged]
    sample: float

    @property
    def equal(self) -> bool:
        """Whether no difference was found, or each was repaired."""
        return all(one.equal for one in self.caches)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready form."""
        return {"equal": self.equal, "sample_percent": self.sample, "caches": [_to_dict(one) for one in self.caches]}


def _to_dict(judged: Judged) -> dict[str, object]:
    known = asdict(judged.result)
    names = ("cache", "topic", "entries", "records", "repeated", "missing", "different", "unexpected", "other_bytes")
    found = [{"kind": one.kind, "text": one.text} for one in judged.result.found]
    return {**{name: known[name] for name in names}, "repaired": judged.repaired, "equal": judged.equal, "differences": found}


def verify_connector(
    spark: SparkSession,
    settings: ConnectorSettings,
    secrets: Secrets,
    secrets_source: SecretsSource | None,
    options: VerifyOptions,
    progress: Progress = lambda _what, _done, _all: None,
) -> VerifyResult:
    """Compare the topics of a connector with its caches.

    :param secrets_source: where executors get the secrets.
    :raises NotStopped: a repair is wanted, and a run of the connector is active.
    :raises Fenced: a run of the connector began during the repair.
    :raises IgniteKafkaError: what ended the comparison.
    """
    clients = kafka_clients(settings, secrets)
    clients.check()
    idle = Idle.check(clients, settings, force=options.force) if options.repair else None
    with ignite_cluster(settings, secrets) as cluster:
        if isinstance(settings, SinkSettings):
            job = _sink_job(spark, settings, clients, cluster, secrets_source, options)
        else:
            assert isinstance(settings, SourceSettings)
            job = _source_job(spark, settings, clients, cluster, secrets_source, options)
        entries = sum(cluster.size(target.cache) for target in job.targets)
    found = replace(job, progress=progress).run(entries)
    if idle is not None:
        idle.check_again()
    return VerifyResult(found, options.percent)


def _source_job(
    spark: SparkSession,
    settings: SourceSettings,
    clients: KafkaClients,
    cluster: Cluster,
    secrets: SecretsSource | None,
    options: VerifyOptions,
) -> VerifyJob:
    topics = Topics(clients)
    plan = source_planning.make_plan(settings, cluster, topics, _ANY, _NO_SLOTS)
    places = [(cache.topic, number) for cache in plan.caches for number in range(topics.partitions(cache.topic))]
    firsts = topics.offsets(places, OffsetSpec.earliest())

    def latest(targets: Sequence[Target]) -> list[Target]:
        ends = topics.offsets(places, OffsetSpec.latest())
        return [replace(target, ends=_bounds(target.topic, firsts, ends)) for target in targets]

    targets = latest([Target(cache.name, cache.topic, (), cache.partitions) for cache in plan.caches])
    return _job(spark, settings, targets, partial(_source, plan, secrets, options), options, latest)


def _source(plan: TransferPlan, secrets: SecretsSource | None, options: VerifyOptions) -> Direction:
    given = secrets.load() if secrets else Secrets()
    return SourceDirection(plan, given, options.percent, options.thorough, options.limit)


def _sink_job(
    spark: SparkSession,
    settings: SinkSettings,
    clients: KafkaClients,
    cluster: Cluster,
    secrets: SecretsSource | None,
    options: VerifyOptions,
) -> VerifyJob:
    topics = Topics(clients)
    plan = sink_planning.make_plan(settings, topics, _NO_SLOTS)
    _check_caches(plan)
    firsts = topics.offsets(sink_planning.partitions_of(plan.topics), OffsetSpec.earliest())

    def latest(targets: Sequence[Target]) -> list[Target]:
        ends = _stored(plan, clients, topics)
        return [replace(target, ends=_bounds(target.topic, firsts, ends)) for target in targets]

    targets = latest([Target(topic.cache, topic.name, (), cluster.cache(topic.cache).partitions) for topic in plan.topics])
    job = _job(spark, settings, targets, partial(_sink, plan, secrets, options), options, latest)
    return replace(job, first_counts=not settings.process_updates)


def _check_caches(plan: SinkPlan) -> None:
    """Check that the records of each topic go to one cache.

    :raises NotAvailableYet: transforms name caches record by record.
    """
    routed = [topic.name for topic in plan.topics if topic.routed]
    if routed:
        what, remedy = "transforms give its records several topics, so that no one cache has them", "Compare the caches by Spark SQL"
        raise NotAvailableYet(f"topic {routed[0]} cannot be verified: {what}", remedy, topic=routed[0])


def _sink(plan: SinkPlan, secrets: SecretsSource | None, options: VerifyOptions) -> Direction:
    return SinkDirection(plan, secrets.load() if secrets else Secrets(), options.limit)


def _stored(plan: SinkPlan, clients: KafkaClients, topics: Topics) -> dict[TopicPartition, int]:
    """The next offset of each partition: the records before it are stored."""
    settings, copies = plan.settings, dict[TopicPartition, PartitionOffset]()
    control = read_connector(clients, topics, settings.internal_topic_prefix, settings.name)
    if control.connector is not None and not control.connector.is_source:
        for state in read_slots(clients, topics, settings.internal_topic_prefix, settings.name, control.connector.slots):
            copies |= state.by_topic
    planned = {(topic.name, number): topic for topic in plan.topics for number in range(topic.partitions)}
    return resolve_starts(planned, settings, topics, copies).offsets


def _bounds(topic: str, firsts: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> tuple[tuple[int, int], ...]:
    partitions = sorted(number for name, number in firsts if name == topic)
    return tuple((min(firsts[topic, number], ends[topic, number]), ends[topic, number]) for number in partitions)


def _job(
    spark: SparkSession,
    settings: ConnectorSettings,
    targets: Sequence[Target],
    make: Open,
    options: VerifyOptions,
    latest: Callable[[Sequence[Target]], Sequence[Target]],
) -> VerifyJob:
    return VerifyJob(
        partial(Exchange, spark),
        cores(spark),
        targets,
        make,
        percent=options.percent,
        limit=options.limit,
        repair=options.repair,
        log_values=settings.log_values,
        latest=latest,
    )
