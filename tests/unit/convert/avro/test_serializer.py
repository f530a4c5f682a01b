"""The wire format, one registration for each schema, subjects, and what the registry's schema must be."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from ignite_kafka.convert.avro.options import AvroOptions
from ignite_kafka.convert.avro.serializer import AvroSerializer
from ignite_kafka.convert.connect.columns import ConnectColumn
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.registry.schema import AVRO, Reference, Registered, RegistrySchema, SubjectNames
from tests.support import emitted_events
from tests.support.avro_values import arrow, record, struct

T = ConnectType
LONG = ConnectSchema(T.INT64)
POINT = {"type": "record", "name": "a.Point", "fields": [{"name": "x", "type": "long"}]}
PLACE = {"type": "record", "name": "a.Place", "fields": [{"name": "at", "type": "a.Point"}]}
REFERENCED = {
    "a.Point": RegistrySchema(json.dumps(POINT), AVRO),
    "a.Place": RegistrySchema(json.dumps(PLACE), AVRO, (Reference("a.Point", "points", 1),)),
}


class Ids:
    """A registry that numbers schemas, or answers with one schema whatever is asked."""

    def __init__(self, strategy: str = "TopicNameStrategy", answer: Registered | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self._names, self._answer = SubjectNames(strategy, "value"), answer

    def subject(self, topic: str, record_name: str | None) -> str:
        return self._names.subject(topic, record_name)

    def registered(self, subject: str, schema: RegistrySchema) -> Registered:
        self.asked.append((subject, schema.text))
        return self._answer or Registered(0x01020300 + len(self.asked), schema)

    def referenced(self, reference: Reference) -> RegistrySchema:
        return REFERENCED[reference.name]

    def latest(self, subject: str) -> RegistrySchema:
        raise AssertionError("nothing was refused")


def test_a_value_is_a_zero_byte_the_id_and_the_body() -> None:
    ids = Ids()
    serializer = AvroSerializer(ids, AvroOptions())
    column = ConnectColumn(pa.array([1, None, -1]), ConnectSchema(T.INT64, True))
    assert serializer.serialize(column, "t").to_pylist() == [b"\x00\x01\x02\x03\x01\x02\x02", None, b"\x00\x01\x02\x03\x01\x02\x01"]
    serializer.serialize(column, "t")
    assert ids.asked == [("t-value", '["null","long"]')]
    serializer.serialize(column, "other")
    assert [subject for subject, _ in ids.asked] == ["t-value", "other-value"]


def test_schemas_beyond_the_cache_are_asked_for_again() -> None:
    ids = Ids()
    serializer = AvroSerializer(ids, AvroOptions(), kept=1)
    for topic in ("a", "b", "b", "a"):
        serializer.register(LONG, topic)
    assert [subject for subject, _ in ids.asked] == ["a-value", "b-value", "a-value"]


def test_records_name_their_subject_where_the_strategy_says_so() -> None:
    ids = Ids("TopicRecordNameStrategy")
    serializer = AvroSerializer(ids, AvroOptions(scrub=True))
    serializer.register(struct("org.acme.A$B", optional=True, x=LONG), "t")
    assert ids.asked[0][0] == "t-org.acme.A_24B"
    with pytest.raises(UnsupportedType, match="no record's name"):
        serializer.check(LONG, "t")


def test_several_types_under_one_subject_are_reported_once() -> None:
    emitted_events.reset()
    serializer = AvroSerializer(Ids(), AvroOptions())
    for name in ("a.A", "a.A", "a.B", "a.C"):
        serializer.check(struct(name, x=LONG), "t")
    assert emitted_events.counts() == {15195: 1}


def test_nothing_is_registered_for_values_without_a_schema() -> None:
    ids = Ids()
    serializer = AvroSerializer(ids, AvroOptions())
    assert serializer.serialize(ConnectColumn(pa.nulls(2, pa.binary()), None), "t").to_pylist() == [None, None]
    with pytest.raises(UnsupportedType, match="values with a schema, and these have none"):
        serializer.serialize(ConnectColumn(pa.array([b"{}"]), None), "t")
    with pytest.raises(UnsupportedType, match=r"scrub\.invalid\.names"):
        serializer.check(record("a.A", **{"x$y": LONG}), "t")
    assert ids.asked == []


def test_a_registered_schema_must_give_the_same_bytes() -> None:
    schema = struct("a.A", x=LONG)
    fields = [{"name": "x", "type": {"type": "long", "doc": "in another place"}, "doc": "a doc"}]
    equal = {"type": "record", "name": "a.A", "doc": "more", "fields": fields}
    other = {**equal, "fields": [{"name": "y", "type": "long"}]}
    data = ConnectColumn(arrow([{"x": 1}], schema), schema)
    good = AvroSerializer(Ids(answer=Registered(7, RegistrySchema(json.dumps(equal), AVRO))), AvroOptions())
    assert good.serialize(data, "t")[0].as_py() == b"\x00\x00\x00\x00\x07\x02"
    with pytest.raises(UnsupportedType, match="has schema 7 for these values, whose fields or types differ"):
        AvroSerializer(Ids(answer=Registered(7, RegistrySchema(json.dumps(other), AVRO))), AvroOptions()).serialize(data, "t")


@pytest.mark.parametrize(("inner", "equal"), [(LONG, True), (ConnectSchema(T.STRING), False)])
def test_a_registered_schema_may_refer_to_others(inner: ConnectSchema, equal: bool) -> None:
    """As the latest version of a subject may, with use.latest.version."""
    schema = struct("a.Trade", place=struct("a.Place", at=struct("a.Point", x=inner)))
    text = json.dumps({"type": "record", "name": "a.Trade", "fields": [{"name": "place", "type": "a.Place"}]})
    latest = Registered(7, RegistrySchema(text, AVRO, (Reference("a.Place", "places", 1),)))
    serializer = AvroSerializer(Ids(answer=latest), AvroOptions())
    if equal:
        column = ConnectColumn(arrow([{"place": {"at": {"x": 1}}}], schema), schema)
        assert serializer.serialize(column, "t")[0].as_py() == b"\x00\x00\x00\x00\x07\x02"
    else:
        with pytest.raises(UnsupportedType, match="has schema 7 for these values, whose fields or types differ"):
            serializer.register(schema, "t")
