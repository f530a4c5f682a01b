"""Records of internal topics that cannot be read: those that decide what is sent end the run, any other is passed over with an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.errors import IgniteKafkaError, NewerFormat, OffsetsLost
from ignite_kafka.plan.sink_offsets import PartitionKey
from ignite_kafka.plan.slots import Owner, SlotKey, SlotState, UnitKey, UnitOffset
from ignite_kafka.state.configs import ConnectorFold, connector_generation, epoch_of
from ignite_kafka.state.internal_records import FORMAT, FORMAT_HEADERS, InternalRecord, format_of
from ignite_kafka.state.offsets import apply_offset_record, key_of, unit_of
from ignite_kafka.state.status import CacheStatus, RunStatus, TaskProgress, progress_of, run_of
from tests.support.event_log import Emitted, ids
from tests.support.fake_messages import FakeMessage, message, record

UNIT, OFFSET = UnitKey("c", "a", 3), UnitOffset(2, "i", "s", True, 9)
RUN = RunStatus("COMPLETED", "c", "r1", caches={"a": CacheStatus("t", 1)})


def folded(value: bytes, format: int = FORMAT, key: bytes = b'["connector","c"]') -> None:
    ConnectorFold("c").add(record(key, value, format))


def followed(value: bytes, format: int = FORMAT) -> None:
    connector_generation("c", record(b'["connector","c"]', value, format))


@pytest.mark.parametrize("key", [None, b"", b"no JSON", b"{}", b"7", b"[]", b'["run"]', b'["run",5,"r"]', b"\xff"])
def test_a_key_of_another_program_is_skipped(key: bytes | None, emitted: Emitted) -> None:
    for _ in range(2):
        assert InternalRecord.of(message(key, b"{}")) is None
    assert ids(emitted) == [events.RECORD_SKIPPED.id], "reported once"


@pytest.mark.parametrize("read", [folded, followed])
@pytest.mark.parametrize(
    ("value", "format", "error"),
    [
        (b'{"generation":4}', 2, NewerFormat),
        (b"no JSON", 1, OffsetsLost),
        (b"7", 1, OffsetsLost),
    ],
)
def test_who_owns_a_connector_is_never_skipped(
    read: Callable[[bytes, int], None], value: bytes, format: int, error: type[IgniteKafkaError]
) -> None:
    with pytest.raises(error) as refused:
        read(value, format)
    assert (refused.value.where["topic"], refused.value.where["offset"]) == ("p-internal", 7)


@pytest.mark.parametrize("value", [b'{"plan":{}}', b"{}"])
def test_a_snapshot_without_an_id_is_never_skipped(value: bytes) -> None:
    with pytest.raises(OffsetsLost, match="snapshot record of connector 'c' cannot be read"):
        folded(value, key=b'["snapshot","c"]')
    with pytest.raises(NewerFormat):
        folded(b'{"complete":true}', 2, b'["snapshot","c","s"]')


@pytest.mark.parametrize(("value", "format"), [(b"no JSON", 1), (b"[1]", 1), (b'{"generation":1,"epoch":2}', 2)])
def test_an_epoch_that_cannot_be_read_ends_no_task(value: bytes, format: int, emitted: Emitted) -> None:
    assert epoch_of("c", record(b'["epoch","c"]', value, format)) == (0, 0)
    assert ids(emitted) == [events.RECORD_SKIPPED.id]


def test_arun_of_a_newer_version_is_read_without_its_new_fields() -> None:
    newer = RUN.to_json().replace(b'"state"', b'"colour":"red","state"').replace(b'"topic"', b'"offset":4,"topic"')
    assert run_of(record(b'["run","c","r1"]', newer, None)) == RUN
    progress = TaskProgress(1, 2, True, {})
    told = progress_of(record(b'["progress","c",0]', progress.to_json().replace(b'"epoch"', b'"colour":1,"epoch"')))
    assert told == progress


@pytest.mark.parametrize("read", [run_of, progress_of])
@pytest.mark.parametrize(
    ("value", "format"),
    [(b"no JSON", 1), (b"5", 1), (b'{"connector":"c"}', 1), (b'{"state":"x","connector":"c","run_id":"r","caches":[]}', 1), (b"{}", 2)],
)
def test_a_status_that_cannot_be_read_ends_nobody(
    read: Callable[[InternalRecord], object], value: bytes, format: int, emitted: Emitted
) -> None:
    assert read(record(b'["run","c","r1"]', value, format)) is None
    assert ids(emitted) == [events.RECORD_SKIPPED.id]


def test_an_offset_of_a_newer_format_is_refused() -> None:
    for key in (UNIT, SlotKey("c", 3), PartitionKey("c", "t", 1)):
        with pytest.raises(NewerFormat, match="give it a new name"):
            apply_offset_record(SlotState(3), message(key.to_json(), b"{}", 2))


@pytest.mark.parametrize("bad", [message(b"no key", b"{}"), message(b'["c",{"slot":3}]', b"{}"), message(None, None)])
def test_what_stands_for_no_unit_is_skipped(bad: Any, emitted: Emitted) -> None:
    state = SlotState(3)
    apply_offset_record(state, message(SlotKey("c", 3).to_json(), Owner(5).to_json()))
    apply_offset_record(state, bad)
    assert (state.owner, state.units, ids(emitted)) == (Owner(5), {}, [events.RECORD_SKIPPED.id])
    assert unit_of(bad) is None
    assert isinstance(key_of(bad), SlotKey | None)


def test_a_unit_that_cannot_be_read_names_the_command_that_forgets_it() -> None:
    state = SlotState(3)
    apply_offset_record(state, message(UNIT.to_json(), OFFSET.to_json(), None))
    state.check("c")
    for value in (b"no JSON", b"{}", b"7", b'{"generation":1,"incarnation":"i","snapshot":null,"ranges":[5]}'):
        apply_offset_record(state, message(UNIT.to_json(), value))
        assert state.units == {}
        with pytest.raises(OffsetsLost, match="`ignite-kafka offsets reset c --cache a --partition 3`"):
            state.check("c")
    apply_offset_record(state, message(UNIT.to_json(), None))  # that command
    state.check("c")


def test_the_format_is_in_a_header_that_0_1_0_does_not_see() -> None:
    assert format_of(message(b"k", b"v", None)) == 1
    assert format_of(message(b"k", b"v", 12)) == 12
    assert (FORMAT, FORMAT_HEADERS) == (1, [("ignite_kafka.format", b"1")])
    for value in (None, b"", b"x", b"-2"):
        assert format_of(FakeMessage(b"k", b"v", [("ignite_kafka.format", value)])) == 1  # type: ignore[arg-type]
