"""Plans of snapshots and streams, from the settings and from the caches and topics of the clusters.

Only :func:`register_schemas` writes. :mod:`.topic_creation` creates the topics of a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from ..convert import Converters, check_transforms
from ..convert.filter import Filters
from ..errors import CacheNotFound, SettingsError, SnapshotConflict, TopicError, UnsupportedType
from ..ignite.active_active import check_active_active, check_unversioned
from ..ignite.cache_configuration import CacheConfiguration
from ..ignite.cluster import Cluster
from ..ignite.sql_views import with_present_tables
from ..java.patterns import matches_whole
from ..kafka.topics import Topics
from ..plan.routing import routes, select
from ..plan.source_plan import CachePlan, TransferPlan
from ..settings.cache_header import described_name
from ..settings.name_rules import NamedBy
from ..settings.source import SourceSettings
from ..settings.suggestions import did_you_mean

_LARGEST_BATCH = 1_000_000
_SHOWN_NAMES = 20


def make_plan(settings: SourceSettings, cluster: Cluster, topics: Topics, snapshot_id: str, slots: int) -> TransferPlan:
    """Plan a new snapshot or stream: check caches, topics and types before the run claims a generation.

    :raises CacheNotFound: the lists match no cache of the cluster.
    :raises UnsupportedType: the converter does not support a type in a cache's metadata, the filter names a column that
        no declared type has, or a cache has no partitions.
    :raises TopicError: a cache's topic cannot be used.
    :raises SettingsError: a cache's topic is the dead-letter topic.
    :raises BacklogRefused: source and nodes differ in whether versions of one of the caches are sent.
    """
    chosen = chosen_caches(settings, cluster.cache_names())
    converters = Converters(settings)
    filters = Filters(settings)
    existing = topics.existing()
    caches = []
    copied = chosen if settings.load_initial_data or settings.streams else ()
    topic_names, by_record = _topic_names(settings, copied)
    for name, topic in topic_names.items():
        info = cluster.cache(name)
        if not info.partitions:
            raise UnsupportedType(
                f"a {info.mode} cache has no partitions that a client can read",
                "Leave it out with cache_blacklist.",
                cache=name,
            )
        converters.of(name).check(info, cluster, topic)
        if (entry_filter := filters.of(name)) is not None:
            entry_filter.check(info, cluster)
        one_topic = name not in by_record
        new = settings.of(name).new_topic(topic)
        # 0: the broker's default, known once the topic exists
        partitions = existing.get(topic, max(0, new.partitions)) if one_topic else 0
        caches.append(
            CachePlan(name, info.cache_id, topic, info.partitions, partitions, info.incarnation, one_topic=one_topic)
        )
    plan = TransferPlan(settings.name, snapshot_id, 0, slots, settings, tuple(caches))
    return _with_versions(plan, cluster, list(topic_names))


def _topic_names(settings: SourceSettings, caches: Sequence[str]) -> tuple[dict[str, str], set[str]]:
    """Return the topic of each cache, and the caches whose transforms may give each record its own topic."""
    shared = bool(settings.cache_header)
    topic_names = routes(caches, topic_of(settings), settings.internal_topic_prefix, shared=shared)
    by_record = routed_by_record(settings, caches)
    if shared:
        check_shared(settings, topic_names, by_record)
    _check_own_topics(settings, topic_names.values())
    return topic_names, by_record


def _with_versions(plan: TransferPlan, cluster: Cluster, caches: Sequence[str]) -> TransferPlan:
    settings = plan.settings
    if settings.active_active:
        versions = check_active_active(cluster, caches)
        ruled = tuple(replace(cache, conflict_rule=versions.rules[cache.name]) for cache in plan.caches)
        return replace(plan, cluster_id=versions.cluster_id, caches=ruled)
    if settings.streams and settings.failover_policy == "BACKLOG" and not settings.allow_unversioned:
        check_unversioned(cluster, caches)
    return plan


def topic_of(settings: SourceSettings) -> Callable[[str], NamedBy]:
    """Return a function from cache name to topic name, by the settings and the topic-changing transforms.

    :raises SettingsError: a transform is unknown, its properties are wrong, or it would give a cache's records several
        topics.
    """
    if not any(variant.transforms for variant in settings.variants):
        return settings.topic_of
    from ..convert.transforms.steps import routed_topics  # which a run without transforms does not load

    check_transforms(settings)
    return routed_topics(settings)


def routed_by_record(settings: SourceSettings, caches: Iterable[str]) -> set[str]:
    """Return the caches whose transforms may give each record its own topic.

    :raises SettingsError: records of two such caches could go to one topic.
    """
    if not any(variant.transforms for variant in settings.variants):
        return set()
    from ..convert.transforms.steps import example_topics, routes_records

    routed = [cache for cache in caches if routes_records(settings.of(cache))]
    routes(routed, example_topics(settings), settings.internal_topic_prefix)
    return set(routed)


def check_shared(settings: SourceSettings, topic_names: Mapping[str, str], by_record: Collection[str]) -> None:
    """Check the topics of caches that a header names: known before the run, and created in one way.

    :param topic_names: topic of each cache.
    :param by_record: caches whose transforms may give each record its own topic.
    :raises SettingsError: transforms route records, or overrides create one topic in two ways.
    """
    if by_record:
        reason = f"transforms give each record of {min(by_record)} a topic, and topics with a cache_header are checked"
        raise settings.wrong("cache_header", reason, "Leave the transforms out, or cache_header")
    first: dict[str, str] = {}
    for cache, topic in topic_names.items():
        other = first.setdefault(topic, cache)
        if settings.of(cache).new_topic(topic) != settings.of(other).new_topic(topic):
            raise SettingsError(
                f"the caches {other} and {cache} share a topic, and their overrides create it in two ways",
                "Give them the same topic_partitions and topic_config.",
                topic=topic,
            )


def chosen_caches(settings: SourceSettings, names: Sequence[str]) -> list[str]:
    """Return the caches to copy, by `cache_whitelist` and `cache_blacklist`.

    :param names: names of all caches of the cluster.
    :raises CacheNotFound: no cache is chosen, and the run is not continuous: it would copy nothing.
    """
    chosen = select(names, settings.cache_whitelist, settings.cache_blacklist, settings.backlog_cache_name)
    if not chosen and settings.load_initial_data and settings.run_mode == "once":
        hints = [hint for pattern in unmatched(settings, names) if (hint := did_you_mean(pattern, names))]
        shown = f"The cluster has {len(names)} caches: {', '.join(sorted(names)[:_SHOWN_NAMES]) or 'none'}."
        raise CacheNotFound(
            f"no cache matches cache_whitelist {list(settings.cache_whitelist)} and cache_blacklist "
            f"{list(settings.cache_blacklist)}",
            " ".join([*dict.fromkeys(hints), shown]),
        )
    return chosen


def unmatched(settings: SourceSettings, names: Iterable[str]) -> list[str]:
    """Return the regular expressions of `cache_whitelist` that match no cache, for a hint in the error.

    :param names: names of all caches of the cluster.
    """
    caches = list(names)
    return [pattern for pattern in settings.cache_whitelist if not any(matches_whole(name, pattern) for name in caches)]


def continue_plan(stored: TransferPlan, settings: SourceSettings, topics: Topics) -> TransferPlan:
    """Check that an unfinished snapshot can be continued, and return its stored plan with the current settings.

    :raises SnapshotConflict: settings that are fixed in a snapshot were changed since it began; the message names each.
    :raises TopicError: a topic of the plan is gone or has another partition count.
    :raises SettingsError: a topic of the plan is the dead-letter topic.
    """
    now = settings.fixed_in_snapshot()
    then = stored.settings.fixed_in_snapshot()
    differing = sorted(name for name in now if now[name] != then[name])
    if differing:
        shown = "; ".join(f"{name} was {then.get(name)!r}, is {now.get(name)!r}" for name in differing)
        raise SnapshotConflict(
            f"settings differ from those the snapshot was begun with: {shown}",
            "Set them back to finish this snapshot, or begin a new one under another snapshot id.",
            snapshot_id=stored.snapshot_id,
        )
    _check_own_topics(settings, [cache.topic for cache in stored.caches])
    existing = topics.existing()
    for cache in stored.caches:
        if not cache.one_topic:
            continue
        partitions = existing.get(cache.topic)
        if partitions is not None and partitions != cache.topic_partitions:
            raise TopicError(
                f"the topic has {partitions} partitions now, and had {cache.topic_partitions} when the snapshot was "
                f"planned",
                "Begin a new snapshot.",
                topic=cache.topic,
                cache=cache.name,
            )
    return replace(stored, settings=settings)


def _check_own_topics(settings: SourceSettings, topics: Iterable[str]) -> None:
    of_caches = set(topics)
    for name, topic in settings.own_topics.items():
        if topic in of_caches:
            raise settings.wrong(name, "it is the topic of a cache", "Choose another topic")


def register_schemas(settings: SourceSettings, caches: Iterable[CachePlan], cluster: Cluster) -> None:
    """Register the schemas of the caches' declared types in the schema registry, so that tasks find them there.

    Caches that were destroyed meanwhile are skipped.

    :raises UnsupportedType: a converter does not support a declared type.
    :raises RegistryError: a schema registry refuses a schema.
    :raises RegistryUnavailable: a schema registry did not answer.
    """
    converters = Converters(settings)
    for cache in caches:
        with suppress(CacheNotFound):
            converters.of(cache.name).register(cluster.cache(cache.name), cluster, cache.topic)


def cache_configurations(
    caches: Iterable[CachePlan], cluster: Cluster, cache_header: str = ""
) -> dict[str, CacheConfiguration]:
    """Read the caches' configurations from the cluster, so that a sink can create the same caches.

    They are by the names of :func:`.described_name`. Caches that were destroyed meanwhile, or whose records have
    several topics, are left out.

    :param cache_header: the source's setting.
    """
    configurations = {}
    for cache in caches:
        if not cache.one_topic:
            continue
        with suppress(CacheNotFound):
            name = described_name(cache.topic, cache.name, cache_header)
            configurations[name] = with_present_tables(cluster, cluster.configuration(cache.name))
    return configurations
