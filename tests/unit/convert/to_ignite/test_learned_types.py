"""Types of values and keys without a query entity: records tell them, and all tasks share what one has learned."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.ignite.binary.row_values import Document
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support.randomness import generator
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, record_converter

FREE = CacheInfo("free", 2)


def test_without_query_entity_values_tell_their_types() -> None:
    types = GrowingTypes()
    keys = [b"1", b'"s"', b"1.0", b"true", b'{"b":1,"a":"x"}', b"1"]
    values = [b'{"i":1,"d":2.5,"s":"t","b":false,"o":{"p":"q"},"l":[1,1.5]}', b"5", b'"text"', b"[1,[2]]", b'{"d":3}', b"6.0"]
    found = decoded(record_converter(FREE, types).convert(consumed(values, keys)), types)
    assert [key for key, _ in found[:4]] == [1, "s", 1.0, True]
    assert [type(key) for key, _ in found[:4]] == [int, str, float, bool]
    assert (found[4][0].type_name, list(found[4][0].fields.items())) == ("free.Key", [("a", "x"), ("b", 1)])
    assert found[0][1].type_name == "free.Value"
    assert {name: value for name, value in found[0][1].fields.items() if name != "o"} == {
        "i": 1,
        "d": 2.5,
        "s": "t",
        "b": False,
        "l": [1, 1.5],
    }
    assert (found[0][1].fields["o"].type_name, found[0][1].fields["o"].fields) == ("free.Value.o", {"p": "q"})
    assert [value for _, value in found[1:4]] == [5, "text", [1, [2]]]
    assert found[4][1].fields["d"] == 3.0
    assert isinstance(found[5][1], float)


@pytest.mark.parametrize("first", ["[1]", '["a"]', "[1.5]", "[true]", '[{"x":1}]', "[[1]]", "[]", "null", '[1,"a"]'])
def test_elements_tell_their_own_types_whatever_came_first(first: str) -> None:
    types = GrowingTypes()
    values: list[list[Any] | None] = [
        [1, 2],
        ["a", None],
        [1, 1.5, -2.0],
        [True],
        [[1], []],
        [],
        None,
        [{"x": 1}, {"x": None}],
        [{"x": 2}, 3],
    ]
    converter = record_converter(FREE, types)
    converter.convert(consumed([f'{{"list":{first}}}'.encode()] * 3))
    entries = converter.convert(consumed([json.dumps({"id": 1, "list": value}).encode() for value in values]))
    assert not entries.bad
    for (_, document), value in zip(decoded(entries, types), values, strict=True):
        found = document.fields["list"]
        plain = found and [one.fields if isinstance(one, Document) else one for one in found]
        assert plain == value
        assert [type(one) for one in plain or []] == [type(one) for one in value or []]


def test_what_one_task_learned_holds_for_all() -> None:
    types = GrowingTypes()
    record_converter(FREE, types).convert(consumed([b'{"x":1.5,"n":1}']))
    entries = record_converter(FREE, types).convert(consumed([b'{"x":2}', b'{"n":1.5}', b'{"n":2,"new":"a"}']))
    assert [value.fields["x"] for _, value in decoded(entries, types)] == [2.0, None]
    assert [(bad.row, bad.reason) for bad in entries.bad] == [(1, "field n is 1.5, which is no integer of its type")]


HELD = ['[{"x":1},{"x":2}]', '{"x":1}', '"a text"', "7", "[[1]]", "[]", "null", "{}"]


@pytest.mark.parametrize("seed", range(4))
def test_a_field_of_class_object_takes_anything_in_any_order_and_task(seed: int) -> None:
    """Metadata of a POJO's List or Object field is Object; what records register of its elements makes it nothing else."""
    types = GrowingTypes()
    types.add("free.Value", {"held": codes.OBJECT})
    held = [one for one in HELD if one != "{}"] * 3
    generator(seed).shuffle(held)
    tasks = [record_converter(FREE, types) for _ in range(3)]
    for number, text in enumerate(held):
        entries = tasks[number % 3].convert(consumed([f'{{"held":{text}}}'.encode()]))
        assert not entries.bad, (held, number)
        ((_, value),) = decoded(entries, types)
        assert plain(value.fields["held"]) == json.loads(text)
    entries = record_converter(FREE, types).convert(consumed([f'{{"held":{text}}}'.encode() for text in held]))
    assert not entries.bad
    assert [plain(value.fields["held"]) for _, value in decoded(entries, types)] == list(map(json.loads, held))


