"""Keys with objects of declared classes: no record, and no other program, changes the bytes of a key."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.convert.ignite_types.key_types import KeyTypes, types_of_keys
from ignite_kafka.convert.ignite_types.resolve_types import entry_types
from ignite_kafka.convert.to_ignite import ConversionRules, SideRules
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from tests.support.to_ignite_records import GrowingTypes, consumed, record_converter

COLUMNS = (
    QueryField("id", "java.lang.Long", True),
    QueryField("at", "org.Point", True),
    QueryField("to", "org.Point"),
    QueryField("n", "java.lang.Long"),
)
CACHE = CacheInfo("c", 2, query_entities=(QueryEntity("org.K", "org.V", fields=COLUMNS),))
FIXED = "field {} is not a field of org.Point, whose fields are fixed since they make the key"


def key_of(types: GrowingTypes, key: bytes, cache: CacheInfo = CACHE, value: bytes = b"{}", **sides: Any) -> bytes | str:
    """The bytes of a record's key as a new task makes them, or why it has none."""
    entries = record_converter(cache, types, **sides).convert(consumed([value], [key]))
    return bytes(entries.keys[0].as_py()) if len(entries) else entries.bad[0].reason


def enveloped(fields: str, payload: str) -> bytes:
    point = ",".join(f'{{"field":"{name}","type":"int64","optional":true}}' for name in fields)
    at = f'{{"field":"at","type":"struct","optional":true,"fields":[{point}]}}'
    return f'{{"schema":{{"type":"struct","fields":[{{"field":"id","type":"int64"}},{at}]}},"payload":{payload}}}'.encode()


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
def test_a_class_within_a_key_gets_no_field_of_a_record(known: bool) -> None:
    types = GrowingTypes()
    if known:
        types.add("org.Point", {"x": codes.LONG})
    first = key_of(types, b'{"id":1,"at":{"x":1}}')
    assert key_of(types, b'{"id":1,"at":{"x":1,"y":2}}') == FIXED.format("at.y")
    assert key_of(types, b'{"id":1,"at":{"x":1}}', value=b'{"to":{"x":1,"z":3}}') == FIXED.format("to.z")
    assert key_of(types, b'{"id":1,"at":{"x":1,"y":null}}') == first
    with_schemas = ConversionRules(SideRules(properties={"schemas.enable": "true"}))
    assert key_of(types, enveloped("xy", '{"id":1,"at":{"x":1,"y":null}}'), rules=with_schemas) == first
    assert FIXED.format("at.y") in str(key_of(types, enveloped("xy", '{"id":1,"at":{"x":1,"y":2}}'), rules=with_schemas))


def test_versions_of_a_class_within_a_key_are_no_error() -> None:
    types = GrowingTypes()
    types.add("org.Point", {"x": codes.LONG, "y": codes.LONG}, "x", "xy")
    assert key_of(types, b'{"id":1,"at":{"x":1}}') == key_of(types, b'{"id":1,"at":{"x":1,"y":null}}')


@pytest.mark.parametrize("java_type", ["java.lang.Object", "java.util.List"])
def test_objects_in_a_key_of_any_class_are_of_a_type_of_keys(java_type: str) -> None:
    cache = CacheInfo("c", 2, query_entities=(QueryEntity(java_type, "org.V"),))
    types = GrowingTypes()
    texts = [f"[{one}]" if java_type.endswith("List") else one for one in ('{"a":1}', '{"a":1,"b":2}')]
    first = key_of(types, texts[0].encode(), cache, b'{"v":1}')
    assert "fixed since they make the key" in str(key_of(types, texts[1].encode(), cache, b'{"v":1}'))
    assert key_of(types, texts[0].encode(), cache, b'{"v":1}') == first


PAIR = CacheInfo(
    "c", 2, query_entities=(QueryEntity("K", "V", fields=tuple(QueryField(name, "java.lang.Long", name != "v") for name in "bav")),)
)


def test_a_field_that_another_program_gives_a_key_type_changes_no_key() -> None:
    types = GrowingTypes()
    before = key_of(types, b'{"a":1,"b":2}', PAIR)
    types.register(types.add("K", {"a": codes.LONG, "b": codes.LONG, "z": codes.LONG}, "ba", "zab"))
    assert key_of(types, b'{"a":1,"b":2}', PAIR) == before
    wide = key_of(types, b'{"a":1,"b":2,"z":3}', PAIR)
    assert wide == key_of(types, b'{"z":3,"a":1,"b":2}', PAIR) != before
    (key_type,) = (held for held in types.known.values() if held.name == "K")
    assert len(key_type.schemas) == 3


def test_a_class_with_more_fields_than_columns_has_all_of_them_in_its_keys() -> None:
    types = GrowingTypes()
    types.add("K", {"a": codes.LONG, "b": codes.LONG, "z": codes.LONG}, "zab")
    assert key_of(types, b'{"a":1,"b":2}', PAIR) == key_of(types, b'{"a":1,"b":2,"z":null}', PAIR)
    (only,) = (held.schemas for held in types.known.values() if held.name == "K")
    assert len(only) == 1


def test_types_within_keys() -> None:
    types = GrowingTypes()
    assert types_of_keys(entry_types(CACHE, types)) == {"org.K", "org.Point"}
    columns = (QueryField("list", "[Lorg.P;", True), QueryField("any", "java.util.Map", True), QueryField("v", "org.Q"))
    cache = CacheInfo("c", 2, query_entities=(QueryEntity("org.K", "org.V", fields=columns),))
    assert types_of_keys(entry_types(cache, types)) == {"org.K", "org.P", "org.K.any"}
    keys = KeyTypes({"org.K"}, {"org.K", "org.K.of", "org.V"})
    assert ["org.K.any" in keys, "org.Kb" in keys, "org.K.of.any" in keys, "org.V" in keys] == [True, False, False, False]
    keys.add("org.V")
    assert "org.V.x" in keys
