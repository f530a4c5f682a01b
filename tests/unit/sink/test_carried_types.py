"""Types that a source's types topic holds are registered before a record that names them; the topic is read no more than it must be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka import events
from ignite_kafka.convert import converter
from ignite_kafka.convert.to_ignite import Inbound, InboundRules
from ignite_kafka.errors import TypeClash
from ignite_kafka.ignite.binary.row_values import EnumValue
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo
from ignite_kafka.sink.carried_types import CarriedTypes
from ignite_kafka.state import types as module
from ignite_kafka.state.types import TypesTopic, type_from_json, type_key, type_to_json, write_types
from tests.support.codec_bytes import CACHE, Types, binary, collection, enum, number, page, string
from tests.support.inbound import GrowingTypes, consumed, decoded

BINARY = InboundRules("ignite-binary", "ignite-binary")


@dataclass
class Cluster(GrowingTypes):
    """The cluster of a sink, which counts what it is asked."""

    forgotten: int = 0

    def forget_types(self) -> None:
        self.forgotten += 1


@dataclass
class Log:
    """A types topic."""

    records: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    reads: int = 0

    def send_control(self, topic: str, key: bytes, value: bytes) -> None:
        assert topic == "in-types"
        self.records.append((key, value))

    def write(self, types: Types, *kinds: BinaryType) -> None:
        writer = SimpleNamespace(types_sent={}, send_control=self.send_control)
        write_types(cast(Any, writer), "in-types", {kind.type_id for kind in kinds}, types)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    log = Log()

    def read_to(_: Any, topic: str, ends: dict[int, int], starts: dict[int, int], *, committed: bool) -> Any:
        log.reads += 1
        assert (topic, ends, committed) == ("in-types", {0: len(log.records)}, False)
        for offset, (_, value) in list(enumerate(log.records))[starts[0] :]:
            yield SimpleNamespace(offset=lambda offset=offset: offset, value=lambda value=value: value)

    topics = SimpleNamespace(ends=lambda *_: {0: len(log.records)}, exists=lambda _: bool(log.records))
    monkeypatch.setattr(module, "Topics", lambda _: topics)
    monkeypatch.setattr(module, "read_to", read_to)
    events.reset_counts()
    return log


class Sink:
    """The conversion of a sink whose cluster knows nothing at first."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.carried = CarriedTypes(cast(Any, self.cluster), TypesTopic(cast(Any, None), "in-types"))
        self.inbound = Inbound(CacheInfo("sunk", 1), self.cluster, BINARY, self.carried)

    def store(self, entries: list[tuple[bytes, bytes]], types: Types) -> tuple[list[Any], list[str]]:
        """Values, and why records are bad, of entries that a source sent."""
        records = converter("ignite-binary").convert([page(entries)], CACHE, types)
        self.carried.new_batch()
        found = self.inbound.convert(consumed(records.values.to_pylist(), records.keys.to_pylist()))
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


def test_every_type_within_a_record_is_registered_before_it_is_put(log: Log) -> None:
    types, kinds, entry = source()
    log.write(types, *kinds)
    sink = Sink()
    values, bad = sink.store([entry, entry], types)
    assert not bad
    assert sink.cluster.known == types.known
    assert values[0].fields["part"].fields == {"n": 7}
    assert events.counts()[events.TYPE_REGISTERED.id] == 4

    assert not sink.store([entry], types)[1]
    assert log.reads == 1


def test_a_type_that_grows_while_both_run_is_registered_again(log: Log) -> None:
    types = Types()
    first = types.add("T", {"a": codes.LONG})
    log.write(types, first)
    sink = Sink()
    sink.store([(number(codes.LONG, 1), binary(first, {"a": number(codes.LONG, 1)}))], types)

    second = types.add("T", {"a": codes.LONG, "b": codes.STRING}, ["a"], ["a", "b"])
    log.write(types, second)
    values, bad = sink.store([(number(codes.LONG, 2), binary(second, {"a": number(codes.LONG, 1), "b": string("x")}))], types)
    assert (bad, values[0].fields) == ([], {"a": 1, "b": "x"})
    assert sink.cluster.known[first.type_id].schemas.keys() == second.schemas.keys()