@pytest.mark.parametrize("first", HELD)
def test_a_field_that_was_an_object_first_stays_open_for_all_tasks_alike(first: str) -> None:
    types = GrowingTypes()
    task = record_converter(FREE, types)
    task.convert(consumed([b'{"held":{"x":1}}', f'{{"held":{first}}}'.encode()]))
    for one in (task, record_converter(FREE, types)):
        entries = one.convert(consumed([b'{"held":"a text"}', b'{"held":{"x":2}}']))
        assert not entries.bad
        assert [plain(value.fields["held"]) for _, value in decoded(entries, types)] == ["a text", {"x": 2}]


def plain(value: Any) -> Any:
    if isinstance(value, Document):
        return {name: plain(one) for name, one in value.fields.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


def test_a_field_that_two_tasks_learn_otherwise_at_once_is_the_first_ones() -> None:
    types = GrowingTypes()
    first, second = record_converter(FREE, types), record_converter(FREE, types)
    for converter in (first, second):
        converter.convert(consumed([b'{"known":1}']))
    first.convert(consumed([b'{"x":1.5}']))
    entries = second.convert(consumed([b'{"x":1}', b'{"x":"text"}']))
    assert decoded(entries, types)[0][1].fields == {"known": None, "x": 1.0}
    assert [bad.reason for bad in entries.bad] == ["field x is a JSON text where a number is due"]


def test_a_key_type_never_grows_and_is_written_alike_by_all() -> None:
    types = GrowingTypes()
    first, second = record_converter(FREE, types), record_converter(FREE, types)
    one = first.convert(consumed([b"1"], [b'{"b":1,"a":2}']))
    two = second.convert(consumed([b"1", b"2"], [b'{"a":2,"b":1}', b'{"a":2,"b":1,"c":3}']))
    assert one.keys[0] == two.keys[0]
    assert [bad.reason for bad in two.bad] == ["field c is not a field of free.Key, whose fields are fixed since they make the key"]


@pytest.mark.parametrize("count", [2, 50])
def test_a_key_member_that_is_always_null_is_no_field_in_any_run(count: int) -> None:
    types = GrowingTypes()
    given = [f'{{"id":{row},"tenant":null}}'.encode() for row in range(count)]
    converter = record_converter(FREE, types)
    first = converter.convert(consumed([b"1"] * count, given))
    for later in (converter, record_converter(FREE, types), record_converter(FREE, types)):
        again = later.convert(consumed([b"1"] * count, given))
        assert (again.keys, again.bad) == (first.keys, ())
    later = record_converter(FREE, types)
    entries = later.convert(consumed([b"1"] * 3, [b'{"tenant":null,"id":0}', b'{"id":1,"tenant":"x"}', b'{"id":1}']))
    assert entries.keys == first.keys[:2]
    (bad,) = entries.bad
    assert (bad.row, bad.reason) == (1, "field tenant is not a field of free.Key, whose fields are fixed since they make the key")


@pytest.mark.parametrize(("one", "other"), [("", "\\u0000"), ("az", "b["), ("AZ", "b[")])
def test_two_names_of_one_field_id_are_a_bad_record(one: str, other: str) -> None:
    types = GrowingTypes()
    texts = [f'{{"{one}":1}}', f'{{"{other}":2}}', f'{{"{one}":3,"{other}":4}}', f'{{"{one}":5,"{other}":null}}']
    for converter in (record_converter(FREE, types), record_converter(FREE, types)):
        entries = converter.convert(consumed([text.encode() for text in texts]))
        assert entries.rows.tolist() == [0, 3]
        assert [(bad.row, f"has the field id of {one!r}" in bad.reason) for bad in entries.bad] == [(1, True), (2, True)]
