"""Topics of a pair: read by the sink, shortened by retention, or missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from confluent_kafka.admin import OffsetSpec

from ..errors import RoleTransitionRefused
from ..kafka.single_record import write_record
from ..settings.source import SourceSettings
from ..settings.topic_names import types_topic
from ..sink.planning import chosen_topics
from ..source.planning import cache_configurations, chosen_caches, make_plan, register_schemas
from ..source.topic_creation import ensure_topics, ensure_types_topic
from ..state.cache_records import cache_key, cache_to_json
from ..state.internal_records import FORMAT_HEADERS
from .pair import Member, Pair
from .reverse_pair import check_no_circle

_COMPACT = "compact"
_SHOWN = 5


def check_topics(pair: Pair) -> None:
    """Check the sink's topics: all those of the source's caches, and none of the reverse pair.

    A cache of A that never gets to B would be emptied, or replaced by another cache of its name.

    :raises RoleTransitionRefused: the sink does not read the topic of a cache.
    :raises SettingsError: it reads one of the reverse pair.
    :raises IgniteKafkaError: the source's cluster did not answer.
    """
    source = pair.source.settings
    with pair.source.connect() as cluster:
        topics = {name: source.topic_of(name).name for name in chosen_caches(source, cluster.cache_names())}
    check_no_circle(source, pair.sink.settings, topics.values())
    read = set(chosen_topics(pair.sink.settings, topics.values()))
    if unread := sorted(name for name, topic in topics.items() if topic not in read):
        more = f" and {len(unread) - _SHOWN} more" if len(unread) > _SHOWN else ""
        raise RoleTransitionRefused(
            f"the sink does not read the topics of some caches of the source: {', '.join(unread[:_SHOWN])}{more}",
            "Leave the caches out by cache_blacklist of the source, or let the sink read and store them first.",
            connector=pair.sink.name,
            topic=topics[unread[0]],
        )


def shortened_topics(member: Member[SourceSettings], names: Iterable[str]) -> set[str]:
    """Return the topics with records deleted by retention.

    Compaction keeps the last record of each key. A topic whose cleanup policy this user may not see counts as one
    with retention.

    :raises KafkaUnavailable: a broker did not answer.
    """
    states = member.topics.describe(sorted(set(names))).values()
    retained = [state for state in states if state.cleanup_policy != _COMPACT]
    firsts = member.topics.offsets(
        [(state.name, number) for state in retained for number in range(state.partitions)], OffsetSpec.earliest()
    )
    return {name for (name, _), first in firsts.items() if first > 0}


def create_missing_topics(member: Member[SourceSettings]) -> None:
    """Create the missing topics of the source's caches, as its run would, before a repair.

    :raises TopicError: a topic cannot be created.
    :raises IgniteKafkaError: a cluster did not answer; the call may be repeated.
    """
    settings = member.settings
    with member.connect() as cluster:
        plan = make_plan(settings, cluster, member.topics, "", 0)
        present = member.topics.counts(cache.topic for cache in plan.caches)
        missing = tuple(cache for cache in plan.caches if cache.topic not in present)
        if not missing:
            return
        register_schemas(settings, missing, cluster)
        configurations = cache_configurations(missing, cluster)
    # a sink creates its cache by this record, which must be there before the topic is
    ensure_types_topic(settings, member.topics)
    types = types_topic(settings.internal_topic_prefix)
    for topic, configuration in configurations.items():
        value = cache_to_json(configuration)
        what = "a cache's configuration"
        write_record(member.clients, types, cache_key(topic), value, what, partition=0, headers=FORMAT_HEADERS)
    ensure_topics(replace(plan, caches=missing), member.topics)
