"""The order of an object's fields in JSON: from the object's own schema, whatever order the metadata of the node asked has."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.json.write_rows import json_value, same_json
from ignite_kafka.ignite.binary import decode_entries, decode_rows
from ignite_kafka.ignite.binary.entry_table import entries_schema, to_batch
from ignite_kafka.ignite.metadata_replies import read_binary_type
from ignite_kafka.ignite.schema import binary_type_bytes
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import BinaryField, BinaryType
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.state.types_topic import type_from_json, type_to_json
from tests.support.converters import converter
from tests.support.ignite_bytes import (
    CACHE,
    NULL,
    Types,
    binary,
    boolean,
    collection,
    number,
    object_array,
    page,
    schema_id,
    string,
    wrapped,
)
from tests.support.ignite_keys import key_of
from tests.support.randomness import examples, generator

NAMES = [f"Field_{name}" for name in "zyxwvutsab"]
CODES = [codes.LONG, codes.STRING, codes.DOUBLE, codes.BOOL, codes.OBJECT]


def value_of(code: int, pick: random.Random, inner: bytes) -> bytes:
    if pick.random() < 0.2:
        return NULL
    return {
        codes.LONG: number(codes.LONG, pick.randrange(-5, 5)),
        codes.STRING: string(pick.choice(["", "a", 'é"\n'])),
        codes.DOUBLE: number(codes.DOUBLE, pick.choice([0.5, float("nan"), 1e20])),
        codes.BOOL: boolean(pick.random() < 0.5),
        codes.OBJECT: pick.choice([inner, collection([inner, NULL, inner]), object_array([inner])]),
    }[code]


WHOLE = {"field_nullability_policy": "EAGER"}


def types_of(kinds: Mapping[str, Mapping[str, int]], schemas: Sequence[Sequence[str]], pick: random.Random) -> Types:
    """The metadata of one node: fields and schemas in an order of its own."""
    types = Types()
    for name, fields in kinds.items():
        parts = [BinaryField(label, code, java_hash(label.lower())) for label, code in fields.items()]
        known = [(schema_id(one), tuple(java_hash(label.lower()) for label in one)) for one in schemas if set(one) <= fields.keys()]
        pick.shuffle(parts)
        pick.shuffle(known)
        kind = BinaryType(java_hash(name.lower()), name, None, tuple(parts), dict(known))
        types.known[kind.type_id] = kind
    return types


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from(["LAZY", "EAGER"]))
def test_the_bytes_do_not_depend_on_the_node_that_gave_the_metadata(seed: int, policy: str) -> None:
    pick = generator(seed)
    fields = {name: pick.choice(CODES) for name in pick.sample(NAMES, pick.randrange(1, len(NAMES)))}
    simple = dict.fromkeys(NAMES, codes.LONG)
    kinds = {"Key": fields, "Value": fields, "Inner": simple}
    schemas = [pick.sample(list(fields), pick.randrange(len(fields) + 1)) for _ in range(pick.randrange(1, 5))]
    inner = [pick.sample(NAMES, pick.randrange(1, 4)) for _ in range(3)]
    one, other = (types_of(kinds, schemas + inner, generator(seed + n)) for n in range(2))

    def an_object(kind: str) -> bytes:
        within = binary(one.known[java_hash("inner")], {name: number(codes.LONG, 7) for name in pick.choice(inner)})
        made = {name: value_of(fields[name], pick, within) for name in pick.choice(schemas)}
        return binary(one.known[java_hash(kind.lower())], made, compact=pick.random() < 0.8)

    entries = [page([(wrapped(an_object("Key")), wrapped(an_object("Value"))) for _ in range(pick.randrange(1, 30))])]
    json_converter, lazy = converter("json", field_nullability_policy=policy), policy == "LAZY"
    first, second = (json_converter.convert(entries, CACHE, types, in_order=True) for types in (one, other))
    assert (first.keys, first.values, first.key_kinds) == (second.keys, second.values, second.key_kinds)
    rows = list(decode_rows(entries, CACHE, other))
    for (key, value), key_text, value_text in zip(rows, first.keys.to_pylist(), first.values.to_pylist(), strict=True):
        assert same_json(json_value(key, is_key=True), json.loads(key_text))
        assert same_json(json_value(value, omit_nulls=lazy), json.loads(value_text))
    for row, (key, value) in enumerate(rows):  # no record depends on the others of its batch
        assert list(json.loads(first.keys[row].as_py())) == list(key.fields)[: key.own]
        shown = [name for name, item in value.fields.items() if not lazy or item is not None]
        assert list(json.loads(first.values[row].as_py())) == shown
    parts = [page([entry]) for entry in _entries(entries[0].data, entries[0].rows)]
    alone = [json_converter.convert([part], CACHE, other) for part in parts]
    assert [found.keys[0].as_py() for found in alone] == first.keys.to_pylist()
    assert [found.values[0].as_py() for found in alone] == first.values.to_pylist()


def _entries(data: memoryview, rows: int) -> list[tuple[bytes, bytes]]:
    """Entries of wrapped keys and values."""
    found, at = [], 0
    for _ in range(rows):
        pair = []
        for _ in range(2):
            size = 9 + struct.unpack_from("<i", data, at + 1)[0]
            pair.append(bytes(data[at : at + size]))
            at += size
        found.append((pair[0], pair[1]))
    return found


def order_key(types: Types, names: Sequence[str]) -> bytes:
    return binary(types.known[java_hash("orderkey")], {name: number(codes.LONG, at) for at, name in enumerate(names)})


def text_of(key: bytes, types: Types, value: bytes = NULL) -> tuple[bytes, bytes]:
    records = converter("json", **WHOLE).convert([page([(key, value)])], CACHE, types)
    return records.keys[0].as_py(), records.values[0].as_py()


def test_a_field_that_a_key_class_gets_leaves_older_keys_as_they_were() -> None:
    before, after = Types(), Types()
    before.add("OrderKey", {"shop": codes.LONG, "id": codes.LONG}, ["shop", "id"])
    after.add("OrderKey", {"area": codes.LONG, "id": codes.LONG, "shop": codes.LONG}, ["shop", "id"], ["area", "shop", "id"])
    key = order_key(before, ["shop", "id"])
    assert text_of(key, before)[0] == text_of(key, after)[0] == b'{"shop":0,"id":1}'
    newer = order_key(after, ["area", "shop", "id"])
    both = converter("json", **WHOLE).convert([page([(key, NULL), (newer, NULL), (key, NULL)])], CACHE, after)
    assert both.keys.to_pylist() == [b'{"shop":0,"id":1}', b'{"area":0,"shop":1,"id":2}', b'{"shop":0,"id":1}']
    assert [key_of(text, both.key_kinds, after) for text in both.keys.to_pylist()][:2] == [None, None], (
        "these have no hash code of Ignite's"
    )


def test_a_value_has_its_own_fields_in_their_order_and_then_the_others_by_name() -> None:
    types = Types()
    kind = types.add("V", {"b": codes.LONG, "C": codes.LONG, "a": codes.LONG, "z": codes.LONG}, ["z", "b"], ["b", "C", "a", "z"])
    value = binary(kind, {"z": number(codes.LONG, 1), "b": number(codes.LONG, 2)})
    full = binary(kind, {name: number(codes.LONG, 3) for name in ("b", "C", "a", "z")})
    short, whole = b'{"z":1,"b":2,"a":null,"C":null}', b'{"b":3,"C":3,"a":3,"z":3}'
    assert text_of(string("k"), types, value)[1] == short
    mixed = converter("json", **WHOLE).convert(
        [page([(string("k"), one) for one in (full, value, full, NULL)])], CACHE, types, in_order=True
    )
    assert mixed.values.to_pylist() == [whole, short, whole, b"null"]


def test_an_object_without_fields_of_its_own() -> None:
    types = Types()
    kind = types.add("K", {"b": codes.LONG, "a": codes.LONG}, ["b"])
    empty, one = binary(kind, {}), binary(kind, {"b": number(codes.LONG, 1)})
    assert text_of(empty, types, empty) == (b"{}", b'{"a":null,"b":null}')
    both = converter("json", **WHOLE).convert([page([(empty, one), (one, empty)])], CACHE, types)
    assert both.keys.to_pylist() == [b"{}", b'{"b":1}']
    assert both.values.to_pylist() == [b'{"b":1,"a":null}', b'{"a":null,"b":null}']


def test_a_field_of_objects_of_more_schemas_than_a_union_holds_is_written() -> None:
    """Hundreds of schemas of one type, in one field: as a client that leaves out what is null writes them."""
    names = [f"f{at}" for at in range(9)]
    schemas = [[name for bit, name in enumerate(names) if 1 << bit & mask] for mask in range(1, 400)]
    types = Types()
    kind = types.add("Wide", dict.fromkeys(names, codes.LONG), *schemas)
    holder = types.add("Holder", {"one": codes.OBJECT})
    keys = [binary(holder, {"one": binary(kind, {name: number(codes.LONG, 1) for name in schema})}) for schema in schemas]
    found = converter("json", **WHOLE).convert([page([(key, key) for key in keys])], CACHE, types, in_order=True)
    assert [list(json.loads(text)["one"]) for text in found.keys.to_pylist()] == schemas
    assert [list(json.loads(text)["one"]) for text in found.values.to_pylist()] == [
        schema + [name for name in names if name not in schema] for schema in schemas
    ]


def test_an_old_key_in_another_order_is_not_taken_for_the_key() -> None:
    types = Types()
    types.add("OrderKey", {"shop": codes.LONG, "id": codes.LONG}, ["shop", "id"])
    kinds = {(codes.OBJECT, java_hash("orderkey"), schema_id(["shop", "id"]), codes.FLAG_HAS_SCHEMA | codes.FLAG_COMPACT | 1)}
    assert key_of(b'{"shop":1,"id":2}', kinds, types) is not None
    assert key_of(b'{"id":2,"shop":1}', kinds, types) is None
    assert key_of(b'{"shop":1,"id":2,"more":null}', kinds, types) is None


@pytest.mark.parametrize("seed", range(5))
def test_metadata_is_the_same_from_every_node(seed: int) -> None:
    """What tables, topics of types and readers of JSON see of metadata: fields, schemas and constants in one order."""
    schemas = [["b", "a"], ["d", "a", "b"], ["a", "d", "c"]]
    fields = dict.fromkeys("abcdEf", codes.LONG)
    given = types_of({"T": fields}, schemas, generator(seed)).known[java_hash("t")]
    fullest = max(schemas[1:], key=schema_id)
    expected = [*fullest, *sorted(set("abcdef") - set(fullest))]
    assert [field.name.lower() for field in given.fields] == expected
    again = read_binary_type(memoryview(b"\1" + binary_type_bytes(given)))
    assert again == given == type_from_json(type_to_json(given))
    assert type_to_json(given) == type_to_json(types_of({"T": fields}, schemas, generator(seed + 99)).known[java_hash("t")])
    values: dict[int, Any] = {3: "c", 1: "a"}
    assert list(BinaryType(1, "E", is_enum=True, enum_values=values).enum_values) == [1, 3]


def test_a_table_has_one_order_of_columns() -> None:
    fields, schemas = dict.fromkeys("zyx", codes.LONG), [["y", "z"], ["z", "x"]]
    tables = []
    for seed in range(6):
        types = types_of({"V": fields}, schemas, generator(seed))
        value = binary(types.known[java_hash("v")], {"y": number(codes.LONG, 1), "z": number(codes.LONG, 2)})
        groups = decode_entries([page([(string("k"), value)])], CACHE, types)
        tables.append(to_batch(groups[0], entries_schema(CACHE, types, groups)))
    assert all(one.equals(tables[0], check_metadata=True) for one in tables)


def test_numbers_of_a_member_are_those_of_its_row() -> None:
    """Members of a batch of several orders are written column by column: no value may move to another row."""
    types = Types()
    kind = types.add("V", {"a": codes.LONG, "b": codes.DECIMAL, "c": codes.STRING}, ["a", "c"], ["c", "a"], ["c"])
    orders = [["a", "c"], ["c", "a"], ["c"]]
    made = [
        binary(kind, {name: number(codes.LONG, row) if name == "a" else string(f"{row}\0") for name in orders[row % 3]})
        for row in range(99)
    ]
    found = converter("json", decimal_format="NUMERIC", **WHOLE).convert(
        [page([(string("k"), one) for one in made])], CACHE, types, in_order=True
    )
    for row, text in enumerate(found.values.to_pylist()):
        members = json.loads(text, parse_float=Decimal)
        assert members == {"a": None if row % 3 == 2 else row, "c": f"{row}\0", "b": None}


def test_a_name_in_two_cases_is_one_field() -> None:
    """Ignite identifies fields by a hash of the lower-cased name; its metadata keeps each spelling."""
    spelled = [BinaryField(name, codes.LONG, java_hash("at")) for name in ("at", "AT")]
    kind = BinaryType(java_hash("moment"), "Moment", None, tuple(spelled), {schema_id(["at"]): (java_hash("at"),)})
    again = BinaryType(java_hash("moment"), "Moment", None, tuple(reversed(spelled)), kind.schemas)
    assert kind == again
    assert [one.name for one in kind.fields] == ["AT"]
    entry = [(number(codes.LONG, 1), binary(kind, {"at": number(codes.LONG, 5)}))]
    found = converter("json").convert([page(entry)], CACHE, Types({kind.type_id: kind}))
    assert json.loads(found.values[0].as_py()) == {"AT": 5}
