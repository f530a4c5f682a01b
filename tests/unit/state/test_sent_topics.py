"""A run goes on only in the topic that holds what its offsets count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ignite_kafka import events
from ignite_kafka.errors import TopicError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.plan.slots import SlotState, UnitKey, UnitOffset
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import SnapshotRecord
from ignite_kafka.state.sent_topics import check_complete, check_plan, check_units
from tests.support import emitted_events
from tests.support.fake_topics import described

NOW = CachePlan("trades", 1, "p.trades", 8, 2, "7", topic_id="id-p.trades")
OLD = replace(NOW, topic_id="old")
PLAN = TransferPlan("c", "s", 3, 2, SourceSettings(name="c", bootstrap_servers="kafka:9092", failover_policy="BACKLOG"), (NOW,))
SENT = UnitOffset(2, "7", "s", True, 9, 4, topic_id="old")
COMMAND = r"`ignite-kafka offsets reset c --cache trades --kafka kafka:9092 --internal-topic-prefix ignite-kafka`, then start the connector"


def record(cache: CachePlan, snapshot_id: str = "s") -> SnapshotRecord:
    return SnapshotRecord(snapshot_id, replace(PLAN, caches=(cache,)).to_dict())


GROWN = record(replace(OLD, topic_id=NOW.topic_id, topic_partitions=1))


def check(plan: TransferPlan, before: SnapshotRecord | None, offset: UnitOffset | None, *existing: str) -> None:
    def slots(*_: object) -> Iterator[SlotState]:
        state = SlotState(0)
        if offset is not None:
            state.apply(UnitKey("c", "trades", 4).to_json(), offset.to_json())
        yield state

    check_plan(plan, before, KafkaClients({}), described({name: {} for name in existing}), slots)


def test_an_offset_counts_for_its_own_topic_alone() -> None:
    check_units(PLAN, NOW, {4: replace(SENT, topic_id=NOW.topic_id)})
    with pytest.raises(TopicError, match="deleted and made again") as caught:
        check_units(PLAN, NOW, {4: SENT})
    assert COMMAND in caught.value.remedy
    assert caught.value.where["known_topic_id"] == "old"


@pytest.mark.parametrize(
    "sent_again",
    [
        replace(SENT, done=False),
        replace(SENT, snapshot_id="earlier"),
        replace(SENT, incarnation="6"),
        replace(SENT, topic_id=""),  # 0.1.0 wrote none: the id of the first run after it counts
    ],
)
def test_what_is_sent_again_may_go_to_another_topic(sent_again: UnitOffset) -> None:
    check_units(PLAN, NOW, {4: sent_again})


@pytest.mark.parametrize(("existing", "why"), [((), "was deleted, and"), (("p.trades",), "deleted and made again")])
@pytest.mark.parametrize("offset", [SENT, replace(SENT, topic_id="")])
def test_a_run_that_goes_on_is_refused_before_a_topic_is_made(existing: tuple[str, ...], why: str, offset: UnitOffset) -> None:
    with pytest.raises(TopicError, match=why) as caught:
        check(PLAN, record(OLD), offset, *existing)
    assert COMMAND in caught.value.remedy


def test_it_goes_on_after_its_offsets_were_reset() -> None:
    check(PLAN, record(OLD), None)


def test_it_goes_on_in_the_same_topic_and_reads_no_offsets() -> None:
    for before in (None, record(NOW), record(replace(OLD, topic_id=""))):
        check_plan(PLAN, before, KafkaClients({}), described({"p.trades": {}}), lambda *_: pytest.fail("read"))


def test_a_cache_that_is_routed_to_another_topic_is_incomplete_there() -> None:
    with pytest.raises(TopicError, match=r"was sent to topic q\.trades until now"):
        check(PLAN, record(replace(OLD, topic="q.trades")), SENT, "p.trades")


def test_a_new_snapshot_fills_a_new_topic_and_says_so() -> None:
    emitted_events.reset()
    check(replace(PLAN, snapshot_id="new"), record(OLD), SENT)
    assert emitted_events.counts() == {events.TOPIC_REPLACED.id: 1}


def test_a_stream_does_not_go_on_in_a_topic_that_grew() -> None:
    """Before, keys changed partition in silence from the next start on."""
    changes_alone = replace(PLAN, caches=(replace(NOW, load=False),), settings=replace(PLAN.settings, load_initial_data=False))
    for plan, offset, remedy in (
        (PLAN, SENT, COMMAND),
        (changes_alone, None, "failover_policy FULL_SNAPSHOT"),
        (replace(PLAN, snapshot_id="new", caches=(replace(NOW, load=False),)), None, "failover_policy FULL_SNAPSHOT"),
    ):
        with pytest.raises(TopicError, match="has 2 partitions now, and had 1") as caught:
            check(plan, GROWN, offset, "p.trades")
        assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("plan", "offset"),
    [
        (replace(PLAN, snapshot_id="new"), None),
        (PLAN, None),  # after a reset of its offsets
        (PLAN, replace(SENT, incarnation="6")),  # the cache was destroyed and made again
    ],
)
def test_what_is_sent_again_to_a_topic_that_grew_is_told(plan: TransferPlan, offset: UnitOffset | None) -> None:
    emitted_events.reset()
    check(plan, GROWN, offset, "p.trades")
    assert emitted_events.counts() == {events.TOPIC_GREW.id: 1}


def test_policy_none_does_not_go_on_where_the_initial_load_is_lost() -> None:
    emitted_events.reset()
    unloaded = replace(PLAN, snapshot_id="new", caches=(replace(NOW, load=False),))
    with pytest.raises(TopicError, match="failover_policy FULL_SNAPSHOT"):
        check(unloaded, record(OLD), None)
    changes_alone = replace(unloaded, settings=replace(PLAN.settings, load_initial_data=False))
    check(changes_alone, record(OLD), None)
    assert emitted_events.counts() == {events.TOPIC_REPLACED.id: 1}


def test_entries_that_no_start_loads_are_sent_again_by_resend() -> None:
    with pytest.raises(TopicError, match="and run `ignite-kafka resend trades --name c --kafka kafka:9092"):
        check_units(PLAN, replace(NOW, load=False), {4: SENT})


def test_a_snapshot_whose_topic_is_gone_is_not_called_complete() -> None:
    check_complete(record(NOW), described({"p.trades": {}}))
    check_complete(SnapshotRecord("s", {}), described({}))
    for existing in ((), ("p.trades",)):
        with pytest.raises(TopicError, match="Begin a new snapshot"):
            check_complete(record(OLD), described({name: {} for name in existing}))
