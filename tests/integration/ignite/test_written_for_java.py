"""What Python wrote as a Java client sees it: the same values in the same classes, found by its keys; and Java's own bytes."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.ignite.binary import ObjectLayout, decode_rows, encode_objects, encoded
from ignite_kafka.ignite.binary.object_layout import optional
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cache_writer import CacheWriter
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.schema import get_or_create_cache, query_entity, register_type
from ignite_kafka.ignite.types.model import BinaryType, CacheInfo
from ignite_kafka.ignite.types.type_table import enum_field, field_of, object_field
from ignite_kafka.java.hash_code import java_hash
from tests.support.java_programs import IGNITE_CLIENT_JVM, compile_java
from tests.support.value_text import of_java, of_row
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, Jars
from tools.servers.jars import java_command

SOURCES = [Path(__file__).parents[2] / "java" / name for name in ("WriteTypes.java", "ReadTypes.java")]
Java = Callable[..., list[str]]

COLOR = BinaryType(java_hash("writetypes$color"), "WriteTypes$Color", is_enum=True, enum_values={0: "RED", 1: "GREEN", 2: "BLUE"})
MICROS, MILLIS = pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")
UUID_, CHAR, DATE = field_of("uuid", pa.string(), "uuid"), field_of("c", pa.int32(), "char"), field_of("date", MILLIS, "date")
TIME = field_of("time", pa.int64(), "time")


def decimal(name: str, scale: int) -> pa.Field:
    return field_of(name, pa.decimal128(38, scale), "decimal")


def items(name: str, element: pa.Field, mark: str | None = None) -> pa.Field:
    return field_of(name, pa.list_(element.with_name("item")), mark)


@pytest.fixture(scope="module")
def java(jars: Jars, pair: IgniteCluster, tmp_path_factory: pytest.TempPathFactory) -> Java:
    """`java(*arguments, footer)`: the lines that ReadTypes prints."""
    target = tmp_path_factory.mktemp("classes")
    compile_java(SOURCES, jars.thin_client, target)

    def run(*arguments: str, footer: str = "compact") -> list[str]:
        options = [*IGNITE_CLIENT_JVM, "-Duser.timezone=UTC"]
        command = java_command("ReadTypes", [pair.address, footer, *arguments], [target, jars.thin_client], options)
        return subprocess.run(command, check=True, timeout=DEADLINE_S, stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines()

    return run


@pytest.fixture(autouse=True)
def color(cluster: Cluster) -> None:
    """The enum's names are known to the cluster."""
    register_type(cluster, COLOR)


