"""A sink's cache is compared with what its topic's records make, folded by key, and repaired by the same entries."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.errors import RecordRefused
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.plan.sink_plan import SinkPlan, TopicPlan
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.entry_router import EntryRouter, RoutedEntries
from ignite_kafka.verification import sink_direction
from ignite_kafka.verification.direction import ComparedPair, Judged
from ignite_kafka.verification.job import VerifyJob
from ignite_kafka.verification.sink_direction import SinkDirection
from tests.support.bad_entries import long
from tests.support.ignite_bytes import binary, number, page, string
from tests.support.local_exchange import LocalExchange
from tests.support.randomness import examples
from tests.support.to_ignite_records import GrowingTypes, cache_of, record_converter, rules
from tests.support.types_log import NAME, TypesLog

FIELDS = {"id": "java.lang.Long", "symbol": "java.lang.String"}
CODES = {"id": codes.LONG, "symbol": codes.STRING}
PARTITIONS = 2
Record = tuple[bytes, bytes | None]


class Cluster(GrowingTypes):
    """A cluster of one cache."""

    info = cache_of(FIELDS)

    def cache(self, _: str) -> Any:
        return self.info

    def close(self) -> None:
        pass


class InMemory(SinkDirection):
    def __init__(self, types: Cluster, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.__dict__.update(cluster=types, clients=None)


@dataclass
class Case:
    """A topic's records by partition, and the entries of its cache."""

    records: Sequence[Sequence[Record]]
    entries: Mapping[bytes, bytes]
    types: Cluster = field(default_factory=Cluster)
    settings: dict[str, Any] = field(default_factory=lambda: {"process_updates": True})
    stored: list[tuple[Mapping[bytes, bytes], Sequence[bytes]]] = field(default_factory=list)
    committed: tuple[int, ...] = ()

    def job(self, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Judged:
        plan = SinkPlan("c", 0, 0, SinkSettings(name="c", topics=("t",), **self.settings), (TopicPlan("t", "id", "tested", PARTITIONS),))
        direction = InMemory(self.types, plan, Secrets(), limit=50, claim=cast(Any, "a claim"))
        monkeypatch.setattr(sink_direction, "EntryRouter", lambda *_: self)
        monkeypatch.setattr(sink_direction, "scan_partitions", lambda *_: iter([page(list(self.entries.items()), 0)]))
        monkeypatch.setattr(sink_direction, "topic_batches", lambda _clients, _pair, numbers, **columns: self._consumed(numbers, **columns))
        monkeypatch.setattr(sink_direction, "store_again", self._store_again)
        pair = ComparedPair("tested", "t", tuple((0, len(part)) for part in self.records), 1, committed=self.committed)
        first = not plan.settings.process_updates
        job = VerifyJob(LocalExchange, 2, [pair], lambda: direction, first_counts=first, buckets=2, limit=50, **more)
        (judged,) = job.run()
        return judged

    needs_times, needs_headers = False, False

    def begin_batch(self) -> None:
        """Do nothing, because no types are read."""

    def route(self, part: Consumed, _: Any) -> RoutedEntries:
        entries = record_converter(self.types.info, self.types).convert(part)
        return RoutedEntries([("tested", entries)], list(entries.bad))

    def _store_again(
        self, claim: Any, _clients: Any, _cluster: Any, _cache: str, put: Mapping[bytes, bytes], remove: Sequence[bytes]
    ) -> int:
        assert claim == "a claim"
        self.stored.append((put, remove))
        return len(put) + len(remove)

    def _consumed(self, numbers: Sequence[int], *, timed: bool, headers: bool) -> Iterator[Consumed]:
        assert (timed, headers) == (self.needs_times, self.needs_headers)
        for number_ in numbers:
            if part := self.records[number_]:
                keys, values = (pa.array(column, pa.binary()) for column in zip(*part, strict=True))
                yield Consumed("t", number_, keys, values, np.arange(len(part), dtype=np.int64))


def trade(types: Cluster, at: int, symbol: str, *, turned: bool = False) -> bytes:
    kind = types.register(Cluster().add("Trade", CODES, ["id", "symbol"], ["symbol", "id"]))
    fields = {"id": long(at), "symbol": string(symbol)}
    return binary(kind, dict(reversed(fields.items())) if turned else fields)


def record(at: int, symbol: str | None) -> Record:
    return b"%d" % at, None if symbol is None else b'{"id":%d,"symbol":"%s"}' % (at, symbol.encode())


SYMBOLS = st.sampled_from(["a", "b"])


@settings(max_examples=examples(80), suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.integers(0, 5), st.none() | SYMBOLS), max_size=12),
    st.dictionaries(st.integers(0, 6), st.tuples(SYMBOLS, st.booleans())),
    st.booleans(),
)
def test_the_job_finds_what_dictionaries_find(
    given_records: list[tuple[int, str | None]], held: dict[int, tuple[str, bool]], updates: bool
) -> None:
    types = Cluster()
    records: list[list[Record]] = [[], []]
    for at, symbol in given_records:
        records[at % 2].append(record(at, symbol))
    entries = {long(at): trade(types, at, symbol, turned=turned) for at, (symbol, turned) in held.items()}
    counting = [one for one in given_records if updates or one[1] is not None]
    expected = dict(counting if updates else counting[::-1])
    values = {at: symbol for at, (symbol, _) in held.items()}
    case = Case(records, entries, types, {"process_updates": updates})
    with pytest.MonkeyPatch.context() as patched:
        judged = case.job(patched, repair=True)
    result = judged.result
    put = {at for at, symbol in expected.items() if symbol is not None and values.get(at) != symbol}
    removed = {at for at, symbol in expected.items() if symbol is None and at in values}
    assert (result.entries, result.records) == (len(held), len(given_records))
    assert result.missing == len(put - values.keys())
    assert result.different == len(put & values.keys())
    assert result.unexpected == len(removed) + len(values.keys() - expected.keys())
    stored_keys = {key for some, _ in case.stored for key in some}, {key for _, some in case.stored for key in some}
    assert stored_keys == ({long(at) for at in put}, {long(at) for at in removed})
    assert judged.repaired == len(put) + len(removed)


