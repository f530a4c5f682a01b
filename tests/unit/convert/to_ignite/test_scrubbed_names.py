"""Names that Avro refuses come scrubbed: a sink finds the fields and types that they are of."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType
from ignite_kafka.convert.to_ignite import Entries, RecordConverter, SideRules
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField, TypeUse
from ignite_kafka.java.hash_code import java_hash
from tests.support.connect_records import Numbered, Value, struct
from tests.support.json_forms import field_codes
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, rules

LONG = ConnectSchema(ConnectType.INT64, optional=True)
COLUMNS = (QueryField("first-name", "java.lang.Long"), QueryField("größe", "java.lang.Long"), QueryField("plain", "java.lang.Long"))
CACHE = CacheInfo("tested", 1, query_entities=(QueryEntity("java.lang.Long", "Outer$Person", fields=COLUMNS),))
FREE = CacheInfo("free", 2)


def read(cache: CacheInfo, types: GrowingTypes, values: list[Value], name: str = "avro", **more: Any) -> Entries:
    def deserializers(side: str, one: SideRules) -> Numbered | None:
        return Numbered(values) if side == "value" else None

    converter = RecordConverter(cache, types, rules(value=name), deserializers=deserializers, **more)
    return converter.convert(consumed([str(row).encode() for row in range(len(values))]))


def person(**fields: ConnectSchema) -> ConnectSchema:
    return struct("Outer_24Person", **fields)


@pytest.mark.parametrize("name", ["avro", "json-schema"])
def test_a_scrubbed_field_is_the_declared_one_that_avro_refuses(name: str) -> None:
    types = GrowingTypes()
    schema = person(first_name=LONG, gr_C3_B6_C3_9Fe=LONG, plain=LONG, other_name=LONG)
    found = read(CACHE, types, [(schema, {"first_name": 1, "gr_C3_B6_C3_9Fe": 2, "plain": 3, "other_name": 4})], name)
    assert not found.bad
    ((_, value),) = decoded(found, types)
    new = {"first_name", "gr_C3_B6_C3_9Fe"} if name != "avro" else set()
    assert set(field_codes(types, "Outer$Person")) == {"first-name", "größe", "plain", "other_name"} | new
    assert (value.fields["first-name"], value.fields["größe"]) == ((1, 2) if name == "avro" else (None, None))


def test_a_field_of_metadata_alone_is_found_and_an_exact_name_wins() -> None:
    types = GrowingTypes()
    types.add("Outer$Person", {"first-name": codes.LONG, "last_name": codes.LONG, "last-name": codes.LONG})
    use = TypeUse("value", "", "Outer$Person", java_hash("outer$person"))
    found = read(FREE, types, [(person(first_name=LONG, last_name=LONG), {"first_name": 1, "last_name": 2})], uses=[use])
    assert not found.bad
    ((_, value),) = decoded(found, types)
    assert (value.type_name, value.fields) == ("Outer$Person", {"first-name": 1, "last_name": 2, "last-name": None})


def test_a_name_of_two_fields_is_a_bad_record() -> None:
    types = GrowingTypes()
    types.add("Outer$Person", {"a-b": codes.LONG, "a.b": codes.LONG, "c": codes.LONG})
    schema = struct("Outer$Person", a_b=LONG, c=LONG)
    use = TypeUse("value", "", "Outer$Person", java_hash("outer$person"))
    found = read(FREE, types, [(schema, {"a_b": 1, "c": 1}), (schema, {"a_b": None, "c": 2})], uses=[use])
    assert [(bad.row, "a-b" in bad.reason or "a.b" in bad.reason) for bad in found.bad] == [(0, True)]


def test_types_within_open_places_have_their_classes_names() -> None:
    types = GrowingTypes()
    uses = [TypeUse("value", path, name, java_hash(name.lower())) for path, name in (("x", "O$A"), ("x", "O$B"), ("", "Box"))]
    types.add("Box", {"x": codes.OBJECT})
    types.add("O$A", {"n-1": codes.LONG})
    types.add("O$B", {"n-2": codes.LONG})
    values: list[Value] = []
    for name, one in (("O_24A", "n_1"), ("O_24B", "n_2")):
        values.append((struct("Box", x=struct(name, **{one: LONG})), {"x": {one: 1}}))
    found = read(FREE, types, values, uses=uses)
    assert not found.bad
    made = [value.fields["x"] for _, value in decoded(found, types)]
    assert [(one.type_name, one.fields) for one in made] == [("O$A", {"n-1": 1}), ("O$B", {"n-2": 1})]


def test_fields_that_make_the_key_are_found() -> None:
    types = GrowingTypes()

    def deserializers(side: str, one: SideRules) -> Numbered | None:
        return Numbered([(person(first_name=LONG, plain=LONG), {"first_name": 7, "plain": 1})]) if side == "value" else None

    by_value = rules(value="avro", key_policy="value", key_fields=("first-name",))
    found = RecordConverter(CACHE, types, by_value, deserializers=deserializers).convert(consumed([b"0"]))
    assert not found.bad
    assert found.keys == pa.array([b"\x04" + (7).to_bytes(8, "little")], pa.binary())
