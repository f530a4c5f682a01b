"""Any values survive both paths; broken bytes end in a right decode or an error of the tree, never in anything else."""

from __future__ import annotations

import struct
from contextlib import suppress
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ignite_kafka.errors import DecodeError, UnsupportedType
from ignite_kafka.ignite.binary import decode_entries, decode_rows, entry_bounds
from ignite_kafka.ignite.binary.row_values import Date, EnumValue, MapValue, Time, Timestamp
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import Page
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, nested_type_ids, number, object_array, page, string, wrapped, written
from tests.support.randomness import examples
from tests.support.value_text import column_form, of_column

TYPES = Types()
COLOR = TYPES.add("Color", {}, enum=["RED", "GREEN"])
POINT = TYPES.add("Point", {"x": codes.LONG, "label": codes.STRING}, ["x", "label"], ["x"], [])
FIELDS = ["number", "text", "amount", "when", "tags", "point", "any", "lookup"]
THING = TYPES.add("Thing", dict.fromkeys(FIELDS, codes.OBJECT), FIELDS, FIELDS[:3], ["text", "any"])
PAYLOAD = bytes.fromhex("66 4dedb30a d206 11 1bdd346d 03000000 12 01000000 61 ff 02000000 04 0200000000000000")
AS_LIST = b"\xfe" + len(PAYLOAD).to_bytes(4, "little") + PAYLOAD  # Arrays.asList("a", "a", 2L)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
SCALARS = st.one_of(
    LONGS,
    st.floats(allow_subnormal=True),
    st.booleans(),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.uuids(),
    st.builds(Date, LONGS),
    st.builds(Time, LONGS),
    st.builds(Timestamp, st.integers(-(1 << 40), 1 << 40), st.integers(0, 999_999_999)),
    st.builds(Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda value: value or abs(value)),
    st.sampled_from([EnumValue(COLOR.type_id, 0, "RED"), EnumValue(COLOR.type_id, 1, "GREEN")]),
)
VALUES = st.recursive(
    st.none() | SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(SCALARS, inner), max_size=3).map(lambda pairs: MapValue(tuple(pairs))),
    max_leaves=8,
)


@st.composite
def points(draw: st.DrawFn) -> bytes:
    fields = {"x": written(draw(st.none() | LONGS)), "label": written(draw(st.none() | st.text(max_size=300)))}
    names = draw(st.sampled_from([["x", "label"], ["x"], []]))
    return binary(POINT, {name: fields[name] for name in names}, compact=draw(st.booleans()), width=draw(st.sampled_from([1, 2, 4])))


@st.composite
def things(draw: st.DrawFn) -> bytes:
    fields = {name: written(draw(VALUES)) for name in FIELDS}
    fields["lookup"] = draw(st.sampled_from([NULL, AS_LIST, fields["lookup"]]))
    fields["point"] = draw(points() | st.just(NULL))
    fields["tags"] = object_array(draw(st.lists(points() | st.just(NULL), max_size=3)))
    names = draw(st.sampled_from([FIELDS, FIELDS[:3], ["text", "any"]]))
    return binary(THING, {name: fields[name] for name in names}, compact=draw(st.booleans()), width=draw(st.sampled_from([1, 2, 4])))


KEYS = st.one_of(LONGS.map(lambda value: number(codes.LONG, value)), st.text(max_size=9).map(string), points().map(wrapped))
ENTRIES = st.lists(st.tuples(KEYS, st.one_of(things().map(wrapped), points(), VALUES.map(written))), max_size=8)


def by_columns(pages: list[Page]) -> list[tuple[Any, Any]]:
    """Entries in order, as the columnar path gives them."""
    found: dict[int, tuple[Any, Any]] = {}
    for group in decode_entries(pages, CACHE, TYPES):
        for array in (group.key, group.value):
            array.validate(full=True)
        keys, values = of_column(group.key, group.key_type.mark), of_column(group.value, group.value_type.mark)
        found |= {int(row): (key, value) for row, key, value in zip(group.rows, keys, values, strict=True)}
    return [found[row] for row in range(len(found))]


def by_rows(pages: list[Page]) -> list[tuple[Any, Any]]:
    return [(column_form(key), column_form(value)) for key, value in decode_rows(pages, CACHE, TYPES)]


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(st.lists(ENTRIES, min_size=1, max_size=3))
def test_both_paths_agree_on_any_values(batches: list[list[tuple[bytes, bytes]]]) -> None:
    pages = [page(entries, partition) for partition, entries in enumerate(batches)]
    rows = by_rows(pages)
    assert len(rows) == sum(map(len, batches))
    assert by_columns(pages) == rows


@st.composite
def broken(draw: st.DrawFn) -> Page:
    """A page with some bytes changed, cut out, doubled or cut off."""
    sound = page(draw(ENTRIES.filter(bool)))
    data = bytearray(sound.data)
    for _ in range(draw(st.integers(1, 4))):
        at, size = draw(st.integers(0, len(data))), draw(st.integers(1, 8))
        kind = draw(st.sampled_from(["change", "change", "change", "cut", "double", "end"]))
        if kind == "change":
            data[at : at + size] = draw(st.binary(min_size=size, max_size=size) | st.sampled_from([b"\xff" * 4, b"\x7f\xff\xff\xff", b"f"]))
        elif kind == "end":
            del data[at:]
        else:
            data[at : at + size] = b"" if kind == "cut" else data[at : at + size] * 2
    return Page(3, sound.rows, memoryview(bytes(data)), True)


@example(one=page([(NULL, struct.pack("<Bib", codes.COLLECTION, 1, 1) * 4_000 + NULL)]))
@example(one=page([(NULL, struct.pack("<Bib", codes.MAP, 1, 1) * 4_000)]))
@settings(max_examples=examples(250), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(broken())
def test_broken_bytes_decode_or_raise_an_error_of_the_tree(one: Page) -> None:
    outcomes: list[Any] = []
    for read in (by_columns, by_rows):
        try:
            outcomes.append(read([one]))
        except (DecodeError, UnsupportedType):
            continue
    if len(outcomes) == 2:
        assert outcomes[0] == outcomes[1]
    with suppress(DecodeError):
        entry_bounds(one)
    with suppress(DecodeError):
        nested_type_ids([one], TYPES)


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=200), st.integers(0, 5))
def test_random_bytes_raise_an_error_of_the_tree(data: bytes, rows: int) -> None:
    for read in (by_columns, by_rows):
        try:
            read([Page(3, rows, memoryview(data), True)])
        except (DecodeError, UnsupportedType):
            continue
