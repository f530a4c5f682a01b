"""Keys that go from one cluster to another with schemas: the same bytes, whether the other cluster knows their types or not."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.to_ignite import ConversionRules, SideRules
from ignite_kafka.ignite.binary.row_values import Timestamp
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, page, string, timestamp, wrapped
from tests.support.ignite_keys import DECIMALS, NO_NAN, OF_CODE, TEXTS, UUIDS, hashed
from tests.support.key_converters import KEY_CONVERTERS
from tests.support.randomness import examples
from tests.support.to_ignite_records import GrowingTypes, consumed, record_converter

WHOLE = st.integers(-(10**12), 10**12).map(lambda millis: timestamp(Timestamp(millis // 1000, millis % 1000 * 1_000_000)))
CARRIED = {
    "id": (codes.LONG, OF_CODE[codes.LONG]), "n": (codes.INT, OF_CODE[codes.INT]), "text": (codes.STRING, TEXTS),
    "at": (codes.TIMESTAMP, WHOLE), "price": (codes.DECIMAL, DECIMALS), "ratio": (codes.FLOAT, NO_NAN),
}  # fmt: skip
KNOWN = CARRIED | {
    "who": (codes.UUID, UUIDS), "day": (codes.DATE, OF_CODE[codes.DATE]),
    "sign": (codes.CHAR, st.integers(0, 0xFFFF).map(lambda unit: struct.pack("<BH", codes.CHAR, unit))),
    "color": (codes.ENUM, OF_CODE[codes.ENUM].map(lambda data: bytes([codes.ENUM]) + data[1:])),  # as of a Java class
}  # fmt: skip
FREE = CacheInfo("copy", 2)
RULES = ConversionRules(key=SideRules("json", {"schemas.enable": "true"}))


def to_other_cluster(keys: list[bytes], here: Types, there: GrowingTypes, form: str = "schemas") -> list[bytes]:
    """The keys' bytes in the other cluster, by the records that a source writes of them."""
    pages = [page([(wrapped(key), NULL) for key in keys])]
    records = KEY_CONVERTERS[form]().convert(pages, CACHE, here, in_order=True)
    entries = record_converter(FREE, there, RULES).convert(consumed([None] * len(keys), records.keys.to_pylist()))
    assert entries.bad == ()
    return list(entries.keys.to_pylist())


def enum_types() -> GrowingTypes:
    types = GrowingTypes()
    types.add("Color", {}, enum=["RED", "GREEN", "BLUE"])
    return types


@pytest.mark.parametrize("known", [False, True])
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_key_has_the_bytes_of_the_other_cluster(known: bool, data: st.DataObject) -> None:
    fields = KNOWN if known else CARRIED
    names = data.draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, unique=True), "order")
    here, there = enum_types(), enum_types()
    for types in [here, there] if known else [here]:
        kind = types.add("org.Key", {name: fields[name][0] for name in names})
    given_keys = []
    for _ in range(data.draw(st.integers(1, 5), "count")):
        values = {name: data.draw(st.just(NULL) | fields[name][1], name) for name in names}
        given_keys.append(hashed(binary(kind, values)))
    assert to_other_cluster(given_keys, here, there, "schemas-full-names") == given_keys
    assert len(there.binary_type(kind.type_id).schemas) == 1


def test_a_null_whose_type_nobody_knows_is_a_field_of_the_key() -> None:
    here, there = Types(), GrowingTypes()
    kind = here.add("org.Key", {"any": codes.OBJECT, "id": codes.STRING})
    keys = [hashed(binary(kind, {"any": value, "id": string("a")})) for value in (NULL, string("b"))]
    for key in keys:  # one batch after the other
        assert to_other_cluster([key], here, there) == [key]