def test_differences_name_keys_and_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    types = Cluster()
    entries = {long(1): trade(types, 1, "b"), long(2): trade(types, 2, "x"), long(9): trade(types, 9, "z")}
    case = Case([[record(3, "c"), record(2, None)], [record(1, "a")]], entries, types)
    found = "\n".join(case.job(monkeypatch).result.examples)
    assert "key 1: symbol is 'a' in the record, 'b' in the entry" in found
    assert "key 2: the last record removes the entry, which is there" in found
    assert "no entry of key 3" in found
    assert "an entry of key 9 of which the topic has no record" in found
    assert case.stored == [], "without a repair nothing is put"


def test_a_scalar_of_another_type_is_different(monkeypatch: pytest.MonkeyPatch) -> None:
    types = Cluster()
    case = Case([[record(1, "a")], []], {long(1): number(codes.INT, 1)}, types)
    assert case.job(monkeypatch).result.different == 1


@pytest.mark.parametrize(
    ("policy", "conversions", "value", "stops"),
    [
        ("STOP_TASK", "", b'{"id":"no number"}', True),
        ("LOG_ONLY", "", b'{"id":"no number"}', False),
        ("LOG_ONLY", "STOP_TASK", b'{"id":"no number"}', False),
        ("STOP_TASK", "LOG_ONLY", b'{"id":"no number"}', True),
        ("LOG_ONLY", "STOP_TASK", b'{"id":', True),
        ("STOP_TASK", "LOG_ONLY", b'{"id":', False),
    ],
)
def test_bad_records_are_skipped_or_end_the_comparison(
    policy: str, conversions: str, value: bytes, monkeypatch: pytest.MonkeyPatch, *, stops: bool
) -> None:
    policies = {"error_handling_policy": policy, "conversion_error_policy": conversions}
    case = Case([[(b"1", value), record(2, "b")], []], {}, settings=policies)
    if stops:
        with pytest.raises(RecordRefused):
            case.job(monkeypatch)
        return
    found = case.job(monkeypatch).result
    assert (found.missing, found.skipped, found.records) == (1, 1, 2)
    assert any("a record cannot be converted to an entry" in one for one in found.examples)