def put(cluster: Cluster, cache: CacheInfo, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
    with CacheWriter(cluster, cache, overwrite=True) as writer:
        writer.put(keys, values)
        writer.flush()


def column(field: pa.Field, values: Sequence[Any]) -> pa.Array:
    return pa.array(values, field.type)


SCALARS: list[tuple[pa.Field, Any, str]] = [
    (pa.field("f", pa.int8()), -128, "byte:-128"),
    (pa.field("f", pa.int16()), -300, "short:-300"),
    (pa.field("f", pa.int32()), 1 << 30, "int:1073741824"),
    (pa.field("f", pa.int64()), -(1 << 63), "long:-9223372036854775808"),
    (pa.field("f", pa.float32()), 1.5, "float:3fc00000"),
    (pa.field("f", pa.float64()), -0.0, "double:8000000000000000"),
    (pa.field("f", pa.bool_()), True, "bool:true"),
    (pa.field("f", pa.string()), "€😀\0", "str:e282acf09f988000"),
    (pa.field("f", pa.string()), "", "str:"),
    (CHAR, 0x20AC, "char:8364"),
    (UUID_, "01234567-89ab-cdef-fedc-ba9876543210", "uuid:01234567-89ab-cdef-fedc-ba9876543210"),
    (pa.field("f", MICROS), -1_500_001, "ts:-2:499999000"),
    (DATE, -1, "date:-1"),
    (TIME, 86_399_999, "time:86399999"),
    (decimal("f", 3), Decimal("-170141183460469231731687303715.884"), "dec:-170141183460469231731687303715884:3"),
    (field_of("f", pa.string(), "decimal"), "1E+30", "dec:1:-30"),
    (field_of("f", pa.string(), "decimal"), "-0.000", "dec:0:3"),
    (enum_field("f", COLOR), "BLUE", "enum:BLUE"),
    (pa.field("f", pa.date32()), 19_782, "sqldate:2024-02-29"),
]
VALUES: list[tuple[pa.Field, Any, str]] = [
    *SCALARS,
    (pa.field("f", pa.binary()), b"\0\xff", "bytes:00ff"),
    (items("f", pa.field("item", pa.int16())), [1, -2], "[short:1,short:-2]"),
    (items("f", CHAR), [97, 0xFFFF], "[char:97,char:65535]"),
    (items("f", pa.field("item", pa.bool_())), [True, False], "[bool:true,bool:false]"),
    (items("f", pa.field("item", pa.string())), ["a", None], "[str:61,null]"),
    (items("f", enum_field("item", COLOR)), ["RED", None], "[enum:RED,null]"),
    (items("f", pa.field("item", pa.int64()), "collection"), [1, None], "[long:1,null]"),
    (items("f", items("item", pa.field("item", pa.int32()))), [[1], [2, 3], None], "[[int:1],[int:2,int:3],null]"),
    (items("f", items("item", pa.field("item", pa.string()))), [["a", None], []], "[[str:61,null],[]]"),
    (pa.field("f", pa.map_(pa.string(), pa.float64())), [("k", 1.5)], "{str:6b=double:3ff8000000000000}"),
    (field_of("f", pa.string(), "class"), "java.util.UUID", "class:java.util.UUID"),
]


def test_values_are_of_the_right_class(cluster: Cluster, java: Java, unique: Callable[[str], str]) -> None:
    cache = get_or_create_cache(cluster, CacheConfiguration(unique("values")))
    keys = encoded(pa.array(range(len(VALUES))), pa.field("key", pa.int64()))
    put(cluster, cache, keys, pa.concat_arrays([encoded(column(field, [value]), field) for field, value, _ in VALUES]))
    expected = {f"{cache.name}\tlong:{row}\t{text}\ttrue" for row, (_, _, text) in enumerate(VALUES)}
    assert set(java("read", cache.name)) == expected


def test_keys_are_found(cluster: Cluster, java: Java, unique: Callable[[str], str]) -> None:
    cache = get_or_create_cache(cluster, CacheConfiguration(unique("keys")))
    keys = [(field, value, text) for field, value, text in SCALARS if not text.startswith("sqldate")]
    values = encoded(pa.array([text for *_, text in keys]), pa.field("value", pa.string()))
    put(cluster, cache, pa.concat_arrays([encoded(column(field, [value]), field) for field, value, _ in keys]), values)
    expected = {f"{cache.name}\t{text}\tstr:{text.encode().hex()}\ttrue" for _, _, text in keys}
    assert set(java("read", cache.name)) == expected


POINT = object_field("point", "WriteTypes$Point", [pa.field("x", pa.int32()), pa.field("label", pa.string())])
KEY = object_field("key", "WriteTypes$KeyA", [pa.field("region", pa.int32()), pa.field("code", pa.string())])
FLAT = object_field(
    "flat",
    "WriteTypes$Flat",
    [
        *(pa.field(name, kind) for name, kind in [("b", pa.int8()), ("s", pa.int16()), ("i", pa.int32()), ("l", pa.int64())]),
        *(pa.field(name, kind) for name, kind in [("f", pa.float32()), ("d", pa.float64())]),
        CHAR,
        pa.field("z", pa.bool_()),
        *(pa.field(name, kind) for name, kind in [("bb", pa.int8()), ("ss", pa.int16()), ("ii", pa.int32()), ("ll", pa.int64())]),
        *(pa.field(name, kind) for name, kind in [("ff", pa.float32()), ("dd", pa.float64())]),
        CHAR.with_name("cc"),
        pa.field("zz", pa.bool_()),
        pa.field("string", pa.string()),
        UUID_,
        DATE,
        pa.field("timestamp", MICROS),
        TIME,
        decimal("decimal", 2),
        pa.field("bytes", pa.binary()),
        enum_field("color", COLOR),
    ],
)
FLATS: list[dict[str, Any]] = [
    {
        **dict.fromkeys(("b", "s", "i", "l", "f", "d", "c"), 7),
        **dict.fromkeys(("bb", "ss", "ii", "ll", "ff", "dd", "cc"), 100),
        "z": True,
        "zz": False,
        "string": "é",
        "uuid": str(uuid.UUID(int=1 << 100)),
        "date": -3,
        "timestamp": 1_234_567,
        "time": 5,
        "decimal": Decimal("12.34"),
        "bytes": b"xy",
        "color": "GREEN",
    },
    {**dict.fromkeys(("b", "s", "i", "l", "f", "d", "c"), 0), "z": False},
]
NESTED = object_field(
    "nested",
    "WriteTypes$Nested",
    [
        POINT,
        *(items(name, pa.field("item", kind)) for name, kind in [("shorts", pa.int16()), ("ints", pa.int32()), ("longs", pa.int64())]),
        *(items(name, pa.field("item", kind)) for name, kind in [("floats", pa.float32()), ("doubles", pa.float64())]),
        items("chars", CHAR),
        items("booleans", pa.field("item", pa.bool_())),
        items("strings", pa.field("item", pa.string())),
        items("uuids", UUID_),
        items("dates", DATE),
        items("timestamps", pa.field("item", MICROS)),
        items("times", TIME),
        items("decimals", decimal("item", 2)),
        items("colors", enum_field("item", COLOR)),
        items("points", POINT),
        items("list", POINT, "collection"),
        pa.field("any", pa.string()),
        object_field("child", "WriteTypes$Nested", [POINT]),
        items("objects", POINT),
        items("set", pa.field("item", pa.int64()), "collection"),
        field_of("map", pa.map_(pa.string(), POINT.with_name("value")), None),
        field_of("type", pa.string(), "class"),
    ],
)
NESTEDS: list[dict[str, Any]] = [
    {
        "point": {"x": 1, "label": "one"},
        "shorts": [1],
        "ints": [],
        "longs": [2, 3],
        "floats": [1.5],
        "doubles": [2.5],
        "chars": [97],
        "booleans": [True],
        "strings": ["a", None],
        "uuids": [str(uuid.UUID(int=5)), None],
        "dates": [1],
        "timestamps": [None, 2],
        "times": [3],
        "decimals": [Decimal("1.25"), None],
        "colors": ["RED", None],
        "list": [{"x": 2, "label": None}, None],
        "points": [None, {"x": 3, "label": "three"}],
        "type": "java.lang.String",
        "any": "thing",
        "child": {"point": {"x": 4, "label": "inner"}},
        "objects": [{"x": 8, "label": "o"}, None],
        "set": [5, None],
        "map": [("k", {"x": 6, "label": None})],
    },
    {},
]


def test_objects_are_of_the_right_class_and_found_by_their_keys(cluster: Cluster, java: Java, unique: Callable[[str], str]) -> None:
    keys = [{"region": row, "code": f"code {row}"} for row in range(2)]
    lines, expected = [], []
    for field, rows in ((FLAT, FLATS), (NESTED, NESTEDS)):
        for one in (field, KEY, POINT, NESTED.type.field("child")):
            register_type(cluster, ObjectLayout(one.metadata[b"ignite.type"].decode(), tuple(one.type)).metadata)
        cache = get_or_create_cache(cluster, CacheConfiguration(unique("objects")))
        written = column(field, [{inner.name: row.get(inner.name) for inner in field.type} for row in rows])
        put(cluster, cache, encoded(column(KEY, keys), KEY), encoded(written, field))
        pages = [page for page in scan_partitions(cluster, cache, range(cache.partitions)) if page.rows]
        expected += [f"{cache.name}\t{of_row(key)}\t{of_row(value)}\ttrue" for key, value in decode_rows(pages, cache, cluster)]
        lines += java("read", cache.name)
    assert sorted(of_java(line) for line in lines) == sorted(expected)


BUILT = (
    *(pa.field(name, kind) for name, kind in [("aByte", pa.int8()), ("aShort", pa.int16()), ("anInt", pa.int32()), ("aLong", pa.int64())]),
    *(pa.field(name, kind) for name, kind in [("aFloat", pa.float32()), ("aDouble", pa.float64())]),
    CHAR.with_name("aChar"),
    pa.field("aBoolean", pa.bool_()),
    pa.field("text", pa.string()),
    UUID_,
    DATE,
    pa.field("timestamp", MICROS),
    TIME,
    decimal("decimal", 3),
    pa.field("sqlDate", pa.date32()),
    pa.field("bytes", pa.binary()),
    items("ints", pa.field("item", pa.int32())),
    items("chars", CHAR),
    items("booleans", pa.field("item", pa.bool_())),
    items("strings", pa.field("item", pa.string())),
    items("uuids", UUID_),
    items("decimals", decimal("item", 2)),
    items("timestamps", pa.field("item", MICROS)),
    items("arrays", items("item", pa.field("item", pa.int32()))),
    items("list", pa.field("item", pa.int64()), "collection"),
    pa.field("map", pa.map_(pa.string(), pa.float64())),
    object_field("inner", "org.example.Inner", [pa.field("x", pa.int32()), pa.field("label", pa.string())]),
    enum_field("color", COLOR),
    pa.field("last", pa.int32()),
)


def built(number: int) -> list[Any]:
    """The values that ReadTypes.build gives the fields of its object of that number."""
    if number == 0:
        return [None] * len(BUILT)
    moment = -1_700_000_001_000_000 + number * 123_456
    inner = {"x": number, "label": "y" * number * 60}
    return [
        -number, number * 300, number * 70_000, -(number << 40), number / 3, number / 7, 0x20AC + number, number % 2 == 0,
        "€😀" * number + "x" * (70_000 if number > 4 else 300 if number > 2 else 3),
        str(uuid.UUID(int=(0x0123456789ABCDEF * number << 64) + (1 << 64) - number)), 1_700_000_000_000 - number, moment, number * 1000,
        Decimal("12345678901234567890.123") if number % 2 == 0 else Decimal(f"-0.00{number}"), number, bytes([number, 255]),
        [0] * number, [97, 0xFFFF], [True, False], ["a", None, f"b{number}"], [str(uuid.UUID(int=(number << 64) + 1))],
        [Decimal("1.50"), None], [moment], [[1], [2, number]], [1, None, number], [(f"k{number}", float(number))],
        inner, COLOR.enum_values[number % 3], number,
    ]  # fmt: skip


@pytest.mark.parametrize("footer", ["compact", "full"])
def test_bytes_are_those_of_javas_builder(cluster: Cluster, java: Java, footer: str) -> None:
    rows = zip(*(built(number) for number in (1, 2, 3, 4, 5, 0)), strict=True)
    layout = ObjectLayout("org.example.Built", BUILT, compact=footer == "compact")
    expected = java("build", footer=footer)
    objects = encode_objects(layout, [column(field, values) for field, values in zip(BUILT, rows, strict=True)])
    assert [one.hex() for one in objects.to_pylist()] == expected
    register_type(cluster, layout.metadata)  # clashes where a field's type differs from the one that Java registered
    cluster.forget_types()
    known = cluster.binary_type(layout.type_id)
    assert {field.name: field.type_code for field in known.fields} == {field.name: field.type_code for field in layout.metadata.fields}
    assert known.schemas == layout.metadata.schemas


@pytest.mark.parametrize("footer", ["compact", "full"])
def test_bytes_of_objects_with_different_fields_are_those_of_javas_builder(java: Java, footer: str) -> None:
    plain = [optional(pa.field("a", pa.int32())), optional(pa.field("b", pa.string()))]
    inner = optional(object_field("c", "org.example.Sparse", plain))
    field = object_field("", "org.example.Sparse", [*plain, inner])
    texts = {3: "x" * 3, 4: "x" * 300, 5: "x" * 70_000}
    rows = [
        {"a": n if n % 2 else None, "b": texts.get(n), "c": {"a": 1 if n != 4 else None} if n == 2 or n > 3 else None}
        for n in (1, 2, 3, 4, 5, 0)
    ]
    objects = encoded(column(field, rows), field, compact=footer == "compact")
    assert [one.hex() for one in objects.to_pylist()] == java("sparse", footer=footer)


def test_sql_sees_typed_columns(cluster: Cluster, java: Java, unique: Callable[[str], str]) -> None:
    name = unique("sql")
    value = object_field("value", "SqlThing", [pa.field("name", pa.string()), decimal("price", 2), pa.field("seen", MICROS), UUID_])
    key = object_field("key", "SqlKey", [pa.field("region", pa.int32()), pa.field("id", pa.int64())])
    entity = query_entity("THINGS", key, value)
    cache = get_or_create_cache(cluster, CacheConfiguration(name, query_entities=(entity,)))
    assert [replace(one, aliases=()) for one in cache.query_entities] == [entity]  # the node adds names in upper case
    for one in (key, value):
        register_type(cluster, ObjectLayout.of(one).metadata)
    things = [{"name": f"n{row}", "price": Decimal(row) / 4, "seen": row * 1_000_000, "uuid": str(uuid.UUID(int=row))} for row in range(3)]
    keys = column(key, [{"region": row % 2, "id": row} for row in range(3)])
    put(cluster, cache, encoded(keys, key), encoded(column(value, things), value))
    query = "select region, id, name, price, seen, uuid from THINGS where price > 0.2 and seen > {ts '1970-01-01 00:00:01'} order by id"
    assert java("sql", name, query) == [
        f"REGION=int:0\tID=long:2\tNAME=str:6e32\tPRICE=dec:50:2\tSEEN=ts:2:0\tUUID=uuid:{uuid.UUID(int=2)}"
    ]
