"""JSON of entries and the classes that their source saw give the same bytes again; without them, or with several, types are inferred."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from ignite_kafka.ignite.binary.row_values import EnumValue
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, QueryEntity, TypeUse
from ignite_kafka.kafka.records import Records
from tests.support.converters import converter
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, collection, enum, number, object_array, page, string, uuid_
from tests.support.to_ignite_records import GrowingTypes, consumed, record_converter, rules

FREE = CacheInfo("copy", 1)
ONE = UUID(int=7 << 64 | 9)


def sent(types: Types, *entries: tuple[bytes, bytes]) -> Records:
    return converter("json").convert([page(list(entries))], CACHE, types)


def stored(records: Records, types: Types, cache: CacheInfo = FREE, *, uses: bool = True) -> list[tuple[bytes, bytes | None]]:
    """Entries of records in a cluster that has the types, as bytes."""
    cluster = GrowingTypes()
    cluster.known.update(types.known)
    reader = record_converter(cache, cluster, rules(), uses=records.uses if uses else ())
    found = reader.convert(consumed(records.values.to_pylist(), records.keys.to_pylist()))
    assert not found.bad, found.bad
    return list(zip(found.keys.to_pylist(), found.values.to_pylist(), strict=True))


def model() -> tuple[Types, dict[str, BinaryType], bytes]:
    types = Types()
    kinds = {
        "Color": types.add("Color", {}, enum=("RED", "BLUE")),
        "Part": types.add("Part", {"n": codes.INT, "color": codes.ENUM}),
        "Key": types.add("Key", {"id": codes.INT, "region": codes.STRING}),
    }
    kinds["Car"] = types.add(
        "Car", {"color": codes.ENUM, "part": codes.OBJECT, "parts": codes.COLLECTION, "counts": codes.COLLECTION, "all": codes.OBJECT_ARRAY}
    )
    blue = enum(EnumValue(kinds["Color"].type_id, 1, ""))
    part = binary(kinds["Part"], {"n": number(codes.INT, 7), "color": blue})
    fields = {
        "color": blue,
        "part": part,
        "parts": collection([part, part]),
        "counts": collection([number(codes.INT, 1), number(codes.INT, -1)]),
        "all": object_array([part]),
    }
    return types, kinds, binary(kinds["Car"], fields)


KEYS = [*(number(code, 5) for code in (codes.BYTE, codes.SHORT, codes.INT, codes.LONG)), number(codes.CHAR, 65), uuid_(ONE), string("k")]


@pytest.mark.parametrize("key", KEYS)
def test_keys_and_values_without_query_entity_keep_their_class(key: bytes) -> None:
    for value in (key, number(codes.BYTE, 3), number(codes.FLOAT, 1.5)):
        assert stored(sent(Types(), (key, value)), Types()) == [(key, value)]


def test_objects_enums_and_elements_within_keep_theirs() -> None:
    types, kinds, car = model()
    key = binary(kinds["Key"], {"id": number(codes.INT, 1), "region": string("eu")})
    records = sent(types, (key, car))
    names = {(use.side, use.path): use.name for use in records.uses}
    assert names["value", "parts[].color"] == "Color"
    assert names["value", "counts[]"] == "java.lang.Integer"
    assert (names["key", ""], names["value", ""], names["value", "part"]) == ("Key", "Car", "Part")
    ((found_key, found),) = stored(records, types)
    assert found_key[:8] + found_key[12:] == key[:8] + key[12:]  # without the hash, which tests do not write
    assert found is not None
    again = sent(types, (found_key, found))
    assert (again.uses, again.values.to_pylist()) == (records.uses, records.values.to_pylist())


def test_a_batch_of_nulls_does_not_hide_the_class_that_another_shows() -> None:
    types, kinds, _ = model()
    tins = types.add("Tin", {"color": codes.ENUM, "colors": codes.ENUM_ARRAY, "n": codes.INT})
    n, blue = number(codes.INT, 7), enum(EnumValue(kinds["Color"].type_id, 1, ""))
    null, tin = (binary(tins, {"color": color, "colors": NULL, "n": n}) for color in (NULL, blue))
    nulls, values = (sent(types, (n, one)) for one in (null, tin))
    assert {use.path for use in nulls.uses} == {"", "n"}
    assert stored(replace(values, uses=values.uses | nulls.uses), types) == stored(values, types) != []


def test_without_what_was_seen_the_types_are_inferred() -> None:
    records = sent(Types(), (number(codes.INT, 5), number(codes.SHORT, 5)))
    assert stored(records, Types(), uses=False) == [(number(codes.LONG, 5), number(codes.LONG, 5))]


def test_of_several_classes_none_is_taken() -> None:
    records = sent(Types(), (number(codes.INT, 5), number(codes.SHORT, 5)), (number(codes.SHORT, 6), number(codes.SHORT, 6)))
    assert {use.name for use in records.uses if use.side == "key"} == {"java.lang.Integer", "java.lang.Short"}
    assert [key for key, _ in stored(records, Types())] == [number(codes.LONG, 5), number(codes.LONG, 6)]


def test_a_query_entity_wins() -> None:
    records = sent(Types(), (number(codes.INT, 5), number(codes.SHORT, 5)))
    cache = replace(FREE, query_entities=(QueryEntity("java.lang.Long", "java.lang.Object"),))
    assert stored(records, Types(), cache) == [(number(codes.LONG, 5), number(codes.SHORT, 5))]


def test_types_of_ignite_binary_decide_nothing() -> None:
    records = replace(sent(Types(), (number(codes.INT, 5), number(codes.INT, 5))), uses=frozenset({TypeUse("any", "", "Car", 3)}))
    assert stored(records, Types()) == [(number(codes.LONG, 5), number(codes.LONG, 5))]
