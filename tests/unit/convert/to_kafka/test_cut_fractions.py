"""Timestamps with fractions of a millisecond: noted once for each cache and side, wherever in an entry they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from ignite_kafka import events
from ignite_kafka.convert.json.converter import JsonConverter
from ignite_kafka.convert.json_with_schemas.serializer import ConnectJsonSerializer
from ignite_kafka.convert.scalars.text import StringSerializer
from ignite_kafka.convert.to_kafka.connect_side import ConnectSide, SchemaPolicy
from ignite_kafka.convert.to_kafka.converter import KeyConverter
from ignite_kafka.convert.to_kafka.entry_converter import EntryConverter
from ignite_kafka.ignite.binary.row_values import Timestamp
from ignite_kafka.ignite.types import type_codes as codes
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, collection, mapping, number, page, string, timestamp

TYPES = Types()
TRADE = TYPES.add("Trade", {"at": codes.TIMESTAMP, "all": codes.COLLECTION, "by": codes.MAP})
NOTHING = dict.fromkeys(("at", "all", "by"), NULL)
WHOLE, FINE = timestamp(Timestamp(1_700_000_000, 5_000_000)), timestamp(Timestamp(1_700_000_000, 5_123_456))
SIDES: dict[str, Callable[[str], KeyConverter]] = {
    "json": JsonConverter,
    "json with schemas": lambda part: ConnectSide(part, ConnectJsonSerializer(), SchemaPolicy(), JsonConverter(part)),
    "string": lambda part: ConnectSide(part, StringSerializer(), SchemaPolicy(), JsonConverter(part)),
}


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    events.take_notes()
    yield
    events.take_notes()


def noted(key: KeyConverter | None, value: KeyConverter | None, *entries: tuple[bytes, bytes]) -> list[tuple[str, str]]:
    """Sides and converters of the events that the conversion of some caches' entries notes."""
    made = EntryConverter(key, value)
    for cache in (CACHE, CACHE, replace(CACHE, name="other")):
        made.convert([page(entries)], cache, TYPES)
    found = events.take_notes()
    assert {id for id, _ in found} <= {events.FRACTIONS_CUT.id}
    fields = [dict(fields) for _, fields in found]
    assert {one["cache"] for one in fields} in (set(), {CACHE.name, "other"})
    return sorted({(one["part"], one["converter"]) for one in fields})


@pytest.mark.parametrize("name", SIDES)
def test_a_fraction_is_noted_by_every_converter_that_cuts_it(name: str) -> None:
    side, key = SIDES[name], number(codes.INT, 1)
    assert noted(JsonConverter("key"), side("value"), (key, FINE), (key, WHOLE)) == [("value", side("value").name)]
    assert noted(JsonConverter("key"), side("value"), (key, WHOLE)) == []
    assert noted(None, side("value"), (FINE, WHOLE)) == []
    assert noted(JsonConverter("key"), JsonConverter("value"), (FINE, WHOLE)) == [("key", "json")]


@pytest.mark.parametrize(
    "value",
    [
        {"at": FINE},
        {"all": collection([WHOLE, FINE])},
        {"all": collection([string("x"), FINE])},
        {"by": mapping([(string("x"), FINE)])},
    ],
)
def test_a_fraction_within_an_object_is_noted(value: dict[str, bytes]) -> None:
    key = number(codes.INT, 1)
    assert noted(JsonConverter("key"), JsonConverter("value"), (key, binary(TRADE, NOTHING | value))) == [("value", "json")]
    whole = {name: data.replace(FINE, WHOLE) for name, data in value.items()}
    assert noted(JsonConverter("key"), JsonConverter("value"), (key, binary(TRADE, NOTHING | whole))) == []
