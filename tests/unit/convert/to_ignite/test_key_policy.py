"""Keys by policy: of the record's key, of fields of its value, or of where it stood in Kafka."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.convert.to_ignite import ConversionRules, Stage
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from tests.support.to_ignite_records import GrowingTypes, cache_of, consumed, decoded, record_converter

FREE = CacheInfo("free", 2)
VALUES = [b'{"id":7,"name":"a","place":{"x":1}}', b'{"id":8,"name":"b","place":null}']


def entity(key: str, *columns: tuple[str, str]) -> CacheInfo:
    fields = tuple(QueryField(name, kind, is_key=True) for name, kind in columns)
    return CacheInfo("keyed", 1, query_entities=(QueryEntity(key, "Value", fields=fields),))


def keys(cache: CacheInfo, policy: str, *names: str, values: Any = VALUES, keys: Any = None) -> tuple[list[Any], list[tuple[int, str]]]:
    types = GrowingTypes()
    entries = record_converter(cache, types, ConversionRules(key_policy=policy, key_fields=names)).convert(consumed(values, keys))
    assert all((bad.stage, bad.where) == (Stage.PUT, {"part": "key"}) for bad in entries.bad)
    return [key for key, _ in decoded(entries, types)], [(bad.row, bad.reason) for bad in entries.bad]


def test_one_field_of_the_value_is_a_plain_key() -> None:
    assert keys(FREE, "value", "id") == ([7, 8], [])
    assert keys(entity("java.lang.Integer"), "value", "id") == ([7, 8], [])
    assert keys(entity("java.lang.String"), "value", "NAME") == (["a", "b"], [])


def test_several_fields_are_an_object() -> None:
    made, bad = keys(FREE, "value", "name", "id")
    assert [(key.type_name, list(key.fields.items())) for key in made] == [
        ("free.Key", [("id", n), ("name", t)]) for n, t in ((7, "a"), (8, "b"))
    ]
    assert bad == []
    declared, bad = keys(entity("KeyType", ("NAME", "java.lang.String"), ("ID", "java.lang.Integer")), "value", "id", "name")
    assert [(key.type_name, list(key.fields.items())) for key in declared] == [
        ("KeyType", [("NAME", t), ("ID", n)]) for n, t in ((7, "a"), (8, "b"))
    ]
    assert bad == []


def test_without_names_all_fields_of_the_value_are_the_key() -> None:
    values = [b'{"id":7,"name":"a"}', b'{"id":8,"name":"b"}', b"5"]
    made, bad = keys(FREE, "value", values=values)
    assert [(key.type_name, key.fields) for key in made] == [("free.Key", {"id": n, "name": t}) for n, t in ((7, "a"), (8, "b"))]
    assert bad == [(2, "it is a JSON number where an object is due")]
    made, _ = keys(entity("KeyType", ("ID", "java.lang.Integer"), ("NAME", "java.lang.String")), "value", values=values)
    assert [(key.type_name, key.fields) for key in made] == [("KeyType", {"ID": n, "NAME": t}) for n, t in ((7, "a"), (8, "b"))]
    with pytest.raises(SettingsError, match="which has no fields"):
        keys(entity("java.lang.Long"), "value", values=values)


def test_fields_of_the_key() -> None:
    given = [b'{"a":1,"b":"x","c":null}', b'{"b":"y","a":2}']
    assert keys(FREE, "key", "a", keys=given) == ([1, 2], [])
    made, bad = keys(FREE, "key", "b", "a", keys=given)
    assert [key.fields for key in made] == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert bad == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"name":"a"}', "field id, which is to make the key, is null or missing"),
        (b'{"id":null}', "field id, which is to make the key, is null or missing"),
        (b'{"id":1.5}', "field id is 1.5, which is no integer of its type"),
        (None, "a tombstone has no fields to make a key of: key_policy is value"),
    ],
)
@pytest.mark.parametrize("cache", [FREE, entity("java.lang.Long")], ids=["inferred", "declared"])
def test_a_key_that_cannot_be_made_is_named(cache: CacheInfo, value: bytes | None, reason: str) -> None:
    assert keys(cache, "value", "id", values=[VALUES[0], value, VALUES[1]]) == ([7, 8], [(1, reason)])


@pytest.mark.parametrize("good", [0, 1, 40])
@pytest.mark.parametrize("text", [b"null", b" null "])
@pytest.mark.parametrize("cache", [FREE, entity("java.lang.Long")], ids=["inferred", "declared"])
def test_a_json_null_of_which_one_member_is_the_key_is_a_null_key(cache: CacheInfo, text: bytes, good: int) -> None:
    texts = [b'{"id":%d}' % row for row in range(good)] + [text]
    wanted = list(range(good)), [(good, "the key is null")]
    assert keys(cache, "value", "id", values=texts) == wanted
    assert keys(cache, "key", "id", values=[VALUES[0]] * len(texts), keys=texts) == wanted


def test_where_a_record_stood_is_a_key() -> None:
    made, bad = keys(FREE, "kafka")
    assert [list(key.fields.items()) for key in made] == [
        [("__connect_topic", "topic"), ("__connect_partition", 3), ("__connect_offset", offset)] for offset in (100, 101)
    ]
    assert bad == []
    columns = ("T", "java.lang.String"), ("P", "java.lang.Integer"), ("O", "java.lang.Long")
    made, _ = keys(entity("Place", *columns), "kafka", "t", "p", "o", keys=[None, None])
    assert [(key.type_name, list(key.fields.items())) for key in made] == [
        ("Place", [("T", "topic"), ("P", 3), ("O", o)]) for o in (100, 101)
    ]
    made, _ = keys(entity("Place", *reversed(columns)), "kafka", "t", "p", "o", keys=[None, None])
    assert list(made[0].fields.items()) == [("O", 100), ("P", 3), ("T", "topic")]


@pytest.mark.parametrize(
    ("cache", "policy", "names", "message"),
    [
        (entity("java.lang.Long"), "value", ("id", "name"), "2 key_fields, and the cache's keys are of int64.*Name the one field"),
        (
            entity("K", ("a", "java.lang.Long"), ("b", "java.lang.Long")),
            "value",
            ("a",),
            "K, the type of the cache's keys, has fields a, b.*Name all",
        ),
        (entity("java.lang.Long"), "kafka", (), "cannot hold a topic, a partition and an offset"),
        (entity("K", ("a", "java.lang.Long")), "kafka", (), "It must have __connect_topic, __connect_partition, __connect_offset"),
    ],
)
def test_fields_that_make_no_key_of_the_cache_are_settings_errors(
    cache: CacheInfo, policy: str, names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        record_converter(cache, GrowingTypes(), ConversionRules(key_policy=policy, key_fields=names))


def test_ordinary_keys_need_a_table_of_their_own() -> None:
    assert keys(cache_of({}, key="java.util.UUID"), "key", keys=[b'"12345678-1234-1234-1234-123456789abc"', b'"no"'])[1] == [
        (1, "it is no UUID")
    ]
