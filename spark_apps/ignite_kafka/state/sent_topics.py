"""Checks, at a start, that the topics with earlier records of a connector still exist unchanged.

An offset record holds the id of its topic. A topic that was deleted and created again has another id and none of the
records; continuing in it would leave it incomplete for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import events
from ..common.typed_json import array
from ..errors import OffsetsLost, TopicError
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..plan.slots import SlotState, UnitOffset
from ..plan.source_plan import CachePlan, TransferPlan
from ..settings.source import SourceSettings
from .configs import SnapshotRecord
from .offsets import read_slots

_NONE = "none"
_LOAD_AGAIN = (
    "To send all entries again start once with failover_policy FULL_SNAPSHOT; or give the connector a new name."
)


def check_units(
    plan: TransferPlan, cache: CachePlan, units: Mapping[int, UnitOffset], before: CachePlan | None = None
) -> None:
    """Check that a cache's offset records belong to the planned topic, not to a deleted one of the same name.

    :param units: offsets by partition; those not done under the plan are ignored, because they are sent again.
    :param before: the cache in an earlier run's plan, which names the topic of offset records without a topic.
    :raises TopicError: a unit's records are in another topic.
    """
    planned_id = before.topic_id if before else ""
    for unit in units.values():
        if not _is_sent(unit, plan, cache):
            continue
        sent_to = unit.topic_id or planned_id
        if sent_to and sent_to != cache.topic_id:
            raise _incomplete(cache, sent_to, before, send_again(plan.settings, cache))


def _is_sent(unit: UnitOffset, plan: TransferPlan, cache: CachePlan) -> bool:
    """Return whether a unit's entries were sent under the plan and so will not be sent again."""
    return unit.done and (unit.snapshot_id, unit.incarnation) == (plan.snapshot_id, cache.incarnation)


def check_plan(
    plan: TransferPlan,
    before: SnapshotRecord | None,
    clients: KafkaClients,
    topics: Topics,
    read: Callable[..., Iterable[SlotState]] = read_slots,
) -> None:
    """Refuse a run that would continue in a replaced or repartitioned topic; called before topics are created.

    :param before: the newest snapshot or stream.
    :param read: reads the offsets of all slots.
    :raises TopicError: a cache's records are in another topic, or its topic has other partitions, and it is not sent
        again.
    """
    if before is None:
        return
    grown = _grown(plan, before, topics)
    replaced = replaced_topics(plan.caches, before.plan, topics)
    if not grown and not replaced:
        return
    goes_on = plan.snapshot_id == before.id
    if goes_on:
        prefix = plan.settings.internal_topic_prefix
        for state in read(clients, topics, prefix, plan.connector, plan.slots):  # rare; usually only tasks read offsets
            for cache, old in replaced:
                check_units(plan, cache, state.by_cache.get(cache.name, {}), old)
            for growth in grown:
                if any(
                    _is_sent(unit, plan, growth.cache) for unit in state.by_cache.get(growth.cache.name, {}).values()
                ):
                    raise growth.error(send_again(plan.settings, growth.cache))
    for growth in grown:
        if not growth.cache.load and plan.settings.load_initial_data != goes_on:  # no start sends its entries
            raise growth.error(_LOAD_AGAIN)
        events.emit(
            events.TOPIC_GREW,
            topic=growth.cache.topic,
            cache=growth.cache.name,
            partitions=growth.partitions,
            before=growth.before,
        )
    if goes_on:
        return
    for cache, old in replaced:
        if not cache.load and plan.settings.load_initial_data:
            raise _incomplete(cache, old.topic_id, old, _LOAD_AGAIN)
        events.emit(events.TOPIC_REPLACED, cache=cache.name, topic=cache.topic, before=f"{old.topic} ({old.topic_id})")


@dataclass(frozen=True)
class _Grown:
    """Topic whose partition count has changed since its cache was sent."""

    cache: CachePlan
    partitions: int
    before: int

    def error(self, remedy: str) -> TopicError:
        return TopicError(
            f"the topic has {self.partitions} partitions now, and had {self.before} when the cache was sent to it",
            f"Keys would change partition, and their records would have no order. {remedy}",
            topic=self.cache.topic,
            cache=self.cache.name,
        )


