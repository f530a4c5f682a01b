"""Comparison of all topics of a connector with their caches, and optional repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from confluent_kafka.admin import OffsetSpec
from pyspark.sql import SparkSession

from ..errors import CacheNotFound, SettingsError, TopicError
from ..ignite.cluster import Cluster
from ..kafka.clients import KafkaClients
from ..kafka.topics import TopicPartition, Topics
from ..plan.sink_offsets import PartitionOffset
from ..plan.sink_plan import SinkPlan, TopicPlan
from ..plan.source_plan import CachePlan, TransferPlan
from ..runtime.clients import ignite_cluster, kafka_clients
from ..runtime.parallelism import cores
from ..runtime.spark_versions import require_session
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.secrets_file import SecretsSource
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..settings.transforms import chain_of
from ..sink import planning as sink_planning
from ..sink.caches import ensure_caches, routed_cache
from ..sink.put_limits import committed_limits
from ..sink.start_offsets import repeated_ends, resolve_starts
from ..source import planning as source_planning
from ..source.topic_creation import with_size_limits
from ..state.configs import read_connector
from ..state.offsets import read_slots
from ..state.types_topic import TypesTopic
from .direction import ComparedPair, Direction, Judged
from .entry_comparison import PairDifferences
from .exchange import Exchange
from .job import Progress, VerifyJob, max_judging_tasks
from .lag_wait import LagWait
from .memory import ComparisonMemory
from .repair import write_fence
from .repair_claim import Idle, RepairClaim
from .result import VerifyOptions, VerifyResult
from .routed_caches import Routes, add_routed_pairs, count_absent_caches, make_pairs, with_shared_routed
from .sink_direction import SinkDirection
from .source_direction import SourceDirection
from .task import Open
from .topic_batches import topic_bounds

_ANY = "(any)"
_NO_SLOTS = 0
_NAMES = 5


def verify_connector(
    spark: SparkSession,
    settings: ConnectorSettings,
    secrets: Secrets,
    secrets_source: SecretsSource | None,
    options: VerifyOptions,
    progress: Progress = lambda _what, _done, _all: None,
) -> VerifyResult:
    """Compare all topics of a connector with their caches by Spark jobs, and repair differences if requested.

    The result is kept in the connector's history; without the right to write there, only a warning is logged.

    :param secrets_source: where executors get the secrets.
    :raises UnsupportedVersion: PySpark is older than 3.5, or the session is one of Spark Connect.
    :raises NotStopped: a repair is requested, and a run of the connector is active.
    :raises Fenced: a run of the connector began during the repair.
    :raises IgniteKafkaError: the error that ended the comparison.
    """
    require_session(spark)
    clients = kafka_clients(settings, secrets)
    clients.check()
    with ExitStack() as stack:
        claim = None
        if options.repair:
            idle = Idle.check(clients, settings, force=options.force)
            claim = stack.enter_context(idle.claim(max_judging_tasks(cores(spark))))
        cluster = stack.enter_context(ignite_cluster(settings, secrets))
        memory = ComparisonMemory.read(settings, clients, options)
        settle = None
        if not options.repair:
            settle = LagWait.of(
                settings, clients, lambda: ignite_cluster(settings, secrets), options.recheck_wait_ms / 1000
            )
        context = _Context(spark, clients, cluster, secrets_source, options, progress, claim, memory, settle)
        judged = (
            _verify_sink(settings, context) if isinstance(settings, SinkSettings) else _verify_source(settings, context)
        )
    return memory.conclude(judged)


def check_connector(settings: ConnectorSettings, secrets: Secrets, options: VerifyOptions) -> None:
    """Check, before Spark starts, that clusters, caches and topics are there and, for a repair, no run is active.

    :raises SettingsError: the connector is active-active.
    :raises IgniteKafkaError: as :func:`verify_connector`.
    """
    if isinstance(settings, (SourceSettings, SinkSettings)) and settings.active_active:
        raise SettingsError(
            "an active-active connector's topics have the writes of one cluster, its caches those of all: they differ",
            "Compare the caches of both clusters (docs/active-active.md).",
            setting="active_active",
        )
    clients = kafka_clients(settings, secrets)
    with ignite_cluster(settings, secrets) as cluster:
        clients.check()
        if options.repair:
            Idle.check(clients, settings, force=options.force)
        if isinstance(settings, SinkSettings):
            _make_sink_plan(settings, clients, cluster, options)
        else:
            assert isinstance(settings, SourceSettings)
            _make_source_plan(settings, clients, cluster)


@dataclass(frozen=True)
class _Context:
    """What all steps of a comparison share: Spark session, clients and options."""

    spark: SparkSession
    clients: KafkaClients
    cluster: Cluster
    secrets: SecretsSource | None
    options: VerifyOptions
    progress: Progress
    claim: RepairClaim | None
    memory: ComparisonMemory
    settle: LagWait | None

    def count_entries(self, pairs: Sequence[ComparedPair]) -> int:
        """Count the entries of the compared caches, to choose the number of tasks."""
        return sum(self.cluster.size(pair.cache) for pair in pairs if pair.partitions)


def _make_source_plan(
    settings: SourceSettings, clients: KafkaClients, cluster: Cluster
) -> tuple[TransferPlan, Mapping[str, int]]:
    """Plan a source's comparison: its caches, and the partition counts of its existing topics.

    :raises SettingsError: transforms give each record of a cache a topic.
    :raises TopicError: no topic exists, so nothing was copied yet.
    """
    topics = Topics(clients)
    plan = source_planning.make_plan(settings, cluster, topics, _ANY, _NO_SLOTS)
    if several := [cache.name for cache in plan.caches if not cache.one_topic]:
        what = "a comparison is of a cache and its topic, and transforms give each record of these caches a topic"
        raise SettingsError(
            what, "Leave the caches out with cache_blacklist.", setting="transforms", caches=_shorten(several)
        )
    topic_names = {cache.topic for cache in plan.caches}
    counts = topics.counts(topic_names)
    if not counts:
        what = "no topic of the connector exists"
        raise TopicError(
            what, "Run the connector first: its first run creates them.", topic=_shorten(sorted(topic_names))
        )
    return with_size_limits(plan, topics), counts


def _verify_source(settings: ConnectorSettings, context: _Context) -> list[Judged]:
    assert isinstance(settings, SourceSettings)
    topics = Topics(context.clients)
    plan, counts = _make_source_plan(settings, context.clients, context.cluster)
    compared = [cache for cache in plan.caches if cache.topic in counts]
    partitions = [(topic, number) for topic in {cache.topic for cache in compared} for number in range(counts[topic])]
    firsts = topics.offsets(partitions, OffsetSpec.earliest())

    def with_latest_ends(pairs: Sequence[ComparedPair]) -> list[ComparedPair]:
        # a record of an open transaction may never be committed
        ends = topics.offsets(partitions, OffsetSpec.latest(), committed=True)
        return [replace(pair, ends=topic_bounds(pair.topic, firsts, ends)) for pair in pairs]

    pairs = with_latest_ends([ComparedPair(cache.name, cache.topic, (), cache.partitions) for cache in compared])
    pairs = context.memory.with_slices(pairs)
    job = _make_job(
        settings,
        context,
        pairs,
        partial(_make_source_direction, plan, context.secrets, context.options, context.claim),
        with_latest_ends,
    )
    never_sent = [
        _judge_absent_topic(cache, context.cluster.size(cache.name))
        for cache in plan.caches
        if cache.topic not in counts
    ]
    return [*job.run(context.count_entries(pairs)), *never_sent]


def _judge_absent_topic(cache: CachePlan, entries: int) -> Judged:
    """Make the result for a cache whose topic does not exist: all its entries count as missing."""
    result = PairDifferences(cache.name, cache.topic, entries=entries)
    if entries:
        result.note(
            "missing",
            b"",
            f"topic {cache.topic} does not exist: run the connector, which creates it and sends the cache",
        )
    result.missing = entries
    return Judged(result)


def _make_source_direction(
    plan: TransferPlan, secrets: SecretsSource | None, options: VerifyOptions, claim: RepairClaim | None
) -> Direction:
    own_secrets = secrets.load() if secrets else Secrets()
    return SourceDirection(plan, own_secrets, options.thorough, options.limit, claim)


def _make_sink_plan(
    settings: SinkSettings, clients: KafkaClients, cluster: Cluster, options: VerifyOptions
) -> SinkPlan:
    """Plan a sink's comparison, and mark topics whose transforms may choose a cache for each record.

    :raises CacheNotFound: caches do not exist, and the options request no repair, which would create them.
    """
    plan = sink_planning.make_plan(settings, Topics(clients), _NO_SLOTS)
    plan = replace(
        plan,
        topics=tuple(
            replace(topic, routed=topic.routed or _has_custom_function(settings, topic.name)) for topic in plan.topics
        ),
    )
    caches = set(cluster.cache_names())
    missing = sorted(topic.cache for topic in plan.topics if not topic.routed and topic.cache not in caches)
    if missing and not options.repair:
        what = f"{len(missing)} of {len(plan.topics)} caches of the connector do not exist"
        remedy = (
            "Run the connector, which creates them. If it has stored their records before: --repair creates and fills "
            "them."
        )
        raise CacheNotFound(what, remedy, cache=_shorten(missing))
    return plan


def _has_custom_function(settings: SinkSettings, topic: str) -> bool:
    """Return whether a topic's transforms include a user's function, which may rename the topics of records."""
    return any(transform.is_own for transform in chain_of(settings.of(topic)))


def _verify_sink(settings: SinkSettings, context: _Context) -> list[Judged]:
    clients = context.clients
    cluster = context.cluster
    topics = Topics(context.clients)
    plan = _make_sink_plan(settings, clients, cluster, context.options)
    if context.options.repair:
        _create_caches(plan, clients, cluster)
    if context.claim is not None and plan.topics and (fence := write_fence(context.claim, cluster, plan.caches)):
        fence.establish()
    plan = replace(plan, topics=with_shared_routed(plan.topics))
    firsts = topics.offsets(sink_planning.partitions_of(plan.topics), OffsetSpec.earliest())

    def with_latest_ends(pairs: Sequence[ComparedPair]) -> list[ComparedPair]:
        committed, ends = _read_stored_ends(plan, clients, topics, repair=context.options.repair)
        return [_with_ends(pair, firsts, committed, ends) for pair in pairs]

    pairs = with_latest_ends(
        make_pairs(plan.topics, {topic.cache: _count_partitions(cluster, topic) for topic in plan.topics})
    )
    make = partial(_make_sink_direction, plan, context.secrets, context.options, context.claim)
    job = replace(
        _make_job(settings, context, pairs, partial(make, frozenset()), with_latest_ends),
        first_counts=not settings.process_updates,
    )
    routes = job.find_routes()
    if context.options.repair:
        for number, counts in routes.items():
            for cache in counts:
                routed_cache(cluster, cache, settings.of(pairs[number].topic))
    existing = set(cluster.cache_names())
    routed = {cache for counts in routes.values() for cache in counts}
    partitions = {cache: cluster.cache(cache).partitions for cache in sorted(routed & existing)}
    absent = count_absent_caches(routes, partitions)
    pairs = context.memory.with_slices(add_routed_pairs(pairs, routes, partitions))
    results = replace(job, pairs=pairs, open=partial(make, frozenset(absent))).run(context.count_entries(pairs))
    kept = [
        judged
        for pair, judged in zip(pairs, results, strict=True)
        if not pair.routed or pair.partitions or not judged.empty
    ]
    return [*kept, *(_judge_absent_cache(cache, count, pairs, routes) for cache, count in absent.items())]


def _with_ends(
    pair: ComparedPair,
    firsts: Mapping[TopicPartition, int],
    committed: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> ComparedPair:
    """Return a pair with its ends and its committed offsets."""
    up_to = tuple(end for _, end in topic_bounds(pair.topic, firsts, committed))
    return replace(pair, ends=topic_bounds(pair.topic, firsts, ends), committed=up_to)


def _judge_absent_cache(cache: str, count: int, pairs: Sequence[ComparedPair], routes: Routes) -> Judged:
    """Make the result for a cache that does not exist: all its records count as missing."""
    topics = ", ".join(pairs[number].topic for number, counts in sorted(routes.items()) if cache in counts)
    result = PairDifferences(cache, topics, records=count)
    result.note(
        "missing",
        b"",
        f"the cache does not exist, and {count} records of {topics} go to it: --repair creates and fills it",
    )
    result.missing = count
    return Judged(result)


def _create_caches(plan: SinkPlan, clients: KafkaClients, cluster: Cluster) -> None:
    """Create missing caches before a repair, in the same way as a run of the sink."""
    types_topic = TypesTopic(clients, plan.settings.source_types_topic)
    types_topic.read()
    ensure_caches(plan, cluster, types_topic.cache)


def _count_partitions(cluster: Cluster, topic: TopicPlan) -> int:
    return 0 if topic.routed else cluster.cache(topic.cache).partitions


def _make_sink_direction(
    plan: SinkPlan,
    secrets: SecretsSource | None,
    options: VerifyOptions,
    claim: RepairClaim | None,
    absent: frozenset[str],
) -> Direction:
    return SinkDirection(plan, secrets.load() if secrets else Secrets(), options.limit, absent, claim)


def _read_stored_ends(
    plan: SinkPlan, clients: KafkaClients, topics: Topics, *, repair: bool
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Read up to which offset the sink has committed each topic partition, and where the comparison ends.

    A repair of a strict sink includes what a killed run may have stored without a commit, so that it puts no older
    record after that.

    :returns: committed offsets, and ends.
    """
    settings = plan.settings
    copies = dict[TopicPartition, PartitionOffset]()
    control = read_connector(clients, topics, settings.internal_topic_prefix, settings.name)
    if control.connector is not None and not control.connector.is_source:
        for state in read_slots(
            clients, topics, settings.internal_topic_prefix, settings.name, control.connector.slots
        ):
            copies |= state.by_topic
    planned = {(topic.name, number): topic for topic in plan.topics for number in range(topic.partitions)}
    starts = resolve_starts(planned, settings, topics, copies).offsets
    if not (repair and settings.strict):
        return starts, starts
    return starts, starts | repeated_ends(starts, committed_limits(planned, starts, copies), topics)


def _shorten(names: Sequence[str]) -> str:
    """Join names for an error message: the first ones, and the number of the others."""
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def _make_job(
    settings: ConnectorSettings,
    context: _Context,
    pairs: Sequence[ComparedPair],
    make: Open,
    latest: Callable[[Sequence[ComparedPair]], Sequence[ComparedPair]],
) -> VerifyJob:
    return VerifyJob(
        partial(Exchange, context.spark),
        cores(context.spark),
        pairs,
        make,
        limit=context.options.limit,
        repair=context.options.repair,
        repair_at_most=context.options.repair_at_most,
        settle=context.settle,
        log_values=settings.log_values,
        latest=latest,
        progress=context.progress,
    )