def test_an_enum_that_grows_is_registered_again(log: Log) -> None:
    types = Types()
    log.write(types, types.add("Color", {}, enum=("RED",)))
    sink = Sink()
    color = types.known[next(iter(types.known))]
    sink.store([(number(codes.LONG, 1), enum(EnumValue(color.type_id, 0, "")))], types)
    grown = types.add("Color", {}, enum=("RED", "BLUE"))
    log.write(types, grown)
    assert not sink.store([(number(codes.LONG, 1), enum(EnumValue(color.type_id, 1, "")))], types)[1]
    assert log.reads == 2
    assert sink.cluster.known[color.type_id].enum_values == {0: "RED", 1: "BLUE"}


def test_a_type_that_nobody_holds_is_a_bad_record_and_asked_for_once_a_batch(log: Log) -> None:
    types, kinds, entry = source()
    log.write(types, kinds[0])
    sink = Sink()
    values, bad = sink.store([entry] * 50, types)
    assert (len(values), len(bad), log.reads) == (0, 50, 1)
    assert "topic in-types has none either" in bad[0]


def test_a_schema_that_nobody_holds_is_a_bad_record(log: Log) -> None:
    types = Types()
    log.write(types, types.add("T", {"a": codes.LONG}))
    sink = Sink()
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
def test_a_clash_names_the_type_and_both_forms(log: Log, held: dict[str, int], both: str) -> None:
    types = Types()
    kind = types.add("T", {"a": codes.LONG, "b": codes.LONG})
    log.write(types, kind)
    sink = Sink()
    Types.add(cast(Any, sink.cluster), "T", held, enum=() if held else ("A",))
    entry = number(codes.LONG, 2), binary(kind, {"a": number(codes.LONG, 1), "b": number(codes.LONG, 1)})
    with pytest.raises(TypeClash, match=both.replace("(a long", "(a long, b long")) as raised:
        sink.store([entry], types)
    assert raised.value.where["types_topic"] == "in-types"


def test_a_writer_sends_a_type_again_once_it_has_grown_and_no_form_takes_the_place_of_another() -> None:
    types, log = Types(), Log()
    writer = cast(Any, SimpleNamespace(types_sent={}, send_control=log.send_control))
    first = types.add("T", {"a": codes.LONG})
    for _ in range(2):
        write_types(writer, "in-types", {first.type_id}, types)
    second = types.add("T", {"b": codes.STRING, "a": codes.LONG}, ["a"], ["a", "b"])
    write_types(writer, "in-types", {first.type_id}, types)
    assert [type_from_json(value or b"") for _, value in log.records] == [first, second]
    assert len({key for key, _ in log.records}) == 2
    assert type_key(second) == type_key(replace(second, fields=second.fields[::-1]))


def test_records_of_older_and_newer_versions_are_read_and_others_passed_over(log: Log) -> None:
    types = Types()
    old, new = types.add("Old", {"a": codes.LONG}), types.add("New", {"b": codes.LONG})
    log.records += [
        (str(old.type_id).encode(), type_to_json(old)),
        (b"x", b"no JSON"), (b"x", b"[1]"), (b"x", b'{"type_id":1}'), (b"x", None),
        (type_key(new), type_to_json(new)[:-1] + b',"version":7}'),
    ]  # fmt: skip
    topic = TypesTopic(cast(Any, None), "in-types")
    topic.read()
    assert (topic.forms(old.type_id), topic.forms(new.type_id), topic.forms(1)) == ((old,), (new,), ())
    assert events.counts()[events.TYPE_NOT_READ.id] == 3
    topic.read()
    assert log.reads == 1

    log.records[:] = log.records[:1]  # deleted and made again
    topic.read()
    assert log.reads == 2
    assert topic.forms(old.type_id) == (old,)
