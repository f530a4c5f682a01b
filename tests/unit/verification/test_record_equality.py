"""Fields that a class got later, or that the first value of its type lacks, are left out of what is expected; nothing else is."""

from __future__ import annotations

import pytest

from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.verification.record_equality import ValueReader, drop_missing_fields, drop_newer_fields


@pytest.mark.parametrize(
    ("expected", "found", "older", "first"),
    [
        ({"a": 1, "b": None}, {"a": 1}, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1}),
        ({"a": None}, {"a": 1}, {"a": None}, {"a": None}),
        ({"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, {"a": {"c": 1}}, {"a": {"c": 1}}),
        ([{"a": None}, {"a": 1}], [{}, {"a": 1}], [{}, {"a": 1}], [{}, {"a": 1}]),
        ([{"a": None}], [], [{"a": None}], [{"a": None}]),
        (("Car", {"a": 1, "b": None}), ("Car", {"a": 1}), ("Car", {"a": 1}), ("Car", {"a": 1})),
        ({"a": {"b": 1}}, {}, {"a": {"b": 1}}, {}),
    ],
)
def test_the_part_that_a_record_may_have(expected: object, found: object, older: object, first: object) -> None:
    assert drop_newer_fields(expected, found) == older
    assert drop_missing_fields(expected, found) == first


def test_values_are_read_with_the_name_of_their_schema() -> None:
    settings = SourceSettings(name="c", value_converter="json", value_converter_config={"schemas.enable": "true"})
    car = b'{"schema":{"type":"struct","fields":[{"type":"int64","field":"a"}],"optional":false,"name":"Car"},"payload":{"a":1}}'
    other = car.replace(b'"Car"', b'"Bus"')
    assert ValueReader(settings, "t").read([car, None, b"?", other]) == [("Car", {"a": 1}), None, None, ("Bus", {"a": 1})]


def test_values_without_schemas_are_not_read() -> None:
    assert ValueReader(SourceSettings(name="c", value_converter="ignite-binary"), "t").read([b"\1\2"]) == [None]
    assert ValueReader(SourceSettings(name="c"), "t").read([b'{"a":1}']) == [None]