def test_a_record_that_stops_the_sink_ends_what_is_compared_of_uncommitted_records(monkeypatch: pytest.MonkeyPatch) -> None:
    types = Cluster()
    records = [[record(1, "a"), (b"2", b'{"id":'), record(1, "c"), (b"3", b'{"id":')], [record(4, "d")]]
    case = Case(records, {long(1): trade(types, 1, "a")}, types, {"process_updates": True}, committed=(1, 1))
    found = case.job(monkeypatch).result
    assert (found.records, found.missing, found.different) == (2, 1, 0)
    case.committed = (2, 1)
    with pytest.raises(RecordRefused):
        case.job(monkeypatch)


@dataclass
class Filtered(Case):
    """The conversion is the sink's own, with its filter and its order."""

    @property
    def needs_times(self) -> bool:  # type: ignore[override]
        return "where" in self.settings

    def job(self, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Judged:
        monkeypatch.setattr("ignite_kafka.sink.entry_router.ClusterTypes", lambda _: self.types)
        monkeypatch.setattr("ignite_kafka.sink.entry_router.TypesTopic", lambda *_: TypesLog().topic)
        return super().job(monkeypatch, **more)

    def route(self, part: Consumed, _: Any) -> RoutedEntries:
        made = SinkSettings(name="c", topics=("t",), **self.settings)
        plan = SinkPlan("c", 0, 0, made, (TopicPlan("t", "id", "tested", PARTITIONS),))
        router = EntryRouter(plan, cast(Any, self.types), cast(Any, None))
        assert router.needs_times == self.needs_times
        return router.route(replace(part, times_ms=1_000 * part.offsets))


RANKS = st.sampled_from([-(1 << 63), 0, (1 << 63) - 1])
ORDERED = {"process_updates": True, "delivery": "strict", "order_field": "ID", "types_topic": NAME, "error_handling_policy": "LOG_ONLY"}


@settings(max_examples=examples(80), suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.integers(0, 2), RANKS, st.none() | SYMBOLS, st.integers(0, 1)), max_size=12),
    st.dictionaries(st.integers(0, 3), st.tuples(RANKS, SYMBOLS)),
    st.randoms(),
)
def test_the_value_with_the_greatest_field_counts(
    given_records: list[tuple[int, int, str | None, int]], held: dict[int, tuple[int, str]], chance: Random
) -> None:
    """Of equal greatest fields, the last one of each partition may be the entry; removals are skipped.

    Most entries have the value of one of their key's records, whichever it is.
    """
    for key, rank, symbol, _ in chance.sample(given_records, len(given_records)):
        if symbol is not None:
            held[key] = rank, symbol
    types = Cluster()
    records: list[list[Record]] = [[], []]
    expected: dict[int, dict[int, tuple[int, str]]] = {}
    for at, rank, symbol, partition in given_records:
        records[partition].append((b"%d" % at, None if symbol is None else record(rank, symbol)[1]))
        if symbol is not None:
            of_key = expected.setdefault(at, {})
            greatest = max((held_rank for held_rank, _ in of_key.values()), default=rank)
            if rank > greatest:
                of_key.clear()
            if rank >= greatest:
                of_key[partition] = (rank, symbol)
    entries = {long(at): trade(types, rank, symbol) for at, (rank, symbol) in held.items()}
    with pytest.MonkeyPatch.context() as patched:
        result = Filtered(records, entries, types, ORDERED).job(patched).result
    different = {at for at, values in expected.items() if at in held and held[at] not in values.values()}
    assert (result.missing, result.different) == (len(expected.keys() - held.keys()), len(different))
    assert (result.unexpected, result.entries) == (len(held.keys() - expected.keys()), len(held))
    assert (result.skipped, result.records) == (sum(symbol is None for _, _, symbol, _ in given_records), len(given_records))


