"""Offsets of a sink: their layout, and where a partition goes on."""

from __future__ import annotations

import json

import pytest

from ignite_kafka.errors import RecordsLost, SettingsError, TopicError
from ignite_kafka.plan.sink_offsets import Log, PartitionKey, PartitionOffset, Start, check_group, start_of
from ignite_kafka.plan.slots import Owner, SlotKey, SlotState, UnitKey, UnitOffset, parse_key

LOG = Log("now", 10, 50)


def test_the_layout_is_that_of_connect_s_rest_interface() -> None:
    key = PartitionKey("c", "t", 3)
    assert json.loads(key.to_json()) == ["c", {"kafka_topic": "t", "kafka_partition": 3}]
    assert parse_key(key.to_json()) == key
    offset = PartitionOffset(42, "id", 7)
    assert json.loads(offset.to_json()) == {"kafka_offset": 42, "topic_id": "id", "generation": 7}
    assert PartitionOffset.from_json(offset.to_json()) == offset
    ahead = PartitionOffset(42, "id", 7, put_limit=90)
    assert json.loads(ahead.to_json()) == {"kafka_offset": 42, "topic_id": "id", "generation": 7, "put_limit": 90}
    assert PartitionOffset.from_json(ahead.to_json()) == ahead
    assert PartitionOffset(42, "id", 7, put_limit=42).to_json() == offset.to_json()


FOREIGN = (None, "", "a note", "[1]", '{"topic_id":7,"offsets_topic":[]}', "{}", "[" * 4_000)


def test_metadata_tells_the_topic_and_another_program_s_does_not() -> None:
    assert PartitionOffset.of_group(5, PartitionOffset(5, "id").metadata("o")) == PartitionOffset(5, "id")
    for foreign in FOREIGN:
        assert PartitionOffset.of_group(5, foreign) == PartitionOffset(5)


def test_a_group_has_the_offsets_of_one_connector() -> None:
    ours, theirs = (PartitionOffset(5, "id").metadata(f"{prefix}-offsets-c") for prefix in ("a", "b"))
    for free in (ours, *FOREIGN, '{"topic_id":"id"}'):
        check_group("g", "a-offsets-c", {("t", 0): (5, ours), ("t", 1): (7, free)})
    with pytest.raises(SettingsError, match="its offsets topic is b-offsets-c, and this one's is a-offsets-c") as raised:
        check_group("g", "a-offsets-c", {("t", 0): (5, ours), ("t", 1): (7, theirs)})
    assert raised.value.where == {"group": "g", "topic": "t", "partition": 1, "offset": 7}
    assert "kafka-consumer-groups --group g --reset-offsets --to-current" in raised.value.remedy


def test_records_of_all_kinds_fold_beside_each_other() -> None:
    state = SlotState(0)
    state.apply(SlotKey("c", 0).to_json(), Owner(3, attempt=1).to_json())
    state.apply(UnitKey("c", "cache", 1).to_json(), UnitOffset(3, "i").to_json())
    for offset in (1, 2):
        state.apply(PartitionKey("c", "t", 3).to_json(), PartitionOffset(offset, "id", 3).to_json())
        state.apply(PartitionKey("c", "t", 4).to_json(), PartitionOffset(offset, "id", 3).to_json())
    state.apply(PartitionKey("c", "t", 4).to_json(), None)
    state.apply(PartitionKey("c", "t", 5).to_json(), None)
    assert state.by_topic == {("t", 3): PartitionOffset(2, "id", 3)}
    assert (state.owner, set(state.units)) == (Owner(3, attempt=1), {("cache", 1)})


@pytest.mark.parametrize(
    ("group", "copy", "begin", "start"),
    [
        (PartitionOffset(20, "now"), PartitionOffset(15, "now"), None, Start(20)),
        (PartitionOffset(20), PartitionOffset(15, "before"), None, Start(20)),
        (None, PartitionOffset(15, "now"), 50, Start(15)),
        (None, None, None, Start(10)),
        (None, None, 50, Start(50)),
        (None, None, 5, Start(10)),
        (PartitionOffset(10, "now"), None, None, Start(10)),
        (PartitionOffset(50, "now"), None, None, Start(50)),
    ],
)
def test_the_group_s_offset_goes_before_the_copy_and_the_copy_before_the_beginning(
    group: PartitionOffset | None, copy: PartitionOffset | None, begin: int | None, start: Start
) -> None:
    for reset in ("none", "earliest", "latest"):
        assert start_of("t", 0, LOG, group, copy, begin, reset) == start


@pytest.mark.parametrize("known", [PartitionOffset(9, "now"), PartitionOffset(51, "now"), PartitionOffset(0)])
def test_what_is_gone_is_lost_or_passed_over(known: PartitionOffset) -> None:
    with pytest.raises(RecordsLost, match=f"next record to read is offset {known.offset}, and the partition") as lost:
        start_of("t", 4, LOG, known, None, None, "none")
    assert lost.value.where == {"topic": "t", "partition": 4, "offset": known.offset}
    assert start_of("t", 4, LOG, known, None, None, "earliest") == Start(10, known.offset)
    assert start_of("t", 4, LOG, None, known, None, "latest") == Start(50, known.offset)


@pytest.mark.parametrize(("group", "copy"), [(PartitionOffset(20, "before"), None), (None, PartitionOffset(20, "before"))])
def test_an_offset_of_another_topic_of_that_name_is_refused(group: PartitionOffset | None, copy: PartitionOffset | None) -> None:
    with pytest.raises(TopicError, match="deleted and made again") as refused:
        start_of("t", 4, LOG, group, copy, None, "earliest")
    assert refused.value.where == {"topic": "t", "partition": 4, "topic_id": "now", "known_topic_id": "before"}
