"""Columns of a source's records: the selected ones after the transforms; empty if they are uncertain."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ignite_kafka.lineage.columns import cache_columns, record_columns
from ignite_kafka.ignite.types.model import QueryEntity, QueryField
from ignite_kafka.settings.source import SourceSettings

KAFKA = "org.apache.kafka.connect.transforms."
ENTITY = QueryEntity(
    "Key",
    "Flight",
    fields=(
        QueryField("id", "java.lang.Long", is_key=True),
        QueryField("cityName", "java.lang.String"),
        QueryField("delay", "java.lang.Integer"),
    ),
    aliases=(("cityName", "CITY_NAME"),),
)
OTHER = QueryEntity("Key", "Train", fields=(QueryField("delay", "java.lang.Long"),))
TEXT, INT = "java.lang.String", "java.lang.Integer"


def columns(select: str, *entities: QueryEntity, **more: Any) -> list[tuple[str, str | None]]:
    settings = SourceSettings.from_dict({"name": "c", "select": select, **more})
    return list(record_columns(settings, "flights", entities))


def transformed(*transforms: dict[str, str], **more: Any) -> list[tuple[str, str | None]]:
    config = {f"t{number}": one for number, one in enumerate(transforms)}
    return columns("delay, CITYNAME AS city", ENTITY, transforms=list(config), transform_config=config, **more)


def test_records_have_the_fields_of_select_under_their_new_names() -> None:
    assert columns("delay, CITYNAME AS City", ENTITY) == [("delay", INT), ("City", TEXT)]
    assert columns("cityname", ENTITY) == [("cityName", TEXT)]
    assert columns("delay", ENTITY, overrides={"fl.*": {"select": "cityName"}}) == [("cityName", TEXT)]


def test_a_type_that_is_not_known_is_left_out() -> None:
    assert columns("delay, gate AS g", ENTITY, OTHER) == [("delay", None), ("g", None)]
    assert columns("id AS number", ENTITY) == [("number", None)]  # a field of the key; values may have a field of the same name
    assert columns("cityName AS city") == [("city", None)]


def test_columns_that_are_not_certain_are_none() -> None:
    assert columns("", ENTITY) == []  # values may have fields that no query entity names
    assert columns("gate, delay", ENTITY) == []  # the case of gate depends on its type
    assert columns("delay", ENTITY, value_converter="string") == []


def test_transforms_that_replace_or_mask_fields_are_followed() -> None:
    renames = {"type": f"{KAFKA}ReplaceField$Value", "renames": "city:town,absent:x"}
    assert transformed(renames) == [("delay", INT), ("town", TEXT)]
    assert transformed(renames, {"type": f"{KAFKA}ReplaceField$Value", "exclude": "delay"}) == [("town", TEXT)]
    assert transformed(renames, {"type": f"{KAFKA}ReplaceField$Value", "include": "delay, city"}) == [("delay", INT)]
    assert transformed({"type": f"{KAFKA}MaskField$Value", "fields": "city"}) == [("delay", INT), ("city", None)]
    route = {"type": f"{KAFKA}RegexRouter", "regex": "a", "replacement": "b"}
    assert transformed(route, {"type": f"{KAFKA}ReplaceField$Key", "exclude": "delay"}) == [("delay", INT), ("city", TEXT)]


@pytest.mark.parametrize(
    "transform",
    [
        {"type": f"{KAFKA}Cast$Value", "spec": "delay:string"}, {"type": f"{KAFKA}InsertField$Value", "topic.field": "topic"},
        {"type": f"{KAFKA}ExtractField$Value", "field": "city"}, {"type": "acme.transforms:anything"},
        {"type": f"{KAFKA}ReplaceField$Value", "renames": "city:delay"},
    ],
)  # fmt: skip
def test_other_transforms_make_columns_that_are_not_known(transform: dict[str, str]) -> None:
    assert transformed(transform) == []


def test_a_transform_of_some_records_makes_two_schemas() -> None:
    predicates = {"predicates": ["p"], "predicate_config": {"p": {"type": f"{KAFKA}predicates.RecordIsTombstone"}}}
    some = {"type": f"{KAFKA}ReplaceField$Value", "exclude": "city", "predicate": "p"}
    assert transformed(some, **predicates) == []


def test_a_cache_has_its_columns_of_keys_and_values() -> None:
    assert cache_columns([ENTITY, OTHER]) == (("id", "java.lang.Long"), ("CITY_NAME", TEXT), ("delay", "java.lang.Long"))
