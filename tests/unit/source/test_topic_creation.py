"""Topics that a plan creates, and their size limits: known, or unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError

from ignite_kafka.errors import KafkaUnavailable, TopicError
from ignite_kafka.kafka.record_size import SizeLimit
from ignite_kafka.plan.slots import Owner
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.runtime.clients import slot_opener
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.topic_creation import ensure_topics, with_size_limits
from tests.support.fake_topics import described, refused
from tests.unit.kafka.test_record_size import RECORDS

PLAN = TransferPlan(
    "c", "s", 0, 16, SourceSettings(name="c", error_handling_policy="DEAD_LETTER", dead_letter_topic="dead"),
    tuple(CachePlan(name, 1, name, 8, 2, topic_bytes=99) for name in ("a", "b")),
)  # fmt: skip
HIDDEN = refused(KafkaError.TOPIC_AUTHORIZATION_FAILED)


def limit(size: int) -> dict[str, str]:
    return {"max.message.bytes": str(size)}


def test_a_plan_has_the_size_limits_of_its_topics() -> None:
    plan = ensure_topics(PLAN, described({"a": limit(9_000_000), "b": limit(20_000), "dead": limit(5_000_000)}))
    assert [cache.topic_bytes for cache in plan.caches] == [9_000_000, 20_000]
    assert (plan.max_batch_bytes, plan.max_letter_bytes) == (20_000, 5_000_000)


def test_an_unknown_size_limit_stays_open() -> None:
    plan = ensure_topics(PLAN, described({"a": HIDDEN, "b": limit(2_000), "dead": HIDDEN}))
    assert [cache.topic_bytes for cache in plan.caches] == [None, 2_000]
    assert (plan.max_batch_bytes, plan.max_letter_bytes) == (2_000, 0)
    assert slot_opener(plan, cast(Any, None), cast(Any, None), Owner(1)).producer == {}
    assert TransferPlan.from_json(plan.to_json()) == plan
    limits = SizeLimit(1_000_000, "none")
    assert [list(limits.exceeded(RECORDS, cache.topic, cache.topic_bytes)) for cache in plan.caches] == [[], [1, 3]]


def test_a_plan_of_a_comparison_has_the_size_limits_of_the_topics_that_exist() -> None:
    plan = with_size_limits(PLAN, described({"b": limit(2_000), "dead": limit(5_000_000)}))
    assert [cache.topic_bytes for cache in plan.caches] == [None, 2_000]
    assert (plan.max_batch_bytes, plan.max_letter_bytes) == (2_000, 5_000_000)


def test_no_limit_is_guessed_where_a_broker_does_not_answer() -> None:
    with pytest.raises(KafkaUnavailable):
        ensure_topics(PLAN, described({"a": refused(KafkaError._TIMED_OUT), "b": {}, "dead": {}}))


def test_a_stored_limit_is_dropped_without_the_right_to_see_it() -> None:
    plan = replace(PLAN, caches=tuple(replace(cache, topic_bytes=1) for cache in PLAN.caches))
    assert {cache.topic_bytes for cache in ensure_topics(plan, described({**dict.fromkeys(("a", "b", "dead"), HIDDEN)})).caches} == {None}


def test_no_topic_is_created_for_a_cache_whose_records_have_topics_of_their_own() -> None:
    first, second = PLAN.caches
    plan = ensure_topics(replace(PLAN, caches=(replace(first, one_topic=False), second)), described({"b": {}, "dead": {}}))
    assert plan.caches[0] == replace(first, one_topic=False)
    assert plan.caches[1].topic_id


def shared(policy: str | None) -> TransferPlan:
    """Run with two caches in one topic of this policy; None: the user may not see it."""
    settings = replace(PLAN.settings, cache_header="cache", dead_letter_topic="", error_handling_policy="STOP_TASK")
    caches = tuple(replace(cache, topic="shop") for cache in PLAN.caches)
    topics = described({"shop": HIDDEN if policy is None else {"cleanup.policy": policy}})
    return ensure_topics(replace(PLAN, settings=settings, caches=caches), topics)


def test_caches_may_share_a_topic_that_keeps_all_their_records() -> None:
    plan = shared("delete")
    assert {(cache.name, cache.topic_id, cache.topic_partitions) for cache in plan.caches} == {("a", "id-shop", 2), ("b", "id-shop", 2)}


@pytest.mark.parametrize(
    ("policy", "what"), [("compact", "is compacted"), ("delete,compact", "is compacted"), (None, "may not see whether the topic")]
)
def test_caches_share_no_compacted_topic(policy: str | None, what: str) -> None:
    with pytest.raises(TopicError, match=what):
        shared(policy)
