"""Caches that a Java client wrote, with every type: our JSON against the row decoder, which shares no code with the columns."""

from __future__ import annotations

import base64
import itertools
import struct
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.binary import decode_rows, entry_bounds, raw_entries
from ignite_kafka.ignite.binary import row_values as rows
from ignite_kafka.ignite.types.model import Page
from tests.support.connect_json import DAY_MS, Object, parsed
from tests.support.converters import converter
from tests.support.java_caches import PREFIX, Read

NOT_JSON = ("loop", "raw", "optimized")
CACHES = (
    "flat", "nested", "object_key", "string_key", "uuid_key", "enum_key", "date_key", "decimal_key", "any_key", "plain", "evolved",
    "shared", "empty", "times", "sql_date", "local_date", "local_date_time", "instant", "local_time", "tree_map",
    "list_of", "class_value",
)  # fmt: skip


def agrees(found: Any, value: Any) -> bool:
    """Whether parsed JSON (decimal.format NUMERIC) is the form of a decoded row's value."""
    match value:
        case rows.Document():
            found = dict(found.members) if isinstance(found, Object) else None
            return (
                isinstance(found, dict) and list(found) == list(value.fields) and all(agrees(found[k], v) for k, v in value.fields.items())
            )
        case rows.MapValue():
            return map_agrees(found, value)
        case list():
            return isinstance(found, list) and len(found) == len(value) and all(map(agrees, found, value))
        case float():
            return float_agrees(found, value)
        case Decimal():
            value = value if value else value.copy_abs()
            return not isinstance(found, str) and Decimal(found).as_tuple() == value.as_tuple()
        case _:
            wanted = plain(value)
            return type(found) is type(wanted) and bool(found == wanted)


def map_agrees(found: Any, value: rows.MapValue) -> bool:
    pairs = [(plain(key) if not isinstance(key, rows.Document) else key, item) for key, item in value.items]
    if all(isinstance(key, str) for key, _ in pairs):
        return (
            isinstance(found, Object)
            and len(found.members) == len(pairs)
            and all(name == key and agrees(member, item) for (name, member), (key, item) in zip(found.members, pairs, strict=True))
        )
    return (
        isinstance(found, list)
        and len(found) == len(pairs)
        and all(agrees(pair[0], key) and agrees(pair[1], item) for pair, (key, item) in zip(found, value.items, strict=True))
    )


def float_agrees(found: Any, value: float) -> bool:
    """Rows do not tell float from double: the shortest digits of either will do."""
    if value != value or value in (float("inf"), float("-inf")):
        return bool(found == ("NaN" if value != value else "Infinity" if value > 0 else "-Infinity"))
    double = struct.pack("<d", float(found)) == struct.pack("<d", value)
    return isinstance(found, Decimal) and (double or (float(np.float32(value)) == value and np.float32(found) == np.float32(value)))


def plain(value: Any) -> Any:
    """JSON of a value without values inside."""
    match value:
        case uuid.UUID():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case rows.EnumValue() | rows.ClassName():
            return value.name
        case rows.Date():
            return value.millis
        case rows.Timestamp() | rows.Instant():
            return value.seconds * 1000 + value.nanos // 1_000_000
        case rows.Time():
            return value.millis if 0 <= value.millis <= DAY_MS else value.millis % DAY_MS
        case rows.SqlDate():
            return value.millis // DAY_MS
        case rows.LocalDate():
            return value.epoch_day
        case rows.LocalTime():
            return value.nanos // 1_000_000
        case rows.LocalDateTime():
            return value.date.epoch_day * DAY_MS + value.time.nanos // 1_000_000
        case _:
            return value


def single(page: Page) -> Iterator[Page]:
    """Each entry of a page as a page of its own."""
    cuts = [*entry_bounds(page).key_start.tolist(), len(page.data)]
    if page.data[0] == 27:
        cuts = [cut - 5 if cut < len(page.data) else cut for cut in cuts]
    for first, last in itertools.pairwise(cuts):
        yield Page(page.partition, 1, page.data[first:last], True)


@pytest.mark.parametrize("name", CACHES)
def test_json_of_every_entry_agrees_with_the_row_decoder(read: Callable[[str], Read], name: str) -> None:
    cache = read(name)
    made = converter("json", decimal_format="NUMERIC", field_nullability_policy="EAGER")
    for page in cache.pages:
        records = [made.convert([one], cache.info, cache.cluster) for one in single(page)]
        for record, (key, value) in zip(records, decode_rows([page], cache.info, cache.cluster), strict=True):
            assert agrees(parsed(record.keys[0].as_py()), key), (record.keys[0], key)
            assert agrees(parsed(record.values[0].as_py()), value), (record.values[0], value)


@pytest.mark.parametrize("policy", ["LAZY", pytest.param("EAGER", marks=pytest.mark.long("LAZY"))])
@pytest.mark.parametrize("decimal_format", ["BASE64", "NUMERIC"])
@pytest.mark.parametrize("name", CACHES)
def test_an_entry_has_the_same_bytes_alone_and_in_any_batch(
    read: Callable[[str], Read], name: str, decimal_format: str, policy: str
) -> None:
    cache = read(name)
    made = converter("json", decimal_format=decimal_format, field_nullability_policy=policy)
    alone = [made.convert([one], cache.info, cache.cluster) for page in cache.pages for one in single(page)]
    together = made.convert(cache.pages, cache.info, cache.cluster)
    wanted = sorted((record.keys[0].as_py(), record.values[0].as_py()) for record in alone)
    assert sorted(zip(together.keys.to_pylist(), together.values.to_pylist(), strict=True)) == wanted


@pytest.mark.parametrize("name", NOT_JSON)
def test_what_json_cannot_hold_is_an_error_that_names_the_cache(read: Callable[[str], Read], name: str) -> None:
    cache = read(name)
    with pytest.raises(UnsupportedType, match=f"cache {PREFIX}{name}"):
        converter("json").convert(cache.pages, cache.info, cache.cluster)


@pytest.mark.parametrize("name", [*CACHES, *NOT_JSON])
def test_ignite_binary_is_what_the_wire_had(read: Callable[[str], Read], name: str) -> None:
    cache = read(name)
    records = converter("ignite-binary").convert(cache.pages, cache.info, cache.cluster)
    wire = [entry for page in cache.pages for entry in raw_entries(page)]
    assert list(zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True)) == wire
    assert all(value[0] != 27 for _, value in wire)
    assert len(wire) == sum(page.rows for page in cache.pages) > 0
