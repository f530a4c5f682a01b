"""Enum constants by each enum policy's form, in JSON without schemas too: by columns and by rows."""

from __future__ import annotations

import pytest

from ignite_kafka.convert.rules.enum_forms import enum_forms
from ignite_kafka.ignite.types.type_table import enum_field
from tests.support.to_ignite_records import GrowingTypes, cache_of, consumed, decoded, record_converter

FORMS = [b'"GREEN"', b'"Color.GREEN"', b'"org.Outer$Color.GREEN"', b"1"]
WRONG = [b'"green"', b'"Outer$Color.GREEN"', b'"BLUE"', b"2", b"-1", b"1.0", b'"1"', b"true", b"[]", b'""']


def types() -> GrowingTypes:
    made = GrowingTypes()
    made.add("org.Outer$Color", {}, enum=["RED", "GREEN"])
    return made


def test_forms_are_those_of_each_policy() -> None:
    field = enum_field("e", types().add("org.Outer$Color", {}, enum=["RED"]))
    assert enum_forms(field) == {"RED": 0, "Color.RED": 0, "org.Outer$Color.RED": 0}
    assert enum_forms(enum_field("e", types().add("Color", {}, enum=["RED"]))) == {"RED": 0, "Color.RED": 0}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 1_000])
def test_each_form_is_a_constant(form: bytes, count: int) -> None:
    cluster, cache = types(), cache_of({"e": "org.Outer$Color"}, key="org.Outer$Color")
    texts = [b'{"e":' + form + b"}"] * count
    entries = record_converter(cache, cluster).convert(consumed(texts, [form] * count))
    assert entries.bad == ()
    assert {(key.name, value.fields["e"].name) for key, value in decoded(entries, cluster)} == {("GREEN", "GREEN")}


@pytest.mark.parametrize("form", WRONG)
def test_other_texts_and_numbers_are_none(form: bytes) -> None:
    cache = cache_of({"e": "org.Outer$Color"})
    entries = record_converter(cache, types()).convert(consumed([b'{"e":"RED"}', b'{"e":' + form + b"}"]))
    assert [(bad.row, bad.reason) for bad in entries.bad] == [(1, "field e is no constant of org.Outer$Color")]
