"""Types of a source's types topic are registered before a record that needs them, with as few reads of the topic as possible."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from ignite_kafka import events
from ignite_kafka.errors import TypeClash
from ignite_kafka.ignite.binary.row_values import EnumValue
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, class_id
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.sink.record_types import RecordTypes, TypesGrown
from ignite_kafka.state.types_topic import write_types, write_uses
from tests.support import emitted_events
from tests.support.converters import converter
from tests.support.ignite_bytes import CACHE, Types, binary, collection, enum, number, page, string
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, record_converter, rules
from tests.support.types_log import NAME, TypesLog

BINARY = rules("ignite-binary", "ignite-binary")


@dataclass
class Cluster(GrowingTypes):
    """The cluster of a sink; counts how often its cached types are dropped."""

    forgotten: int = 0

    def forget_types(self) -> None:
        self.forgotten += 1


@pytest.fixture
def log() -> TypesLog:
    emitted_events.reset()
    return TypesLog()


class Sink:
    """The conversion of a sink whose cluster has no types at first."""

    def __init__(self, log: TypesLog) -> None:
        self.cluster = Cluster()
        self.record_types = RecordTypes(cast(Any, self.cluster), log.topic)
        self.converter = record_converter(CacheInfo("sunk", 1), self.cluster, BINARY, self.record_types)

    def store(self, entries: list[tuple[bytes, bytes]], types: Types) -> tuple[list[Any], list[str]]:
        """Values of entries that a source sent, and the reasons of bad records."""
        records = converter("ignite-binary").convert([page(entries)], CACHE, types)
        self.record_types.new_batch()
        found = self.converter.convert(consumed(records.values.to_pylist(), records.keys.to_pylist()))
        return [value for _, value in decoded(found, self.cluster)], [bad.reason for bad in found.bad]


def source() -> tuple[Types, list[BinaryType], tuple[bytes, bytes]]:
    types = Types()
    color = types.add("Color", {}, enum=("RED", "BLUE"))
    part = types.add("Part", {"n": codes.LONG})
    key = types.add("Key", {"id": codes.LONG, "region": codes.STRING})
    types.known[key.type_id] = key = replace(key, affinity_field="region")
    car = types.add("Car", {"color": codes.ENUM, "parts": codes.COLLECTION, "part": codes.OBJECT})
    one = binary(part, {"n": number(codes.LONG, 7)})
    red = enum(EnumValue(color.type_id, 1, ""))
    entry = (
        binary(key, {"id": number(codes.LONG, 1), "region": string("eu")}),
        binary(car, {"color": red, "parts": collection([one]), "part": one}),
    )
    return types, [color, part, key, car], entry


def test_every_type_within_a_record_is_registered_before_it_is_put(log: TypesLog) -> None:
    types, kinds, entry = source()
    log.write(types, *kinds)
    sink = Sink(log)
    values, bad = sink.store([entry, entry], types)
    assert not bad
    assert sink.cluster.known == types.known
    assert values[0].fields["part"].fields == {"n": 7}
    assert emitted_events.counts()[events.TYPE_REGISTERED.id] == 4

    assert not sink.store([entry], types)[1]
    assert log.reads == 1


def test_a_type_that_grows_while_both_run_is_registered_again(log: TypesLog) -> None:
    types = Types()
    first = types.add("T", {"a": codes.LONG})
    log.write(types, first)
    sink = Sink(log)
    sink.store([(number(codes.LONG, 1), binary(first, {"a": number(codes.LONG, 1)}))], types)

    second = types.add("T", {"a": codes.LONG, "b": codes.STRING}, ["a"], ["a", "b"])
    log.write(types, second)
    values, bad = sink.store([(number(codes.LONG, 2), binary(second, {"a": number(codes.LONG, 1), "b": string("x")}))], types)
    assert (bad, values[0].fields) == ([], {"a": 1, "b": "x"})
    assert sink.cluster.known[first.type_id].schemas.keys() == second.schemas.keys()


def test_an_enum_that_grows_is_registered_again(log: TypesLog) -> None:
    types = Types()
    log.write(types, types.add("Color", {}, enum=("RED",)))
    sink = Sink(log)
    color = types.known[next(iter(types.known))]
    sink.store([(number(codes.LONG, 1), enum(EnumValue(color.type_id, 0, "")))], types)
    grown = types.add("Color", {}, enum=("RED", "BLUE"))
    log.write(types, grown)
    assert not sink.store([(number(codes.LONG, 1), enum(EnumValue(color.type_id, 1, "")))], types)[1]
    assert log.reads == 2
    assert sink.cluster.known[color.type_id].enum_values == {0: "RED", 1: "BLUE"}


def test_an_unknown_type_is_a_bad_record_and_is_looked_up_once_a_batch(log: TypesLog) -> None:
    types, kinds, entry = source()
    log.write(types, kinds[0])
    sink = Sink(log)
    values, bad = sink.store([entry] * 50, types)
    assert (len(values), len(bad), log.reads) == (0, 50, 1)
    assert "topic in-types has none either" in bad[0]


def test_an_unknown_schema_is_a_bad_record(log: TypesLog) -> None:
    types = Types()
    log.write(types, types.add("T", {"a": codes.LONG}))
    sink = Sink(log)
    grown = types.add("T", {"a": codes.LONG, "b": codes.STRING}, ["a"], ["a", "b"])
    values, bad = sink.store([(number(codes.LONG, 2), binary(grown, {"a": number(codes.LONG, 1), "b": string("x")}))] * 20, types)
    assert (len(values), len(bad)) == (0, 20)
    assert "The metadata of T has no schema" in bad[0]
    assert sink.cluster.forgotten == 1


@pytest.mark.parametrize(
    ("held", "both"),
    [
        ({"a": codes.STRING}, r"T \(a String\); topic in-types holds T \(a long\)"),
        ({}, r"is an enum in the cluster, and no enum is to be written.*T as an enum \(A = 0\)"),
    ],
)
def test_a_clash_names_the_type_and_both_forms(log: TypesLog, held: dict[str, int], both: str) -> None:
    types = Types()
    kind = types.add("T", {"a": codes.LONG, "b": codes.LONG})
    log.write(types, kind)
    sink = Sink(log)
    Types.add(cast(Any, sink.cluster), "T", held, enum=() if held else ("A",))
    entry = number(codes.LONG, 2), binary(kind, {"a": number(codes.LONG, 1), "b": number(codes.LONG, 1)})
    with pytest.raises(TypeClash, match=both.replace("(a long", "(a long, b long")) as raised:
        sink.store([entry], types)
    assert raised.value.where["types_topic"] == "in-types"


def test_what_records_introduce_is_read_from_the_topic_first(log: TypesLog) -> None:
    types = Types()
    log.write(types, first := types.add("T", {"a": codes.INT}))
    cluster = Cluster()
    record_types = RecordTypes(cast(Any, cluster), log.topic)
    assert record_types.binary_type(first.type_id) == first

    learned = Types().add("T", {"a": codes.INT, "b": codes.LONG})  # as JSON's 1 is learned
    log.write(types, types.add("T", {"a": codes.INT, "b": codes.SHORT}, ["a"], ["a", "b"]))
    record_types.new_batch()
    with pytest.raises(TypesGrown):
        record_types.register(learned)
    assert {one.name: one.type_code for one in cluster.known[first.type_id].fields} == {"a": codes.INT, "b": codes.SHORT}
    with pytest.raises(TypeClash):  # converted again, the records have the type of the source
        record_types.register(learned)

    more = Types().add("T", {"a": codes.INT, "c": codes.LONG})  # the source does not describe it: another program wrote the record
    record_types.new_batch()
    assert {one.name for one in record_types.register(more).fields} == {"a", "b", "c"}


def test_all_types_of_a_topic_are_registered_before_its_first_record(log: TypesLog) -> None:
    types, kinds, (key, value) = source()
    records = converter("json").convert([page([(key, value)])], CACHE, types)
    write_uses(log.writer, NAME, "data", records, types)
    write_uses(log.writer, NAME, "data", records, types)
    write_uses(log.writer, NAME, "other", converter("ignite-binary").convert([page([(key, key)])], CACHE, types), types)
    cluster = Cluster()
    record_types = RecordTypes(cast(Any, cluster), log.topic)
    uses = record_types.register_used("data")
    assert uses == records.uses
    assert {use.side: use.name for use in uses if not use.path} == {"key": "Key", "value": "Car"}
    assert cluster.known == types.known
    assert {use.name for use in record_types.register_used("other")} == {"Key"}
    assert record_types.register_used("neither") == frozenset()
    assert log.reads == 1
    assert len({key for key, _ in log.records}) == len(log.records), "each once a slot"
    assert {kind.name for kind in kinds} == {"Color", "Part", "Key", "Car"}


def test_a_class_without_a_binary_type_is_registered_before_it_is_put(log: TypesLog) -> None:
    types, name_hash = Types(), java_hash("org.acme.Mine")
    mine = types.known[class_id(name_hash)] = BinaryType(class_id(name_hash), "org.acme.Mine")
    payload = b"f" + struct.pack("<ih", name_hash, 0) + b"any"
    entry = number(codes.LONG, 1), b"\xfe" + struct.pack("<i", len(payload)) + payload
    sink = Sink(log)
    records = converter("ignite-binary").convert([page([entry])], CACHE, types)
    bad = sink.converter.convert(consumed(records.values.to_pylist(), records.keys.to_pylist())).bad
    assert "topic in-types has none either" in bad[0].reason
    write_types(log.writer, NAME, records.type_ids, types)
    sink.record_types.new_batch()
    assert not sink.converter.convert(consumed(records.values.to_pylist(), records.keys.to_pylist())).bad
    assert sink.cluster.known == {mine.type_id: mine}
