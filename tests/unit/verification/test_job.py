"""The comparison as a job finds what the comparison row by row finds, whatever differs and however the work is cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka import transform_function
from ignite_kafka.errors import Fenced, TransformFailed, UnknownBinaryType, UnsupportedType
from ignite_kafka.ignite.binary import decode_rows
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.kafka.producer import size_limit
from ignite_kafka.plan.slots import Owner
from ignite_kafka.runtime.clients import slot_opener
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.verification import fingerprints, job, repair, source_direction
from ignite_kafka.verification.direction import Batch
from ignite_kafka.verification.entry_comparison import compare_last_records
from ignite_kafka.verification.fingerprint_join import join_fingerprints
from ignite_kafka.verification.key_slices import ALL
from ignite_kafka.verification.task import Share
from tests.support.bad_entries import long
from tests.support.ignite_bytes import binary, number, string
from tests.support.randomness import examples
from tests.support.verified_connector import PARTITIONS, Compared, Entry, OneCache, Record, copied

COUNTS = ("entries", "records", "repeated", "missing", "different", "unexpected", "other_bytes")
FIELDS = {"shop": codes.LONG, "name": codes.STRING}
OTHER_VALUES = st.sampled_from([None, b'{"shop":7,"name":"other"}', b"no JSON", b'{"name":"1","shop":1}', b'{ "shop":1,"name":"1"}'])
OTHER_KEYS = st.sampled_from([b"17", b'{"name":"x","shop":1}', b'{"shop":1,"name":"x","more":null}', b""])


@st.composite
def cases(draw: Any) -> Compared:
    """Entries of numbers and objects as keys, their records, and changes of these."""
    types = OneCache()
    key, value = types.add("Key", FIELDS), types.add("Value", FIELDS)
    numbers = draw(st.sets(st.integers(0, 9)))
    keys = [long(one) for one in numbers] + [
        binary(key, {"shop": long(one), "name": string("x")}) for one in draw(st.sets(st.integers(0, 3)))
    ]
    if draw(st.booleans()):
        keys.append(number(codes.BYTE, 3))  # may have the Kafka key of a long
    entries: list[Entry] = [(one, binary(value, {"shop": long(at), "name": string(str(at))})) for at, one in enumerate(keys)]
    records: list[Record] = copied(types, entries)
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["drop", "change", "add", "repeat"]))
        if kind == "add" or not records:
            records.append((draw(OTHER_KEYS), draw(OTHER_VALUES)))
            continue
        at = draw(st.integers(0, len(records) - 1))
        if kind == "drop":
            del records[at]
        elif kind == "change":
            records[at] = records[at][0], draw(OTHER_VALUES)
        else:
            records.append((records[at][0], draw(OTHER_VALUES)))
    in_cache = [entries[at::PARTITIONS] for at in range(PARTITIONS)]
    in_topic = [[record for record in records if sum(record[0]) % PARTITIONS == at] for at in range(PARTITIONS)]
    return Compared(types, in_cache, in_topic)


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(cases(), st.integers(1, 4), st.integers(1, 5), st.booleans())
def test_the_job_finds_what_the_comparison_row_by_row_finds(case: Compared, buckets: int, group_suspects: int, thorough: bool) -> None:
    expected = case.row_by_row()
    with pytest.MonkeyPatch.context() as patched:
        found = case.job(patched, buckets=buckets, group_suspects=group_suspects, thorough=thorough, limit=100).result
    assert {name: getattr(found, name) for name in COUNTS} == {name: getattr(expected, name) for name in COUNTS}
    expected.limit = 100
    kinds = {(one.kind, one.key) for one in found.noted}
    assert kinds >= {(one.kind, one.key) for one in expected.noted}
    assert [one.key for one in found.noted] == sorted(one.key for one in found.noted), "sorted by key"


def test_entries_of_a_key_with_very_many_records_are_found_in_small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """One key has nearly all records: they are counted, and one bucket gets neither all their fingerprints nor all their bytes."""
    sizes: list[int] = []

    def join_and_note(topic: Any, cache: Any, **more: Any) -> Any:
        sizes.append(len(topic))
        return join_fingerprints(topic, cache, **more)

    def judge_and_note(self: Any, pair: Any, topic: Any, *given: Any, **more: Any) -> Any:
        sizes.append(len(topic.zip_columns()))
        return judge(self, pair, topic, *given, **more)

    judge = source_direction.SourceDirection.judge
    monkeypatch.setattr(job, "join_fingerprints", join_and_note)
    monkeypatch.setattr(source_direction.SourceDirection, "judge", judge_and_note)
    case = equal_case(40)
    (records,) = case.records
    hot, other = records[7], (records[7][0], b'{"shop":0,"name":"old"}')
    case.records[0][:] = [*records[:7], *records[8:], *[other] * 20_000, hot]  # type: ignore[index]
    found = case.job(monkeypatch, buckets=16).result
    assert (found.equal, found.records, found.repeated, found.entries) == (True, 20_040, 20_000, 40)
    case.records[0].append(other)  # type: ignore[attr-defined]
    found = case.job(monkeypatch, buckets=16).result
    assert (found.different, found.records, found.repeated) == (1, 20_041, 20_001)
    assert max(sizes) < 100, sizes


def test_no_tombstones_are_sent_while_entries_cannot_be_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record may belong to the entry that can no longer be converted."""
    case = equal_case(10)
    unknown = OneCache().add("Unknown", FIELDS)
    case.records[0].append((b"77", b"was convertible"))  # type: ignore[attr-defined]
    sent: list[Record] = []

    def send_again(*given: Any) -> int:
        sent.extend(given[-1])
        return len(given[-1])

    monkeypatch.setattr(source_direction, "send_again", send_again)
    case.settings["error_handling_policy"] = "LOG_ONLY"
    bad = long(77), binary(unknown, {"shop": long(1), "name": string("x")})
    case.entries[0].append(bad)  # type: ignore[attr-defined]
    judged = case.job(monkeypatch, repair=True)
    assert (judged.result.skipped, judged.result.unexpected, judged.repaired, judged.equal) == (1, 1, 0, False)
    assert sent == []
    case.entries[0].remove(bad)  # type: ignore[attr-defined]
    assert case.job(monkeypatch, repair=True).repaired == 1


