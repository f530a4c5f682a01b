"""Records of another program in the internal topics: readers ignore them or, where delivery depends on one, refuse that connector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.common.typed_json import MOST_MILLISECONDS
from ignite_kafka.errors import IgniteKafkaError, OffsetsLost
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.plan.sink_offsets import PartitionKey, PartitionOffset
from ignite_kafka.plan.slots import Owner, SlotKey, SlotState, UnitKey, UnitOffset
from ignite_kafka.runtime.counts import add_counts, counts_of
from ignite_kafka.state import internal_records, status
from ignite_kafka.state.comparisons import comparison_of
from ignite_kafka.state.configs import ConnectorFold, capture_secret_of, connector_generation, epoch_of
from ignite_kafka.state.internal_records import InternalRecord, format_of, written_ms
from ignite_kafka.state.offsets import apply_offset_record, key_of, unit_of
from ignite_kafka.state.signal_records import SignalCount, SignalReport
from ignite_kafka.state.signals import SignalFold
from ignite_kafka.state.status import CacheCount, CacheStatus, RunStatus, TaskProgress, progress_of, run_of
from ignite_kafka.state.target_state import target_of
from tests.support.event_log import Emitted, ids
from tests.support.fake_messages import FakeMessage, message, record
from tests.support.hostile_records import JSON, KEYS, ODD, VALUES, encoded
from tests.support.randomness import examples

RUN = RunStatus("RUNNING", "c", "r", caches={"a": CacheStatus("t", 5)})
PROGRESS = TaskProgress(3, 1, True, {"a": CacheCount(5, 6, 7)}, signal=SignalReport("s", {"a": SignalCount(2, 1, 5)}))
UNIT, OFFSET = UnitKey("c", "a", 3), UnitOffset(2, "i", "s", True, 9, 4, "", (1, 2), ((3,),), 5, 6, "id", 7, 8, ("signal", 9))
KINDS = ["run", "verify", "progress", "connector", "snapshot", "epoch", "secret", "target", "signal"]


class Timed(FakeMessage):
    def __init__(self, key: bytes | None, value: bytes | None, at_ms: int = 5) -> None:
        super().__init__(key, value)
        self._at_ms = at_ms

    def timestamp(self) -> tuple[int, int]:
        return 1, self._at_ms


def status_topic(monkeypatch: pytest.MonkeyPatch, *messages: FakeMessage) -> None:
    """Let the status topic have these records."""

    class Topics:
        def __init__(self, _clients: Any) -> None:
            pass

        def exists(self, _topic: str) -> bool:
            return True

        def ends(self, *_: Any) -> dict[int, int]:
            return {0: len(messages)}

    def read(*_: Any) -> Iterator[FakeMessage]:
        return iter(messages)

    monkeypatch.setattr(status, "Topics", Topics)
    monkeypatch.setattr(internal_records, "read_to_end", read)
    monkeypatch.setattr(status, "read_to", read)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_another_program_ends_no_reader_of_the_status_topic(monkeypatch: pytest.MonkeyPatch, key: bytes) -> None:
    good = Timed(b'["run","c","good"]', replace(RUN, run_id="good").to_json()), Timed(b'["progress","c",0]', PROGRESS.to_json())
    status_topic(monkeypatch, Timed(key, RUN.to_json()), *good, Timed(key, None))
    clients = KafkaClients({})
    runs = status.read_runs(clients, "p", "c")
    assert runs["good"].caches == RUN.caches
    assert all(isinstance(run_id, str) for run_id in runs)
    assert status.read_progress(clients, "p", "c") == {0: PROGRESS}
    run, at_ms = status.read_run_written(clients, "p", "c", "good")
    assert (run and run.caches, at_ms) == (RUN.caches, 5)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_of_another_type_is_no_status(value: bytes, emitted: Emitted) -> None:
    assert run_of(record(b'["run","c","r"]', value)) is None
    assert len(ids(emitted)) == 1


def test_a_status_at_the_limits_of_its_types_is_read_as_text_that_can_be_written() -> None:
    found = run_of(record(b'["run","c","r"]', encoded(ODD)))
    assert found is not None
    error = IgniteKafkaError.from_dict(dict(found.error or {}))
    assert (type(error).__name__, error.where["what"], error.where["self"]) == ("Fenced", "x", 1)
    for shown in (str(error), found.worker, found.state, *found.caches):
        shown.encode()


@pytest.mark.parametrize(
    "caches", [[], {"a": 5}, {"a": {"records": "x"}}, {"a": {"ended": 1e300}}, {"a": {"records": 1 << 62}}, {"a": {"bad": -1}}]
)
def test_progress_of_another_form_adds_nothing(caches: Any) -> None:
    assert progress_of(record(b'["progress","c",0]', encoded({"generation": 3, "epoch": 1, "loaded": True, "caches": caches}))) is None


def test_the_sum_of_the_largest_reports_is_a_status_that_is_read() -> None:
    most = TaskProgress(3, 1, True, {"a": CacheCount(1 << 53, 1 << 53, 1 << 53, 1 << 53, 0.0, 1e12)})
    told = progress_of(record(b'["progress","c",0]', most.to_json()))
    assert told == most
    counts = [counts_of(most)]
    run = replace(RUN, caches=add_counts({"a": CacheStatus("t")}, counts * 1_000))
    assert run_of(record(b'["run","c","r"]', run.to_json())) == run


@pytest.mark.parametrize(
    "value", [v for v in VALUES if not v.startswith(b'{"state"')] + [b'{"generation":"x"}', b'{"generation":1e30}', b'{"settings":5}']
)
def test_who_has_a_connector_is_refused_for_that_connector_alone(value: bytes) -> None:
    hostile = record(b'["connector","c"]', value)
    for read in (ConnectorFold("c").add, lambda one: connector_generation("c", one)):
        with pytest.raises(OffsetsLost) as refused:
            read(hostile)
        assert refused.value.where["offset"] == 7
    ConnectorFold("other").add(hostile)
    assert connector_generation("other", hostile) == 0


@pytest.mark.parametrize("end", [{"complete": 1}, {"superseded_by": []}, {"caches": []}, {"caches": {"a": {"records": "x", "topic": "t"}}}])
def test_the_end_of_a_snapshot_has_its_types(end: Any) -> None:
    with pytest.raises(OffsetsLost, match="cannot be read"):
        ConnectorFold("c").add(record(b'["snapshot","c","s"]', encoded(end)))


@pytest.mark.parametrize("key", [b'["snapshot","c",7]', b'["snapshot","c","x","y"]'])
def test_a_key_of_no_snapshot_is_skipped(key: bytes, emitted: Emitted) -> None:
    fold = ConnectorFold("c")
    fold.add(record(key, b"no JSON"))
    assert fold.state(0).ended == {}
    assert len(ids(emitted)) == 1


@pytest.mark.parametrize(
    "key",
    [
        *KEYS,
        b'["c",{"slot":"x"}]',
        b'["c",{"slot":true}]',
        b'["c",{"cache":[],"partition":1}]',
        b'[{},{"slot":1}]',
        b'["c",{"cache":"a","partition":1e30}]',
        b'["c","slot"]',
        b'["c",{"kafka_topic":"t","kafka_partition":[]}]',
    ],
)
def test_a_key_of_another_program_in_the_offsets_topic_is_skipped(key: bytes, emitted: Emitted) -> None:
    state = SlotState(3)
    apply_offset_record(state, message(key, OFFSET.to_json()))
    assert (state, key_of(message(key, None)), unit_of(message(key, OFFSET.to_json()))) == (SlotState(3), None, None)
    assert len(ids(emitted)) == 1


OFFSETS = [*VALUES[:6], b"{}", b'{"generation":1,"incarnation":"i","snapshot":null,"ranges":[[]]}']
WRONG: dict[str, list[Any]] = {
    "generation": ["x", 1e30, True],
    "incarnation": [5, None],
    "ranges": [5, [5], [[1]], [[0, "x"]]],
    "recent": [5],
    "sweep": [[1], "ab", [1, "x"]],
    "key_kinds": [5, [5], [["x"]]],
    "topology": ["x", 10**30],
    "topic_id": [5],
    "snapshot": [
        5,
        [1],
        {"id": 5, "done": True, "records": 1},
        {"id": "s", "done": 1, "records": 1},
        {"id": "s", "done": True, "records": "x"},
        {"id": "s", "done": True, "records": 1, "bad": -1},
        {"id": "s", "done": True, "records": 1 << 62},
    ],
}
ILL_TYPED = [
    encoded({"generation": 1, "incarnation": "i", "snapshot": None, "ranges": [], name: one}) for name in WRONG for one in WRONG[name]
]


@pytest.mark.parametrize("value", OFFSETS + ILL_TYPED)
def test_an_offset_of_another_form_is_refused_for_its_unit_alone(value: bytes) -> None:
    state = SlotState(3)
    apply_offset_record(state, message(UNIT.to_json(), value))
    assert (state.units, state.unreadable, unit_of(message(UNIT.to_json(), value))) == ({}, {("a", 3)}, None)
    with pytest.raises(OffsetsLost, match="offsets reset"):
        state.check("c")


@pytest.mark.parametrize("value", [*OFFSETS, b'{"generation":"x","attempt":0}', b'{"generation":1,"attempt":[]}', b'{"kafka_offset":-1}'])
@pytest.mark.parametrize("key", [SlotKey("c", 3).to_json(), PartitionKey("c", "t", 1).to_json()])
def test_owners_and_offsets_of_a_sink_have_their_types(key: bytes, value: bytes, emitted: Emitted) -> None:
    state = SlotState(3)
    apply_offset_record(state, message(key, value))
    assert state == SlotState(3)
    assert len(ids(emitted)) == 1


def test_what_this_program_writes_is_read() -> None:
    assert UnitOffset.from_json(OFFSET.to_json()) == OFFSET
    assert Owner.from_json(Owner(3, epoch=1, attempt=2).to_json()) == Owner(3, epoch=1, attempt=2)
    assert PartitionOffset.from_json(PartitionOffset(5, "id", 2).to_json()) == PartitionOffset(5, "id", 2)
    error = OffsetsLost("x" * 3_000_000 + "[" * 1_000, "\ud800", cache="a", value=float("nan"), at=[1]).to_dict()
    caches = {f"cache {number}": CacheStatus(f"topic {number}", number) for number in range(20_000)}
    large = replace(RUN, error=error, caches=caches)
    found = run_of(record(b'["run","c","r"]', large.to_json()))
    assert found is not None
    assert (found.caches, (found.error or {})["what"]) == (caches, error["what"])


@pytest.mark.parametrize("metadata", ["[" * 2_000, '{"topic_id":5}', '{"topic_id":["x"]}', "9" * 5_000, "[]", "x", '{"a":' * 800])
def test_metadata_of_a_group_of_another_form_names_no_topic(metadata: str) -> None:
    assert PartitionOffset.of_group(4, metadata) == PartitionOffset(4)


def test_format_and_time_of_any_form() -> None:
    assert format_of(FakeMessage(b"k", b"v", [("ignite_kafka.format", b"9" * 5_000)])) == 1  # type: ignore[arg-type]
    times = (-1, 0, 5, MOST_MILLISECONDS, MOST_MILLISECONDS + 1, (1 << 63) - 1)
    assert [written_ms(Timed(b"", b"", at_ms)) for at_ms in times] == [0, 0, 5, MOST_MILLISECONDS, 0, 0]  # type: ignore[arg-type]


KEY = st.builds(encoded, JSON) | st.builds(
    lambda kind, rest: encoded([kind, "c", *rest]), st.sampled_from(KINDS), st.lists(JSON, max_size=2)
)
READERS: list[Callable[[InternalRecord], Any]] = [
    run_of,
    progress_of,
    comparison_of,
    lambda one: epoch_of("c", one),
    lambda one: capture_secret_of("c", one),
    lambda one: target_of("c", one, 3),
    lambda one: SignalFold("c").add(one),
]


@given(KEY, st.builds(encoded, JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(ODD, JSON))))
@settings(max_examples=examples(500))
def test_any_json_ends_no_reader_and_gives_no_field_another_type(key: bytes, value: bytes) -> None:
    apply_offset_record(SlotState(3), message(key, value))
    assert unit_of(message(key, value)) is None or isinstance(key_of(message(key, value)), UnitKey)
    found = InternalRecord.of(message(key, value))
    if found is None:
        return
    found.name.encode()
    assert all(type(part) in (str, int) for part in found.rest)
    for read in READERS:
        read(found)
    if (run := run_of(found)) is not None:
        assert run_of(record(b'["run","c","r"]', run.to_json())) == run
    try:
        fold = ConnectorFold("c")
        fold.add(found)
        assert connector_generation("c", found) >= -(1 << 63)
    except OffsetsLost:
        assert found.name == "c"
