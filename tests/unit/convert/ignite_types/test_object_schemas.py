"""What values of a wide type are stored as depends on the record and on what is declared, not on the records before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ignite_kafka.common.record_limits import MAX_SCHEMA_FIELDS
from ignite_kafka.convert.ignite_types import known_type
from ignite_kafka.convert.ignite_types.object_schemas import ObjectSchemas
from ignite_kafka.convert.to_ignite import ConversionRules, RecordConverter, SideRules
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.java.hash_code import java_hash
from tests.support.ignite_bytes import schema_id
from tests.support.randomness import generator
from tests.support.to_ignite_records import GrowingTypes, cache_of, consumed, decoded, record_converter

FREE = CacheInfo("free", 2)
DECLARED = cache_of({"z": "java.lang.Long", "a": "java.lang.String"}, value="free.Value")
_SCHEMA_ID = slice(16, 20)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """All types have the form of those of many fields."""
    monkeypatch.setattr(known_type, "MAX_DENSE_FIELDS", 0)


def values_of(converter: RecordConverter, *texts: bytes) -> list[bytes]:
    entries = converter.convert(consumed(texts))
    assert not entries.bad
    return list(entries.values.to_pylist())


def plain(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


_INT = {"type": "int64", "optional": True}


def schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        fields = [{"field": name, **schema_of(one)} for name, one in value.items()]
        return {"type": "struct", "optional": True, "fields": fields}
    if isinstance(value, list):
        fields = [{"field": name, **_INT} for name in dict.fromkeys(name for one in value for name in one)]
        return {"type": "array", "optional": True, "items": {"type": "struct", "optional": True, "fields": fields}}
    return {"type": "string", "optional": True} if isinstance(value, str) else _INT


def enveloped(value: dict[str, Any]) -> bytes:
    return json.dumps({"schema": schema_of(value), "payload": value}).encode()


RULES: dict[Callable[[dict[str, Any]], bytes], ConversionRules] = {
    plain: ConversionRules(),
    enveloped: ConversionRules(value=SideRules(properties={"schemas.enable": "true"})),
}


def records() -> list[dict[str, Any]]:
    chance = generator(3)

    def some(names: str, made: Callable[[], Any], of: float = 0.4) -> dict[str, Any]:
        return {name: made() for name in chance.sample(names, len(names)) if chance.random() < of}

    def one() -> dict[str, Any]:
        value = {"id": 1, **some("zcbd", lambda: chance.choice([1, 2])), **some("a", lambda: "text")}
        if chance.random() < 0.4:
            value["o"] = some("xyw", lambda: 3) or {"x": 1}
        if chance.random() < 0.3:
            value["l"] = [{"p": 1, **some("qr", lambda: 4)} for _ in range(2)]
        return dict(chance.sample(list(value.items()), len(value)))

    return [one() for _ in range(60)]


FULL = {"id": 1, "a": "t", "b": 1, "c": 1, "d": 1, "z": 1, "o": {"x": 1, "y": 1, "w": 1}, "l": [{"p": 1, "q": 1, "r": 1}]}


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("cache", [FREE, DECLARED], ids=["undeclared", "declared"])
@pytest.mark.parametrize("form", [plain, enveloped])
def test_no_record_changes_what_others_are_stored_as(cache: CacheInfo, form: Callable[[dict[str, Any]], bytes]) -> None:
    given = records()
    texts = [form(one) for one in given]
    by = RULES[form]
    alone = [values_of(record_converter(cache, GrowingTypes(), by), text)[0] for text in texts]
    for before in ([], [form(FULL)], texts[::-1]):
        converter = record_converter(cache, GrowingTypes(), by)
        for one in before:
            values_of(converter, one)
        assert values_of(converter, *texts) == alone
        assert [values_of(converter, text)[0] for text in texts] == alone


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("form", [plain, enveloped])
def test_declared_fields_are_stored_in_their_order_and_others_by_name_if_they_have_a_value(
    form: Callable[[dict[str, Any]], bytes],
) -> None:
    types = GrowingTypes()
    converter = record_converter(DECLARED, types, RULES[form])
    given: Sequence[dict[str, Any]] = [{"c": 1, "b": 2, "id": 7}, {"id": None, "a": "x", "b": None}, {"B": 3, "z": 1}, {"c": None}]
    data = values_of(converter, *map(form, given))
    wanted = [["z", "a", "b", "c", "id"], ["z", "a"], ["z", "a", "b"], ["z", "a"]]
    assert [int.from_bytes(one[_SCHEMA_ID], "little", signed=True) for one in data] == [schema_id(one) for one in wanted]
    assert types.known[java_hash("free.value")].schemas.keys() == {schema_id(one) for one in wanted}


@pytest.mark.usefixtures("wide")
def test_a_record_without_a_value_is_an_object_without_fields() -> None:
    types = GrowingTypes()
    converter = record_converter(FREE, types)
    values_of(converter, b'{"a":1}')
    entries = converter.convert(consumed([b'{"a":null}', b"{}", b'{"a":2}']))
    assert [value.fields["a"] for _, value in decoded(entries, types)] == [None, None, 2]
    assert [len(value) for value in entries.values.to_pylist()] == [24, 24, 24 + 9 + 1]


@pytest.mark.usefixtures("wide")
def test_beyond_the_budget_of_a_type_its_objects_have_all_fields() -> None:
    types, chance = GrowingTypes(), generator(9)
    converter = record_converter(FREE, types)
    given = [{f"k{number}": 1 for number in chance.sample(range(200), 3)} for _ in range(2_000)]
    entries = converter.convert(consumed([plain(one) for one in given]))
    assert [{name: one for name, one in value.fields.items() if one is not None} for _, value in decoded(entries, types)] == given
    schemas = types.known[java_hash("free.value")].schemas.values()
    *exact, whole = sorted(schemas, key=len)
    assert (len(whole), {len(one) for one in exact}) == (200, {3})
    assert MAX_SCHEMA_FIELDS - 13 < len(exact) * 13 <= MAX_SCHEMA_FIELDS
    again = converter.convert(consumed([plain(one) for one in given]))
    assert again.values == entries.values
    assert record_converter(FREE, types).convert(consumed([plain(one) for one in given])).values == entries.values
    assert len(types.known[java_hash("free.value")].schemas) == len(schemas)


def test_schemas_that_the_cluster_holds_are_accepted_whatever_the_budget() -> None:
    types = GrowingTypes()
    held = types.add("T", {"a": 4, "b": 4}, "ab").schemas
    schemas = ObjectSchemas(types)
    big = tuple(range(MAX_SCHEMA_FIELDS))
    assert schemas.accepted("T", [big, (), *held.values()], limited=True) == [False, True, True]
    assert list(schemas.new("T").values()) == [()]
    assert schemas.accepted("T", [big], limited=False) == [True]
    assert list(schemas.new("T").values()) == [(), big]


def test_values_of_a_narrow_type_have_all_its_fields_in_its_order() -> None:
    """As those of a Java class, whose objects are compared byte by byte."""
    types = GrowingTypes()
    types.add("free.Value", {"z": 4, "a": 4}, "za")
    converter = record_converter(FREE, types)
    data = values_of(converter, b'{"a":1}', b'{"z":1}', b'{"a":null,"z":2}')
    assert {int.from_bytes(one[_SCHEMA_ID], "little", signed=True) for one in data} == {schema_id(["z", "a"])}
    limit = known_type.MAX_DENSE_FIELDS
    values_of(converter, plain({f"k{number}": number for number in range(limit - 2)}))
    (narrow,) = values_of(converter, b'{"a":1}')
    values_of(converter, b'{"one_more":1}')
    (sparse,) = values_of(converter, b'{"a":1}')
    assert (len(narrow) > limit, len(sparse)) == (True, 24 + 9 + 1)


@pytest.mark.parametrize("order", [1, -1])
def test_a_wide_type_costs_no_column_for_fields_that_no_record_has(order: int) -> None:
    """Also where a name has escapes or another case, which the search for names does not see."""
    types = GrowingTypes()
    converter = record_converter(FREE, types)
    values_of(converter, plain({f"k{number}": number for number in range(1_000)}))
    texts = [b'{"k1":1,"k2":2}', b'{"k\\u0033":3}', b'{"K4":4,"o":{"p":[":k5",":","k6"]}}', b'{"o":{"p":["\\"k7\\":"]},"k8":8}'][::order]
    found = values_of(converter, *texts)
    assert found == [values_of(record_converter(FREE, types), text)[0] for text in texts]
    entries = converter.convert(consumed(texts))
    met = [{name for name, one in value.fields.items() if one is not None} for _, value in decoded(entries, types)][::order]
    assert met == [{"k1", "k2"}, {"k3"}, {"k4", "o"}, {"k8", "o"}]