@pytest.mark.parametrize(("last", "accepted"), [(5, {"a", "d"}), (4, {"a"}), (6, {"d"})])
def test_only_equal_fields_of_two_partitions_have_no_order(last: int, accepted: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    types = Cluster()
    given = [[(5, "a"), (4, "b")], [(3, "c"), (last, "d")]]
    records = [[(b"1", record(rank, symbol)[1]) for rank, symbol in part] for part in given]
    for rank, symbol in (*given[0], *given[1]):
        case = Filtered(records, {long(1): trade(types, rank, symbol)}, types, ORDERED)
        assert case.job(monkeypatch).result.equal == (symbol in accepted), symbol


def test_records_that_the_filter_leaves_out_make_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of key 1 the last record that matches counts; key 3 never matches; the second record of a partition is too late."""
    types = Cluster()
    entries = {long(1): trade(types, 1, "b"), long(2): trade(types, 2, "b")}
    records = [[record(2, "b"), record(2, "b")], [record(1, "b"), record(1, "a"), record(3, "a")]]
    where = "symbol = 'b' AND _timestamp < TIMESTAMP '1970-01-01 00:00:01Z'"
    own = {"process_updates": True, "where": where, "types_topic": NAME}
    found = Filtered(records, entries, types, own).job(monkeypatch).result
    assert (found.equal, found.records, found.entries) == (True, 2, 2), found
    entries = {long(1): trade(types, 1, "a"), long(3): trade(types, 3, "a")}
    found = Filtered(records, entries, types, own).job(monkeypatch).result
    assert (found.missing, found.different, found.unexpected) == (1, 1, 1)


@pytest.mark.parametrize("updates", [True, False])
def test_records_of_a_key_in_several_partitions_have_no_order(updates: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sink may have stored the last, or first, record of any partition."""
    types = Cluster()
    records = [[record(1, "a"), record(1, "b")], [record(1, "c"), record(1, "d")]]
    mine = {"process_updates": updates}
    for symbol, equal in (("a", not updates), ("b", updates), ("c", not updates), ("d", updates), ("e", False)):
        case = Case(records, {long(1): trade(types, 1, symbol)}, types, mine)
        assert case.job(monkeypatch).result.equal == equal, symbol
    assert case.stored == []
    case.job(monkeypatch, repair=True)
    ((put, _),) = case.stored
    assert list(put) == [long(1)]
    assert string("d" if updates else "a") in put[long(1)], "a repair takes the last partition's, or the first one's"


def test_a_removal_in_another_partition_may_be_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    types = Cluster()
    records = [[record(1, "a"), record(1, None)], [record(1, "b")]]
    assert Case(records, {}, types).job(monkeypatch).result.equal
    assert Case(records, {long(1): trade(types, 1, "b")}, types).job(monkeypatch).result.equal
    assert Case(records, {long(1): trade(types, 1, "a")}, types).job(monkeypatch).result.different == 1


@dataclass
class InBinary(Case):
    """Records of keys and values in Ignite's binary format."""

    def route(self, part: Consumed, _: Any) -> RoutedEntries:
        entries = record_converter(self.types.info, self.types, rules("ignite-binary", "ignite-binary")).convert(part)
        return RoutedEntries([("tested", entries)], list(entries.bad))


def constant(code: int, ordinal: int) -> bytes:
    return struct.pack("<Bii", code, COLOR.type_id, ordinal)


COLOR = GrowingTypes().add("Color", {}, enum=["RED", "GREEN", "BLUE"])


def test_whole_enums_are_equal_in_both_of_their_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node gives back BINARY_ENUM for the ENUM that was put."""
    types = Cluster()
    types.register(COLOR)
    records = [[(constant(codes.ENUM, at), constant(codes.ENUM, at)) for at in range(3)], []]
    entries = {constant(codes.BINARY_ENUM, at): constant(codes.BINARY_ENUM, at) for at in range(3)}
    case = InBinary(records, entries, types)
    judged = case.job(monkeypatch, repair=True)
    assert (judged.result.equal, judged.result.entries, judged.result.records) == (True, 3, 3), judged.result
    assert case.stored == []
    case = InBinary(records, entries | {constant(codes.BINARY_ENUM, 0): constant(codes.BINARY_ENUM, 2)}, types)
    judged = case.job(monkeypatch, repair=True)
    assert (judged.result.different, judged.result.missing, judged.result.unexpected) == (1, 0, 0)
    assert case.stored == [({constant(codes.ENUM, 0): constant(codes.ENUM, 0)}, [])]