def equal_case(count: int = 200) -> Compared:
    types = OneCache()
    kind = types.add("Value", FIELDS)
    entries = [(long(at), binary(kind, {"shop": long(at), "name": string(str(at))})) for at in range(count)]
    return Compared(types, [entries], [copied(types, entries)])


def test_the_first_differences_by_key_are_described_with_their_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    case = equal_case(30)
    case.records[0][:] = [(key, b'{"shop":-1,"name":"%s"}' % key) for key, _ in case.records[0]]  # type: ignore[index]
    found = case.job(monkeypatch, limit=3).result
    assert (found.different, len(found.examples)) == (30, 3)
    assert [one.key for one in found.noted] == [b"0", b"1", b"10"]
    assert "key '1': shop is 1 in the entry, -1 in the record: the entry gives" in found.examples[1]


def test_a_sample_finds_about_its_share_of_the_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    case = equal_case(400)
    case.records[0][:] = []  # type: ignore[index]
    whole, part = case.job(monkeypatch).result, case.job(monkeypatch, slices=((0, 2_500),))
    assert (whole.missing, whole.entries, part.result.missing) == (400, 400, part.result.entries)
    assert 50 < part.result.missing < 150
    assert max(part.slices) < 2_500


@pytest.mark.parametrize("thorough", [False, True])
def test_entries_are_also_read_by_rows_which_share_no_code_with_the_converter(thorough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decoder of rows reads another value than the columns: of one of 256 entries it is seen, or of all."""
    case = equal_case(600)

    def other_rows(*given: Any) -> Any:
        for key, value in decode_rows(*given):
            value.fields["shop"] += 1
            yield key, value

    monkeypatch.setattr(source_direction, "decode_rows", other_rows)
    monkeypatch.setattr("ignite_kafka.verification.source_direction.compare_last_records", with_rows(other_rows))
    found = case.job(monkeypatch, thorough=thorough).result
    assert (found.different, found.entries) == (600 if thorough else 3, 600)


def with_rows(decode: Any) -> Any:
    def judge(result: Any, plan: Any, cache: Any, cluster: Any, last: Any, pages: Any) -> None:
        compare_last_records(result, plan, cache, cluster, last, pages, decode)

    return judge


def test_entries_that_cannot_be_converted_are_skipped_or_end_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    case = equal_case(10)
    unknown = OneCache().add("Unknown", FIELDS)
    case.entries[0].append((long(77), binary(unknown, {"shop": long(1), "name": string("x")})))  # type: ignore[attr-defined]
    with pytest.raises(UnknownBinaryType):
        case.job(monkeypatch)
    case.settings["conversion_error_policy"] = "LOG_ONLY"
    with pytest.raises(UnknownBinaryType):
        case.job(monkeypatch)
    case.settings |= {"error_handling_policy": "LOG_ONLY", "conversion_error_policy": "STOP_TASK"}
    found = case.job(monkeypatch).result
    assert (found.equal, found.entries, found.missing, found.skipped) == (True, 11, 0, 1)
    assert "an entry cannot be converted to a record" in found.examples[0]


def test_entries_that_are_too_large_for_the_topic_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    case = equal_case(10)
    kind = case.types.add("Value", FIELDS)
    case.entries[0].append((long(77), binary(kind, {"shop": long(1), "name": string("x" * 1_000_000)})))  # type: ignore[attr-defined]
    found = case.job(monkeypatch).result
    assert (found.missing, found.skipped) == (1, 0), "STOP_TASK skips nothing"
    case.settings["conversion_error_policy"] = "LOG_ONLY"
    found = case.job(monkeypatch).result
    assert (found.equal, found.entries, found.skipped) == (True, 11, 1)
    assert "larger than the producer's message.max.bytes" in found.examples[0]


def test_the_size_limit_is_that_of_the_runs_producers_which_take_large_dead_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a record between librdkafka's default and the dead-letter topic's limit, which a run sends, is expected, and can be repaired."""
    plan = replace(equal_case(1).plan, max_letter_bytes=1_048_588)
    clients: Any = SimpleNamespace(common={}, producer={})
    direction = source_direction.SourceDirection(plan, Secrets())
    direction.__dict__["clients"] = clients
    opener = slot_opener(plan, clients, cast(Any, None), Owner(1))
    assert direction.size_limit == size_limit(clients, opener.producer)
    assert direction.size_limit.message_bytes == 1_048_588
    made: list[dict[str, Any]] = []

    def producer(*_: Any, settings: dict[str, Any]) -> Any:
        made.append(settings)
        raise Fenced("no more is needed", "")

    monkeypatch.setattr(repair, "TransactionalProducer", producer)
    with pytest.raises(Fenced):
        repair.send_again(
            plan, cast(Any, SimpleNamespace(transactional_id="id")), clients, cast(Any, None), plan.caches[0], [cast(Any, None)]
        )
    assert made == [{"batch.size": plan.max_batch_bytes, "message.max.bytes": 1_048_588}]


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(cases())
def test_what_a_repair_sends_makes_the_topic_equal(case: Compared) -> None:
    """All but two entries that have one Kafka key."""
    sent: list[Record] = []

    def send_again(_plan: Any, _claim: Any, _clients: Any, _cluster: Any, _cache: Any, records: Any) -> int:
        made = [pair for part in records for pair in zip(part.keys.to_pylist(), part.values.to_pylist(), strict=True)]
        sent.extend(made)
        return len(made)

    before = case.row_by_row()
    keys = [key for part in case.entries for key, _ in copied(case.types, part)]
    twice = {key for key in keys if keys.count(key) > 1}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(source_direction, "send_again", send_again)
        judged = case.job(patched, repair=True)
    assert judged.repaired == len(sent) == len({key for key, _ in sent})
    assert judged.equal == (not twice), before
    after = Compared(
        case.types, case.entries, [[*part, *sent] if at == len(case.records) - 1 else part for at, part in enumerate(case.records)]
    )
    found = after.row_by_row()
    in_topic = {key for part in case.records for key, _ in part}
    assert (found.missing, found.unexpected) == (len(keys) - len(set(keys)) + len(twice - in_topic), 0)
    assert found.different <= len(twice)


KAFKA = "org.apache.kafka.connect.transforms."


def filtered_case(count: int = 60, **settings: Any) -> Compared:
    """A cache of which every third entry is sent, with the fields that are selected."""
    types = OneCache()
    kind = types.add("Value", FIELDS)
    entries = [(long(at), binary(kind, {"shop": long(at % 3), "name": string(str(at))})) for at in range(count)]
    own = {"where": "shop = 1", "select": "name", **settings}
    in_cache = [entries[at::PARTITIONS] for at in range(PARTITIONS)]
    sent = copied(types, [entry for at, entry in enumerate(entries) if at % 3 == 1], **own)
    return Compared(types, in_cache, [sent], own)


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("schemas", ["false", "true"])
def test_entries_that_the_filter_leaves_out_are_not_compared(schemas: str, thorough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = filtered_case(value_converter_config={"schemas.enable": schemas})
    found = case.job(monkeypatch, thorough=thorough).result
    assert (found.equal, found.entries, found.records) == (True, 20, 20), found
    (records,) = case.records
    changed = [(key, b'{"name":"other"}') for key, _ in records[:2]]
    case.records[0][:] = [*changed, *records[3:], (b"3", b"left the filter"), (b"0", None)]  # type: ignore[index]
    found = case.job(monkeypatch, thorough=thorough).result
    assert (found.different, found.missing, found.unexpected) == (2, 1, 1)
    expected = case.row_by_row()
    assert {name: getattr(found, name) for name in COUNTS} == {name: getattr(expected, name) for name in COUNTS}


def test_an_entry_for_which_the_filter_fails_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    case = filtered_case()
    case.entries[0].append((long(99), string("no object")))  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedType):
        case.job(monkeypatch)
    case.settings["error_handling_policy"] = "LOG_ONLY"
    found = case.job(monkeypatch).result
    assert (found.equal, found.entries, found.skipped) == (True, 21, 1)


def transformed_case(policy: str) -> Compared:
    """Entries of which the filter leaves four out, and of which a transform refuses one."""
    types = OneCache()
    cast = {"cast": {"type": f"{KAFKA}Cast$Value", "spec": "int32"}}
    values = [str(at) if at != 4 else "x" for at in range(12)]
    entries = [(long(at), string(value)) for at, value in enumerate(values)]
    own: dict[str, Any] = {
        "where": "_key >= 4", "transforms": ("cast",), "transform_config": cast, "error_handling_policy": policy,
        "overrides": {".*": {"topic": "t"}},
    }  # fmt: skip
    return Compared(types, [entries], [[(b"%d" % at, b"%d" % at) for at in range(5, 12)]], own)


def test_what_transforms_refuse_is_skipped_or_ends_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    found = transformed_case("LOG_ONLY").job(monkeypatch).result
    assert (found.equal, found.entries, found.skipped) == (True, 8, 1)
    with pytest.raises(TransformFailed):
        transformed_case("STOP_TASK").job(monkeypatch)


@transform_function
def without_five(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Drop the record of entry 5."""
    return batch.filter(pc.not_equal(batch["value"], "5"))


def test_the_entry_of_a_record_is_found_behind_entries_that_were_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suspects are read again: their bytes are those of their own entries, although filter and transforms leave others out."""
    case = transformed_case("LOG_ONLY")
    drop = {"drop": {"type": f"{__name__}:without_five"}}
    case.settings |= {"transforms": ("drop", "cast"), "transform_config": drop | case.settings["transform_config"]}
    case.records[0][:] = [(b"%d" % at, b"%d" % at) for at in (6, 7, 8, 9, 11)] + [(b"10", b"0")]  # type: ignore[index]
    found = case.job(monkeypatch).result
    assert (found.entries, found.skipped, found.different, found.unexpected) == (7, 1, 1, 0)  # entry 4 is refused
    assert any("key '10'" in text for text in found.examples), found.examples


def test_fingerprints_of_many_caches_are_held_up_to_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "_BLOCK_ROWS", 100)
    begun: list[int] = []

    def batches(*_: object) -> Iterator[tuple[int, Batch]]:
        for cache in range(10):
            begun.append(cache)
            yield cache, Batch(np.zeros(30, fingerprints.ROW), lambda at: (pa.nulls(len(at), pa.binary()), pa.nulls(len(at), pa.binary())))

    pairs = [SimpleNamespace(slices=ALL)] * 10
    blocks = job._read_fingerprints(cast(Any, SimpleNamespace(begin=nullcontext, read_batches=batches, pairs=pairs)), 1, Share(False, {}))
    first = next(blocks)
    assert begun == [0, 1, 2, 3]
    assert [number for _, (number, _) in (first, *blocks)] == list(range(10))
