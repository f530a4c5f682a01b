"""Creation of a source's missing topics: partitions, replicas and configuration of each, by the settings.

The settings of a new topic are those of the first matching group (:mod:`~ignite_kafka.settings.topic_groups`), or
``topic_partitions`` and ``replication_factor``, which a cache may override. Existing topics are never altered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..errors import TopicError
from ..kafka.topics import COMPACTED, Topics, TopicSpec, TopicState
from ..plan.source_plan import TransferPlan
from ..settings.cache_header import is_compacted
from ..settings.source import SourceSettings
from ..settings.topic_names import types_topic

_LARGEST_BATCH = 1_000_000


def topic_spec(settings: SourceSettings, cache: str, topic: str, partitions: int | None = None) -> TopicSpec:
    """Return how a topic of a cache is created: number of partitions, replication factor and topic configuration.

    :param partitions: number of partitions in the plan; 0: the broker's default; None: that of the settings.
    """
    new = settings.of(cache).new_topic(topic)
    count = new.partitions if partitions is None else partitions or -1
    return TopicSpec(topic, count, new.replication_factor, new.config, settings.create_topics)


def ensure_types_topic(settings: SourceSettings, topics: Topics) -> None:
    """Create the topic of learned types and cache configurations (the types topic) if it is missing.

    The types topic must describe a cache before the cache's own topic exists, because a running sink sees that topic.
    """
    topics.ensure([TopicSpec(types_topic(settings.internal_topic_prefix), 1, settings.replication_factor, COMPACTED)])


def ensure_topics(plan: TransferPlan, topics: Topics) -> TransferPlan:
    """Create the missing topics of a plan; a topic chosen by transforms is created with its first record.

    :returns: the plan with the ids of the topics, and a batch limit that each of them accepts.
    :raises TopicError: a topic was deleted meanwhile, the user may not write to it, or it is compacted and may have
        several caches.
    """
    settings = plan.settings
    dead_letters = plan.settings.dead_letter_topic
    fixed = [cache for cache in plan.caches if cache.one_topic]
    specs = [topic_spec(settings, cache.name, cache.topic, cache.topic_partitions) for cache in fixed]
    if dead_letters:
        specs.append(TopicSpec(dead_letters, 1, settings.dead_letter_copies))
    counts = topics.ensure(list({spec.name: spec for spec in specs}.values()))
    states = topics.describe(_fixed_topics(plan))
    for cache in fixed:
        if cache.topic not in states:
            raise TopicError(
                "the topic was deleted while the run began", "Start again.", topic=cache.topic, cache=cache.name
            )
    for state in states.values():
        state.check_writable()
    if settings.cache_header:
        _check_not_compacted(states[cache.topic] for cache in fixed)
    caches = tuple(
        replace(cache, topic_partitions=counts[cache.topic], topic_id=states[cache.topic].topic_id)
        if cache.one_topic
        else cache
        for cache in plan.caches
    )
    return _with_size_limits(replace(plan, caches=caches), states)


def with_size_limits(plan: TransferPlan, topics: Topics) -> TransferPlan:
    """Add the message size limits of the existing topics to a plan, without creating topics."""
    return _with_size_limits(plan, topics.describe(_fixed_topics(plan)))


def _fixed_topics(plan: TransferPlan) -> list[str]:
    """Return the names of the topics known before the run, the dead-letter topic last."""
    dead_letters = plan.settings.dead_letter_topic
    names = [cache.topic for cache in plan.caches if cache.one_topic] + ([dead_letters] if dead_letters else [])
    return list(dict.fromkeys(names))


def _check_not_compacted(states: Iterable[TopicState]) -> None:
    """Refuse topics of several caches in which Kafka keeps one record of a key.

    :raises TopicError: a topic is compacted, or the user may not see whether it is.
    """
    for state in states:
        where = {"topic": state.name, "setting": "cache_header"}
        if state.cleanup_policy is None:
            what = "the user of the Kafka connection may not see whether the topic of several caches is compacted"
            raise TopicError(what, "Grant it the permission DESCRIBE_CONFIGS on the topic.", **where)
        if is_compacted(state.cleanup_policy):
            what = "the topic may have several caches and is compacted: Kafka would keep one record of their equal keys"
            raise TopicError(what, "Set its cleanup.policy to delete, or give each cache a topic.", **where)


def _with_size_limits(plan: TransferPlan, states: Mapping[str, TopicState]) -> TransferPlan:
    limits = {name: state.max_message_bytes for name, state in states.items() if state.max_message_bytes is not None}
    caches = tuple(
        replace(cache, topic_bytes=limits.get(cache.topic)) if cache.one_topic else cache for cache in plan.caches
    )
    largest_batch = min([_LARGEST_BATCH, *limits.values()])
    letters = limits.get(plan.settings.dead_letter_topic, 0)
    return replace(plan, caches=caches, max_batch_bytes=largest_batch, max_letter_bytes=letters)
