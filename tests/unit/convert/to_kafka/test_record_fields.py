"""Keys and timestamps of records from fields of entries."""

from __future__ import annotations

import struct

import pytest

from ignite_kafka.convert import converter
from ignite_kafka.convert.to_kafka.converter import Converter
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.settings.source import SourceSettings
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, collection, number, page, string

TYPES = Types()
KEY = TYPES.add("OrderKey", {"branch": codes.INT, "id": codes.LONG}, ["branch", "id"])
ORDER = TYPES.add(
    "Order", {"symbol": codes.STRING, "qty": codes.INT, "at": codes.LONG, "day": codes.TIMESTAMP}, ["symbol", "qty", "at", "day"]
)
AT = 1_767_225_600_123


def of(*record_key: str, timestamp: str = "", key: str = "json", value: str = "json") -> Converter:
    return converter(
        SourceSettings(name="c", record_key=record_key, record_timestamp_field=timestamp, key_converter=key, value_converter=value)
    )


def order(symbol: bytes = NULL, at: bytes = NULL, day: bytes = NULL) -> bytes:
    return binary(ORDER, {"symbol": symbol, "qty": number(codes.INT, 5), "at": at, "day": day})


def key(branch: int) -> bytes:
    return binary(KEY, {"branch": number(codes.INT, branch), "id": number(codes.LONG, 7)})


def keys(made: Converter, *entries: tuple[bytes, bytes]) -> list[bytes]:
    records = made.convert([page(list(entries))], CACHE, TYPES, in_order=True)
    assert (records.key_kinds, records.key_types) == (frozenset(), frozenset())
    return list(records.keys.to_pylist())


def test_one_field_is_the_key_itself_and_several_are_an_object() -> None:
    entries = (key(1), order(string("A"))), (key(2), order(string("B")))
    assert keys(of("symbol"), *entries) == [b'"A"', b'"B"']
    assert keys(of("SYMBOL", key="string"), *entries) == [b"A", b"B"]
    assert keys(of("key.branch", "symbol"), *entries) == [b'{"branch":1,"symbol":"A"}', b'{"branch":2,"symbol":"B"}']
    assert keys(of("key.branch", key="integer", value="ignite-binary"), *entries) == [struct.pack(">i", 1), struct.pack(">i", 2)]


def test_fields_of_the_key_make_the_key_of_a_removed_entry_too() -> None:
    assert keys(of("key.branch"), (key(3), NULL)) == [b"3"]
    with pytest.raises(UnsupportedType, match="the entry's value has no field symbol: it is no object"):
        keys(of("symbol"), (key(3), NULL))


@pytest.mark.parametrize("names", [("any",), ("any", "key.branch")])
def test_a_null_among_values_of_several_types_is_no_key(names: tuple[str, ...]) -> None:
    types = Types()
    kind = types.add("Any", {"any": codes.OBJECT})
    types.add("OrderKey", {"branch": codes.INT, "id": codes.LONG}, ["branch", "id"])
    entries = [(key(row), binary(kind, {"any": value})) for row, value in enumerate([number(codes.INT, 5), string("x"), NULL])]
    assert len(of(*names).convert([page(entries[:2])], CACHE, types).keys) == 2
    with pytest.raises(UnsupportedType, match=r"field any, which is to make the record's key \(record_key\), is null"):
        of(*names).convert([page(entries)], CACHE, types)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (of("symbol"), r"field symbol, which is to make the record's key \(record_key\), is null"),
        (of("price"), r"the entry's value has no field price \(but symbol, qty, at, day"),
        (of(timestamp="at"), r"field at, which is to be the record's time \(record_timestamp_field\), is null or not after 1970"),
        (of(timestamp="symbol"), "is of type string. Name a date, a timestamp or a long"),
        (of(timestamp="qty"), "is of type int32"),
    ],
)
def test_entries_without_the_field_are_bad(made: Converter, message: str) -> None:
    with pytest.raises(UnsupportedType, match=message.replace(". Name", ".*Name")):
        made.convert([page([(key(1), order())])], CACHE, TYPES)


def test_times_of_records() -> None:
    entries = [(key(1), order(at=number(codes.LONG, AT))), (key(2), order(at=number(codes.LONG, 5)))]
    times = of(timestamp="at").convert([page(entries)], CACHE, TYPES, in_order=True).times_ms
    assert times is not None
    assert times.tolist() == [AT, 5]
    moment = struct.pack("<Bqi", codes.TIMESTAMP, AT, 999)
    times = of(timestamp="day").convert([page([(key(1), order(day=moment))])], CACHE, TYPES).times_ms
    assert times is not None
    assert times.tolist() == [AT]
    removed = of(timestamp="at").convert([page([(key(1), NULL)])], CACHE, TYPES).times_ms
    assert removed is not None
    assert removed.tolist() == [0]
    assert of().convert([page(entries)], CACHE, TYPES).times_ms is None
    with pytest.raises(UnsupportedType, match="not after 1970"):
        of(timestamp="at").convert([page([(key(1), order(at=number(codes.LONG, -1)))])], CACHE, TYPES)


@pytest.mark.parametrize("names", [("place",), ("symbol", "place"), ("places",)])
@pytest.mark.parametrize("properties", [{}, {"schemas.enable": "true"}])
@pytest.mark.parametrize("policy", ["LAZY", "EAGER"])
def test_objects_in_keys_keep_their_bytes_when_their_class_gets_a_field(
    names: tuple[str, ...], properties: dict[str, str], policy: str
) -> None:
    made = converter(SourceSettings(name="c", record_key=names, key_converter_config=properties, field_nullability_policy=policy))

    def key_of_record(*later: str) -> bytes:
        types = Types()
        types.add("OrderKey", {"branch": codes.INT, "id": codes.LONG})
        own = {"x": codes.LONG, "note": codes.STRING}
        place = types.add("Place", own | dict.fromkeys(later, codes.LONG), list(own), *([[*own, *later]] if later else []))
        trade = types.add("Trade", {"symbol": codes.STRING, "place": codes.OBJECT, "places": codes.COLLECTION})
        inner = binary(place, {"x": number(codes.LONG, 5), "note": NULL})
        value = binary(trade, {"symbol": string("A"), "place": inner, "places": collection([inner])})
        keys: list[bytes] = made.convert([page([(key(1), value)])], CACHE, types, topic="t").keys.to_pylist()
        return keys[0]

    assert key_of_record() == key_of_record("later")
    assert b'"x":5,"note":null' in key_of_record()
