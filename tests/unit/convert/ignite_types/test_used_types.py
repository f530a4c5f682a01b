"""JSON of entries and the classes that their source saw give the same bytes again; without them, or with several, types are inferred."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from ignite_kafka.convert.to_ignite import ConversionRules, SideRules
from ignite_kafka.ignite.binary.row_values import EnumValue
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo, QueryEntity, QueryField, TypeUse
from ignite_kafka.kafka.records import Records
from ignite_kafka.settings.converters import parse_properties
from tests.support.converters import converter
from tests.support.ignite_bytes import (
    CACHE,
    NULL,
    Types,
    binary,
    collection,
    enum,
    mapping,
    number,
    object_array,
    page,
    primitives,
    string,
    uuid_,
)
from tests.support.to_ignite_records import GrowingTypes, consumed, record_converter

FREE = CacheInfo("copy", 1)
ONE = UUID(int=7 << 64 | 9)


PLAIN: dict[str, str] = {}
SCHEMAS = {"schemas.enable": "true"}


def sent(types: Types, *entries: tuple[bytes, bytes], properties: dict[str, str] = PLAIN) -> Records:
    configs = {f"{side}_converter_config": properties for side in ("key", "value")}
    return converter("json", **configs).convert([page(list(entries))], CACHE, types)


def stored(
    records: Records, types: Types, cache: CacheInfo = FREE, *, uses: bool = True, properties: dict[str, str] = PLAIN
) -> list[tuple[bytes, bytes | None]]:
    """Entries of records in a cluster that has the types, as bytes."""
    cluster = GrowingTypes()
    cluster.known.update(types.known)
    side = SideRules(properties=parse_properties("", "json", properties))
    reader = record_converter(cache, cluster, ConversionRules(side, side), uses=records.uses if uses else ())
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


def texts(*items: str) -> bytes:
    return struct.pack("<Bi", codes.STRING_ARRAY, len(items)) + b"".join(map(string, items))


def constant(kind: BinaryType, ordinal: int) -> bytes:
    """A constant as Java writes it."""
    return struct.pack("<Bii", codes.ENUM, kind.type_id, ordinal)


def array_of(code: int, kind: BinaryType, *elements: bytes) -> bytes:
    return struct.pack("<Bii", code, kind.type_id, len(elements)) + b"".join(elements)


Made = Callable[[dict[str, BinaryType], bytes], bytes]
HELD: dict[str, Made] = {
    "list of objects": lambda kinds, part: collection([part, part]),
    "list of nothing": lambda kinds, part: collection([]),
    "list of int": lambda kinds, part: collection([number(codes.INT, 1), NULL]),
    "list of lists of objects": lambda kinds, part: collection([collection([part]), collection([])]),
    "list of long[]": lambda kinds, part: collection([primitives(codes.LONG_ARRAY, "q", [1, -1])]),
    "long[]": lambda kinds, part: primitives(codes.LONG_ARRAY, "q", [1, -1]),
    "double[]": lambda kinds, part: primitives(codes.DOUBLE_ARRAY, "d", [1.0, -1.5]),
    "char[]": lambda kinds, part: primitives(codes.CHAR_ARRAY, "H", [65, 66]),
    "String[]": lambda kinds, part: texts("a", ""),
    "Color[]": lambda kinds, part: array_of(codes.ENUM_ARRAY, kinds["Color"], constant(kinds["Color"], 1), constant(kinds["Color"], 0)),
    "Part[]": lambda kinds, part: array_of(codes.OBJECT_ARRAY, kinds["Part"], part, NULL),
    "Long[]": lambda kinds, part: object_array([number(codes.LONG, 1), NULL]),
    "enums in Object[]": lambda kinds, part: object_array([constant(kinds["Color"], 1), NULL]),
    "long[][]": lambda kinds, part: struct.pack("<Bii", codes.OBJECT_ARRAY, codes.LONG_ARRAY, 1) + primitives(codes.LONG_ARRAY, "q", [1]),
    "map of objects": lambda kinds, part: mapping([(string("a"), part)]),
    "map by int": lambda kinds, part: mapping([(number(codes.INT, 1), number(codes.SHORT, 2))]),
    "map of lists": lambda kinds, part: mapping([(uuid_(ONE), collection([part]))]),
    "object": lambda kinds, part: part,
    "enum": lambda kinds, part: constant(kinds["Color"], 1),
    "int": lambda kinds, part: number(codes.INT, 3),
}


def unhashed(data: bytes | None) -> bytes:
    """The bytes with objects' hashes as tests write them: 0."""
    return re.sub(rb"(?s)(g\x01......)....", rb"\1\0\0\0\0", data or b"")


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("properties", [PLAIN, SCHEMAS], ids=["json", "with schemas"])
def test_a_field_of_class_object_keeps_what_was_seen_in_it(name: str, properties: dict[str, str]) -> None:
    types, kinds, _ = model()
    team = types.add("Team", {"id": codes.INT, "held": codes.OBJECT})
    part = binary(kinds["Part"], {"n": number(codes.INT, 7), "color": constant(kinds["Color"], 1)})
    value = binary(team, {"id": number(codes.INT, 1), "held": HELD[name](kinds, part)})
    whole = HELD[name](kinds, part)
    for one in (value, whole):
        ((_, found),) = stored(sent(types, (number(codes.INT, 1), one), properties=properties), types, properties=properties)
        assert unhashed(found) == one


def test_a_query_entity_that_leaves_elements_open_is_completed() -> None:
    types, kinds, _ = model()
    team = types.add("Team", {"parts": codes.OBJECT, "any": codes.OBJECT, "by_name": codes.MAP})
    part = binary(kinds["Part"], {"n": number(codes.INT, 7), "color": NULL})
    parts = {"parts": collection([part]), "any": primitives(codes.INT_ARRAY, "i", [1]), "by_name": mapping([(string("a"), part)])}
    value = binary(team, parts)
    columns = (QueryField("parts", "java.util.List"), QueryField("any", "java.lang.Object"), QueryField("by_name", "java.util.Map"))
    cache = replace(FREE, query_entities=(QueryEntity("java.lang.Integer", "Team", fields=columns),))
    ((_, found),) = stored(sent(types, (number(codes.INT, 1), value)), types, cache)
    assert unhashed(found) == value


def test_a_field_that_held_a_list_and_an_array_is_open() -> None:
    types = Types()
    team = types.add("Team", {"held": codes.OBJECT})
    held = (collection([number(codes.INT, 1)]), primitives(codes.LONG_ARRAY, "q", [2]))
    entries = [(number(codes.INT, row), binary(team, {"held": one})) for row, one in enumerate(held)]
    lists = [binary(team, {"held": collection([number(codes.LONG, one)])}) for one in (1, 2)]
    assert [unhashed(value) for _, value in stored(sent(types, *entries), types)] == lists


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
