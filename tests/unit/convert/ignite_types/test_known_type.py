"""Fields of a binary type: their ids, and what is taken back of a record that is bad."""

from __future__ import annotations

import pyarrow as pa

from ignite_kafka.convert.ignite_types.known_type import KnownType
from ignite_kafka.convert.ignite_types.object_types import ObjectTypes
from ignite_kafka.convert.json.read_rows import parse
from ignite_kafka.convert.rules.marked_fields import unknown
from tests.support.to_ignite_records import GrowingTypes


def test_each_field_is_taken_back_by_itself() -> None:
    known = KnownType({"a": unknown("a")})
    typed = known.learn("a", pa.field("a", pa.int64()), by_name=False)
    added = known.learn("b", pa.field("b", pa.string()), by_name=True)
    assert (list(known.fields), set(known.ids.values()), known.by_name) == (["a", "b"], {"a", "b"}, True)
    added()
    assert (list(known.fields), set(known.ids.values()), known.by_name) == (["a"], {"a"}, False)
    typed()
    assert (known.fields, known.ids, known.learned) == ({"a": unknown("a")}, {}, set())


def test_what_a_bad_record_taught_is_forgotten() -> None:
    objects = ObjectTypes(GrowingTypes())
    objects.learn("T", "a", None)
    before, fields = objects.version, objects.fields("T")
    objects.learn("T", "A", parse(b"1"))
    objects.learn("T", "b", "NaN")
    objects.reconsider("T", "b", "other")
    objects.forget(before)
    assert objects.fields("T") == fields
    assert objects.same_id("T", "a") is None
    assert objects.field("T", "b") is None
    objects.learn("T", "a_", parse(b"1"))
    assert objects.same_id("T", "b@") == "a_"


def test_a_key_type_is_written_by_the_names_of_its_fields() -> None:
    objects = ObjectTypes(GrowingTypes(), keys=frozenset({"K"}))
    for name in ("b", "c", "a"):
        objects.learn("K", name, parse(b"1"))
    assert [one.name for one in objects.fields("K")] == ["a", "b", "c"]