def _grown(plan: TransferPlan, before: SnapshotRecord, topics: Topics) -> list[_Grown]:
    """Return topics of the earlier plan with another partition count now, where keys would change partition."""
    old = {
        (cache.name, cache.topic): cache
        for cache in _caches_of(before.plan)
        if cache.topic_id and cache.topic_partitions
    }
    planned = [cache for cache in plan.caches if (cache.name, cache.topic) in old]
    identities = topics.identities({cache.topic for cache in planned})
    grown = []
    for cache in planned:
        sent = old[cache.name, cache.topic]
        topic_id, partitions = identities.get(cache.topic, (_NONE, 0))
        if topic_id == sent.topic_id and partitions != sent.topic_partitions:
            grown.append(_Grown(cache, partitions, sent.topic_partitions))
    return grown


def check_complete(before: SnapshotRecord, topics: Topics) -> None:
    """Raise an error if a topic of a completed snapshot was deleted, instead of reporting it as complete.

    :raises TopicError: the topic of a cache was deleted or created again.
    """
    for cache, old in replaced_topics(_caches_of(before.plan), before.plan, topics):
        raise _incomplete(
            cache, old.topic_id, old, "Begin a new snapshot: a new Dag run, or --snapshot-id with a new id."
        )


def replaced_topics(
    caches: Iterable[CachePlan], before: Mapping[str, Any], topics: Topics
) -> list[tuple[CachePlan, CachePlan]]:
    """Find caches whose topic was deleted, recreated or renamed since an earlier plan.

    A plan without topic ids gives none.

    :returns: the cache now, with the topic's id, and the cache in the earlier plan.
    """
    old = {cache.name: cache for cache in _caches_of(before) if cache.topic_id}
    planned = [cache for cache in caches if cache.name in old]
    identities = topics.identities({cache.topic for cache in planned})
    now = [
        replace(cache, topic_id=identities[cache.topic][0] if cache.topic in identities else _NONE) for cache in planned
    ]
    return [(cache, old[cache.name]) for cache in now if cache.topic_id != old[cache.name].topic_id]


def send_again(settings: SourceSettings, cache: CachePlan) -> str:
    """Write the remedy of an error: commands that send all entries of a cache to its present topic."""
    clusters = f"--kafka {settings.bootstrap_servers} --internal-topic-prefix {settings.internal_topic_prefix}"
    reset = f"`ignite-kafka offsets reset {settings.name} --cache {cache.name} {clusters}`"
    text = f"To send all its entries again: {reset}, then start the connector"
    if not cache.load:
        text += f" and run `ignite-kafka resend {cache.name} --name {settings.name} {clusters}`"
    return f"{text}. Or give the connector a new name."


def _incomplete(cache: CachePlan, sent_to: str, before: CachePlan | None, remedy: str) -> TopicError:
    if before is not None and before.topic != cache.topic:
        why = f"the cache was sent to topic {before.topic} until now, and its offsets count what is there"
    elif cache.topic_id == _NONE:
        why = "the topic was deleted, and the offsets of the cache count what was in it"
    else:
        why = "the topic was deleted and made again, and the offsets of the cache count what was in the old one"
    return TopicError(why, remedy, cache=cache.name, topic=cache.topic, topic_id=cache.topic_id, known_topic_id=sent_to)


def _caches_of(plan: Mapping[str, Any]) -> list[CachePlan]:
    """Parse the caches of a plan stored in the configs topic.

    :raises OffsetsLost: the plan cannot be read.
    """
    try:
        return list(map(CachePlan.from_dict, array(plan.get("caches", []))))
    except ValueError as error:
        raise unreadable_plan(error) from error


def unreadable_plan(error: ValueError) -> OffsetsLost:
    """Make the error for an unreadable plan in the configs topic."""
    remedy = "Another program wrote to the configs topic (docs/operations.md#rights): give the connector a new name."
    return OffsetsLost(f"the plan of the last snapshot cannot be read: {error}", remedy)
