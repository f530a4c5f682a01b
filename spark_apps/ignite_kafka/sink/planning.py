"""Plan of a sink's run: topics to read and their caches, from settings and brokers; nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from confluent_kafka.admin import OffsetSpec

from ..convert import check_transforms
from ..convert.filter import Filters, check_conditions
from ..errors import SettingsError, TopicError
from ..java.patterns import matches_whole
from ..kafka.clients import KafkaClients
from ..kafka.topics import TopicPartition, Topics, TopicState, read_to_end
from ..plan.sink_offsets import PartitionKey
from ..plan.sink_plan import SinkPlan, TopicPlan
from ..settings.name_rules import NamedBy
from ..settings.shared_caches import DISJOINT_KEYS
from ..settings.sink import KAFKA, LATEST, SinkSettings
from ..settings.suggestions import did_you_mean
from ..settings.topic_names import is_internal_topic
from ..state.internal_names import offsets_topic
from ..state.offsets import key_of

_SHOWN_TOPICS = 20


def make_plan(settings: SinkSettings, topics: Topics, slots: int) -> SinkPlan:
    """Plan a sink's run: check topics, caches and filters before the run claims a generation.

    :raises TopicError: a topic does not exist or no topic matches, and the run is not continuous; or there is no
        ``types_topic``.
    :raises SettingsError: two topics go to one cache and may not, or a filter's function cannot be imported.
    """
    if settings.types_topic and not topics.exists(settings.types_topic):
        remedy = "Set types_topic to the types topic of the source, or leave it empty."
        raise TopicError(
            "the topic of binary types does not exist", remedy, setting="types_topic", topic=settings.types_topic
        )
    check_transforms(settings)
    check_conditions(settings)
    names = chosen_topics(settings, known_topics(settings, topics))
    caches = cache_names(names, settings)
    filters = Filters(settings)
    for name in names:
        filters.of(name)  # an unimportable function fails here, not in each task
    states = topics.describe(names)
    plans = tuple(
        TopicPlan(name, states[name].topic_id, caches[name], states[name].partitions, routed=_is_routed(settings, name))
        for name in names
        if name in states
    )
    if not settings.streams:
        plans = _with_ends(plans, topics)
    return SinkPlan(settings.name, 0, slots, settings, plans)


def known_topics(settings: SinkSettings, topics: Topics) -> Iterable[str]:
    """Return the existing topics, looking up those of the settings singly if the brokers do not list them yet."""
    names = topics.existing().keys()
    return names | topics.counts(set(settings.topics) - names).keys()


def chosen_topics(settings: SinkSettings, existing: Iterable[str]) -> list[str]:
    """Return the names of the topics to read, by `topics` or `topics_regex`, sorted.

    `topics_regex` never chooses internal or dead-letter topics. A continuous run reads topics of the setting
    `topics` as soon as they exist, as Kafka Connect does.

    :raises TopicError: see :func:`make_plan`.
    """
    names = set(existing)
    missing = [topic for topic in settings.topics if topic not in names]
    if missing and not settings.streams:
        hints = dict.fromkeys(hint for topic in missing if (hint := did_you_mean(topic, names)))
        single = len(missing) == 1
        what = (
            "a topic that is to be read does not exist"
            if single
            else f"{len(missing)} topics that are to be read do not exist"
        )
        raise TopicError(what, " ".join([*hints, "Create it, or leave it out of topics."]), topic=", ".join(missing))
    if settings.topics:
        return sorted(set(settings.topics) - set(missing))
    chosen = [
        topic
        for topic in sorted(names)
        if matches_whole(topic, settings.topics_regex)
        and not is_internal_topic(topic, settings.internal_topic_prefix)
        and topic not in (*settings.own_topics.values(), settings.types_topic)
    ]
    if not chosen and not settings.streams:
        shown = ", ".join(sorted(names)[:_SHOWN_TOPICS]) or "none"
        raise TopicError(f"no topic matches topics_regex {settings.topics_regex!r}", f"The brokers have: {shown}.")
    return chosen


def cache_names(topics: Iterable[str], settings: SinkSettings) -> dict[str, str]:
    """Return the cache name of each topic, and refuse two topics with one cache whose keys may be equal.

    :raises SettingsError: two topics go to one cache and may not, or the name of a cache is empty.
    """
    topics = list(topics)
    _check_shared_by_header(topics, settings)
    caches: dict[str, str] = {}
    topic_of_cache: dict[str, tuple[str, NamedBy]] = {}
    for topic in topics:
        cache = cache_of(topic, settings)
        if not cache.name:
            remedy = (
                "Choose another topic_prefix, or a cache_prefix"
                if cache.rule == "topic_prefix"
                else "Correct the replacement"
            )
            raise SettingsError("a topic's name leaves none for its cache", remedy, topic=topic, named_by=cache.rule)
        other, before = topic_of_cache.setdefault(cache.name, (topic, cache))
        if other != topic and not _may_share(settings, other, topic):
            what = f"topics {other} (by {before.rule}) and {topic} (by {cache.rule}) go to one cache"
            remedy = (
                "Give them caches of their own (cache_names, cache_prefix), leave one of them out, or set "
                f"shared_caches to {DISJOINT_KEYS} if no key is in both: the records of a key have an order in one "
                "topic only. With order_field, a field of the values orders those of several topics."
            )
            raise SettingsError(what, remedy, cache=cache.name, topic=topic)
        caches[topic] = cache.name
    return caches


def _check_shared_by_header(topics: Sequence[str], settings: SinkSettings) -> None:
    """Refuse several topics if a header names caches: equal keys of one cache may be in two topics."""
    if settings.cache_header and len(topics) > 1 and not _may_share(settings, *topics):
        raise SettingsError(
            f"records of {len(topics)} topics may name the same cache by header {settings.cache_header}",
            f"Give each topic a sink of its own, or set shared_caches to {DISJOINT_KEYS} if no key of a cache is in "
            "two topics: the records of a key have an order in one topic only. With order_field, a field of the values "
            "orders those of several topics.",
            topics=", ".join(sorted(topics)[:_SHOWN_TOPICS]),
        )


def _may_share(settings: SinkSettings, *topics: str) -> bool:
    """Return whether no key of a cache is made of records of two of its topics, or a field or versions order these."""
    if settings.order_field or settings.active_active or settings.shared_caches == DISJOINT_KEYS:
        return True
    of_topics = [settings.of(topic) for topic in topics]
    # transforms may give records of two topics one topic's name, which is in the key then
    return all(own.key_policy == KAFKA and not own.transforms for own in of_topics)


def cache_of(topic: str, settings: SinkSettings) -> NamedBy:
    """Return the cache name for a topic, after its RegexRouter transforms renamed the topic."""
    own = settings.of(topic)
    if not own.transforms:
        return settings.cache_of(topic)
    from ..convert.transforms.steps import routed_topic

    return settings.cache_of(routed_topic(own, topic))


def _is_routed(settings: SinkSettings, topic: str) -> bool:
    if settings.cache_header:
        return True
    own = settings.of(topic)
    if not own.transforms:
        return False
    from ..convert.transforms.steps import routes_records

    return routes_records(own)


def partitions_of(plans: Iterable[TopicPlan]) -> list[TopicPartition]:
    """Return all topic partitions of planned topics."""
    return [(topic.name, partition) for topic in plans for partition in range(topic.partitions)]


def with_first_offsets(plan: SinkPlan, topics: Topics, clients: KafkaClients) -> SinkPlan:
    """Begin at the topics' current ends, for a connector's first start with ``auto_offset_reset`` latest.

    If the connector has any offset, partitions without an offset are new, and are read from their first record.
    """
    if plan.settings.auto_offset_reset != LATEST or _has_offsets(plan, topics, clients):
        return plan
    ends = _ends(plan.topics, topics)
    begins = (tuple(ends[topic.name, partition] for partition in range(topic.partitions)) for topic in plan.topics)
    return replace(
        plan, topics=tuple(replace(topic, begins=begin) for topic, begin in zip(plan.topics, begins, strict=True))
    )


def _has_offsets(plan: SinkPlan, topics: Topics, clients: KafkaClients) -> bool:
    """Return whether the connector has ever committed an offset, in the group or the offsets topic."""
    if topics.group_offsets(plan.settings.group_id, partitions_of(plan.topics)):
        return True
    name = offsets_topic(plan.settings.internal_topic_prefix, plan.connector)
    slots = range(topics.counts([name]).get(name, 0))
    return any(isinstance(key_of(message), PartitionKey) for message in read_to_end(clients, topics, name, list(slots)))


def with_batch_bytes(plan: SinkPlan, states: Mapping[str, TopicState]) -> SinkPlan:
    """Limit the plan's producer batches to the size that the dead-letter topic accepts, if it is known."""
    limits = [state.max_message_bytes for state in states.values() if state.max_message_bytes is not None]
    return replace(plan, max_batch_bytes=min(limits, default=plan.max_batch_bytes))


def _with_ends(plans: tuple[TopicPlan, ...], topics: Topics) -> tuple[TopicPlan, ...]:
    ends = _ends(plans, topics)
    return tuple(
        replace(topic, ends=tuple(ends[topic.name, number] for number in range(topic.partitions))) for topic in plans
    )


def _ends(plans: Iterable[TopicPlan], topics: Topics) -> Mapping[TopicPartition, int]:
    """Return the end offset of the committed records of each partition."""
    return topics.offsets(partitions_of(plans), OffsetSpec.latest(), committed=True)
