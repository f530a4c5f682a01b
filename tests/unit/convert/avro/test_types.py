"""Avro schemas and their JSON: members in Java's order, names within their namespace, one form a type."""

from __future__ import annotations

import json
from typing import Any

import fastavro
import pytest

from ignite_kafka.common.record_limits import MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES
from ignite_kafka.convert.avro.types import AvroField, AvroType, parse, to_text
from ignite_kafka.errors import UnsupportedType

INNER = AvroType("record", "a.B", fields=(AvroField("x", AvroType("int")),))


def test_a_type_that_occurs_again_is_written_by_its_name() -> None:
    other = AvroType("record", "c.D", fields=(AvroField("again", INNER),))
    outer = AvroType(
        "record", "a.Outer", "doc", (AvroField("one", INNER), AvroField("two", INNER, default=None), AvroField("three", other))
    )
    text = to_text(outer)
    assert text == (
        '{"type":"record","name":"Outer","namespace":"a","doc":"doc","fields":[{"name":"one","type":{"type":"record","name":"B","fields":'
        '[{"name":"x","type":"int"}]}},{"name":"two","type":"B","default":null},{"name":"three","type":{"type":"record","name":"D",'
        '"namespace":"c","fields":[{"name":"again","type":"a.B"}]}}]}'
    )
    assert parse(text) == outer
    fastavro.parse_schema(json.loads(text))


def test_a_type_without_a_namespace_within_one_that_has_one() -> None:
    outer = AvroType("record", "a.Outer", fields=(AvroField("e", AvroType("enum", "Color", symbols=("RED",), default="RED")),))
    assert '"name":"Color","namespace":""' in to_text(outer)
    assert parse(to_text(outer)) == outer


def test_two_forms_of_one_type_are_refused() -> None:
    changed = AvroType("record", "a.B", fields=(AvroField("y", AvroType("int")),))
    with pytest.raises(UnsupportedType, match=r"the fields of a\.B differ"):
        to_text(AvroType("record", "a.Outer", fields=(AvroField("one", INNER), AvroField("two", changed))))


def test_the_remedy_for_a_type_that_contains_itself_is_not_another_policy() -> None:
    """EAGER may be set already, and would not help."""
    null = AvroType("null")
    link = AvroType("record", "a.Link", fields=(AvroField("parent", null),))
    for _ in range(2):
        link = AvroType("record", "a.Link", fields=(AvroField("parent", AvroType("union", branches=(null, link))),))
    with pytest.raises(UnsupportedType, match=r"the type a\.Link contains itself, in field parent: ") as raised:
        to_text(link)
    assert raised.value.remedy == "Use converter json, or json-schema"


def test_names_are_resolved_as_avro_does() -> None:
    text = '{"type":"record","name":"x.A","fields":[{"name":"f","type":{"type":"fixed","name":"F","size":2}},{"name":"g","type":"x.F"}]}'
    parsed = parse(text)
    assert parsed.name == "x.A"
    assert [one.type.name for one in parsed.fields] == ["x.F", "x.F"]
    assert parse('{"type":{"type":"int","logicalType":"date"}}').property("logicalType") == "date"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is no JSON"),
        ('"other"', "unknown type other"),
        ("5", "has 5 where a type belongs"),
        ('{"type":"record","fields":[]}', "without a name"),
        ('{"type":"record","name":"A","fields":[{"name":"f","type":["null","A"]}]}', "A contains itself"),
        ('{"type":"record","name":"A"}', "has the fields null"),
        ('{"type":"record","name":"A","fields":["a"]}', 'has the field "a"'),
        ('{"type":"record","name":"A","fields":[{"type":"int"}]}', "without a name"),
        ('{"type":"record","name":"A","fields":[{"name":"a"}]}', "has null where a type belongs"),
        ('{"type":"record","name":"A","fields":[{"name":"\\ud800","type":"int"}]}', "half of a surrogate pair"),
        ('{"type":"enum","name":"A","symbols":[1]}', "has the symbol 1"),
        ('{"type":"fixed","name":"A","size":-1}', "has the size -1"),
    ],
)
def test_what_is_no_schema_that_columns_can_hold(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedType, match=reason):
        parse(text)


def doubling(levels: int) -> str:
    """A schema whose records use the record before twice."""
    inner: dict[str, Any] = {"type": "record", "name": "R0", "fields": [{"name": "a", "type": "int"}]}
    for level in range(1, levels):
        fields = [{"name": "x", "type": inner}, {"name": "y", "type": f"R{level - 1}"}]
        inner = {"type": "record", "name": f"R{level}", "fields": fields}
    return json.dumps(inner)


def test_a_type_counts_wherever_it_is_used() -> None:
    parse(doubling(12))
    for levels in (13, 18, 90):
        with pytest.raises(UnsupportedType, match=f"more than {MAX_SCHEMA_NODES} types once each name is replaced by its type"):
            parse(doubling(levels))


@pytest.mark.parametrize("levels", [MAX_SCHEMA_DEPTH, 900, 100_000])
def test_a_schema_that_is_nested_too_deep_is_refused(levels: int) -> None:
    text = '{"type":"array","items":' * levels + '"int"' + "}" * levels
    with pytest.raises(UnsupportedType, match=f"nested more than {MAX_SCHEMA_DEPTH} levels deep"):
        parse(text)
    parse('{"type":"array","items":' * (MAX_SCHEMA_DEPTH - 1) + '"int"' + "}" * (MAX_SCHEMA_DEPTH - 1))
