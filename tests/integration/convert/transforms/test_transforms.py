"""Transforms and predicates beside Kafka's classes: schemas, values, topic, time and headers, or exception and message, of each record."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.connect.schema import date, decimal, time, timestamp
from ignite_kafka.errors import SettingsError
from tests.support.connect_transforms import ConnectTransforms, Records, outcomes
from tests.support.randomness import examples
from tests.support.transform_cases import CONFIGURATIONS, records
from tools.servers import Jars

T = ConnectType


@pytest.fixture(scope="module")
def kafka(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectTransforms]:
    java = ConnectTransforms(jars.kafka, tmp_path_factory.mktemp("classes"))
    yield java
    java.close()


def of(kind: ConnectType, optional: bool = False, default: Any = None) -> ConnectSchema:
    return ConnectSchema(kind, optional, default=default)


def struct(*fields: tuple[str, ConnectSchema], **more: Any) -> ConnectSchema:
    return ConnectSchema(T.STRUCT, fields=tuple(ConnectField(*one) for one in fields), **more)


def alike(wanted: Any, found: Any) -> bool:
    """Equal and of equal types; texts of floats may differ by a digit that Java 17 writes too many (JDK-4511638).

    So may a FLOAT32 in JSON, which is such a text.
    """
    if isinstance(wanted, str) and isinstance(found, str):
        return wanted == found or ("." in wanted and _same_float(wanted, found))
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and all(alike(wanted[name], found[name]) for name in wanted)
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(map(alike, wanted, found))
    if isinstance(wanted, float) and isinstance(found, float) and wanted != found:
        return bool(np.float32(wanted) == np.float32(found) and float(str(np.float32(found))) == found)
    return type(wanted) is type(found) and (wanted == found or (wanted != wanted and found != found))


def _same_float(wanted: str, found: str) -> bool:
    try:
        one, other = float(wanted), float(found)
    except ValueError:
        return False
    return one == other or (math.isfinite(one) and np.float32(one) == np.float32(other))


def compare(kafka: ConnectTransforms, name: str, properties: Mapping[str, str], given_records: Records) -> None:
    """Both give each record the same outcome, or both refuse the properties."""
    try:
        wanted = kafka.apply(name, properties, given_records)
    except ValueError:
        with pytest.raises(SettingsError):
            outcomes(name, properties, given_records)
        return
    for row, (one, other) in enumerate(zip(wanted, outcomes(name, properties, given_records), strict=True)):
        assert alike(one, other), f"{name} {properties}, row {row}: Kafka {one}, ours {other}"


INNER = struct(("x", of(T.INT8)), ("y", decimal(0)), optional=True)
STRUCTS = Records(
    of(T.INT64),
    [1, 2, 3, 4],
    struct(
        ("a", of(T.INT32)), ("b", of(T.STRING, True)), ("d", of(T.INT64, True, 7)), ("e", decimal(2, optional=True)),
        ("t", timestamp(optional=True)), ("n", INNER), name="N", version=3, doc="doc", optional=True,
    ),
    [
        (1, "x", None, None, 5, (1, Decimal(5))), (200_000, "12", 3, Decimal("12.50"), -1, None), None,
        (-5, None, None, None, 86_400_000, (3, Decimal(1))),
    ],
    ["a", "bb"],
    [5, None],
    [("h", of(T.STRING, True), ["q", None, "r", "s"]), ("g", None, [1, None, {"a": 1}, "x"])],
)  # fmt: skip
TYPES = Records(
    None,
    [None] * 4,
    struct(
        ("a", of(T.FLOAT64)), ("b", of(T.FLOAT32)), ("d", of(T.BOOLEAN)), ("by", of(T.BYTES, True)), ("dt", date(optional=True)),
        ("tm", time()), ("l", ConnectSchema(T.ARRAY, value_schema=of(T.INT32))),
        ("m", ConnectSchema(T.MAP, True, key_schema=of(T.STRING), value_schema=of(T.INT32))),
    ),
    [
        (1e10, 0.1, True, b"x", 4, 5, [1], None), (-2.9, 3e9, False, None, None, 0, [], [("k", 1)]),
        (float("nan"), float("inf"), True, b"", -1, 86_399_999, [1, 2], []), (9.3e18, -1.5, True, b"\xff", 1, 1, [], None),
    ],
)  # fmt: skip
SCHEMALESS = Records(
    None,
    [1, "k", None, {"a": 1}],
    None,
    [{"a": 1, "b": "x", "n": {"y": [1, 2.50]}}, {"a": 2.5e10, "b": None, "n": {"z": {"u": 1}, "v": None}}, None, "text"],
    headers=STRUCTS.headers,
    sink=False,
)
RECORDS = {"structs": STRUCTS, "types": TYPES, "schemaless": SCHEMALESS}
SIDED: list[tuple[str, dict[str, str]]] = [
    *(("ReplaceField", one) for one in (
        {"exclude": "a,b"}, {"exclude": "a", "include": "a,b"}, {"include": "b,d"}, {"renames": "a:z,b:a"}, {"renames": "a:b"},
        {"renames": "a:z,zz:b"}, {"renames": "a"}, {"exclude": "a,a"},
    )),
    *(("InsertField", one) for one in (
        {"topic.field": "t!", "partition.field": "p", "timestamp.field": "ts", "static.field": "s?", "static.value": "v"},
        {"timestamp.field": "ts!"}, {"static.field": "a", "static.value": "v"}, {"static.field": "a"}, {},
    )),
    *(("ExtractField", one) for one in (
        {"field": "a"}, {"field": "d"}, {"field": "d", "replace.null.with.default": "false"}, {"field": "q"},
        {"field": "n.x", "field.syntax.version": "v2"}, {"field": "a.x", "field.syntax.version": "V2"},
        {"field": "n.y", "field.syntax.version": "V2"}, {"field": "`n`.y", "field.syntax.version": "V2"},
        {"field": "`n", "field.syntax.version": "V2"},
    )),
    *(("Cast", {"spec": one}) for one in (
        "a:int8,b:int32", "e:string,t:string,d:string", "e:int8,t:int32,d:boolean,b:float32", "int32", "string", "n:string", "a:bytes",
        "a:int8,int8", "e:float32,d:float64", "dt:string,tm:string,by:string", "dt:int32,tm:int64,d:int8", "by:int8", "l:string",
        "a:int64,b:int16", "a:float32,b:float64", "m:string", "",
    )),
    *(("HoistField", {"field": one}) for one in ("a", "")),
    *(("Flatten", one) for one in ({}, {"delimiter": "_"})),
    *(("MaskField", one) for one in (
        {"fields": "a"}, {"fields": "b,d"}, {"fields": "a,e,d", "replacement": "12"}, {"fields": "e,d", "replacement": "1.5"},
        {"fields": "t", "replacement": "1"}, {"fields": "t"}, {"fields": "n"}, {"fields": "l,m,dt"}, {"fields": "by"},
        {"fields": "l", "replacement": "1"}, {"fields": ""}, {"fields": "b", "replacement": ""}, {"fields": "a", "replacement": "abc"},
        {"fields": "e", "replacement": "abc"}, {"fields": "a,b,d,e", "replacement": "99999999999999999999"},
    )),
    *(("SetSchemaMetadata", one) for one in ({"schema.name": "Z"}, {"schema.version": "5"}, {"schema.version": "x"}, {})),
    *(("HeaderFrom", {"fields": fields, "headers": headers, "operation": operation}) for fields, headers, operation in (
        ("a,d", "x,h", "move"), ("a,n", "x,h", "copy"), ("q", "x", "copy"), ("q", "x", "move"), ("q", "x,y", "copy"), ("q", "x", "Copy"),
    )),
]  # fmt: skip
WHOLE: list[tuple[str, dict[str, str]]] = [
    *(("ValueToKey", one) for one in (
        {"fields": "a,d"}, {"fields": "n"}, {"fields": "q"}, {"fields": "a,a"}, {"fields": "d", "replace.null.with.default": "false"},
    )),
    *(("DropHeaders", {"headers": one}) for one in ("h", "h,g,x", "")),
    *(("InsertHeader", {"header": "h", "value.literal": one}) for one in (
        "12", "abc", "1.5", "true", "null", "", "2020-01-01", "[1,2]", '{"a":1}', "128", "1e400",
    )),
    ("RegexRouter", {"regex": "(a|b)+", "replacement": "x-$1"}), ("RegexRouter", {"regex": "(", "replacement": ""}),
    ("TimestampRouter", {}), ("TimestampRouter", {"topic.format": "$1${timestamp}", "timestamp.format": "yyyy.MM"}), ("Filter", {}),
    ("predicates.TopicNameMatches", {"pattern": "a.*"}), ("predicates.TopicNameMatches", {"pattern": ""}),
    ("predicates.HasHeaderKey", {"name": "h"}), ("predicates.HasHeaderKey", {"name": "x"}), ("predicates.RecordIsTombstone", {}),
]  # fmt: skip
CASES = [(f"{name}${side}", one) for name, one in SIDED for side in ("Key", "Value")] + WHOLE


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_chosen_records_have_the_outcome_of_kafka(kafka: ConnectTransforms, name: str) -> None:
    for properties in [properties for one, properties in CASES if one == name]:
        for given_records in RECORDS.values():
            compare(kafka, name, properties, given_records)


def test_of_two_members_that_get_one_name_the_same_is_kept(kafka: ConnectTransforms) -> None:
    values = [{"b": 1, "a": 2}, {"a": 2, "b": 1}, {"a.b": 1, "a": {"b": 2}}, {"a": {"b": 2}, "a.b": 1}]
    given_records = Records(None, [None] * 4, None, values)
    for properties in ({"renames": "b:a"}, {"renames": "a:b"}, {"renames": "a.b:a"}):
        compare(kafka, "ReplaceField$Value", properties, given_records)
    compare(kafka, "Flatten$Value", {}, given_records)


def test_a_whole_value_keeps_the_name_of_its_schema(kafka: ConnectTransforms) -> None:
    """So a default that was cast is refused, if the name is that of a day, a time or a decimal."""
    wholes: list[tuple[ConnectSchema, Any, list[Any]]] = [
        (decimal(2), Decimal("1.50"), [Decimal("2.50"), Decimal("0.00")]), (date(), 1, [2, 3]), (time(), 1, [2, 3]),
        (timestamp(), 1, [2, 3]), (of(T.INT32), 1, [2, 3]),
    ]  # fmt: skip
    for schema, default, values in wholes:
        for made, target in itertools.product((schema, replace(schema, default=default)), ("int8", "int32", "int64", "string", "float64")):
            compare(kafka, "Cast$Value", {"spec": target}, Records(None, [None, None], made, values))


def test_a_field_may_get_the_values_of_one_that_is_left_out(kafka: ConnectTransforms) -> None:
    """Kafka looks up values by the renamings turned around, whatever the fields of the record are.

    Without a day in the field of a time, and a time in that of a day: docs/transforms.md, differences.
    """
    for given_records in (STRUCTS, TYPES):
        assert given_records.value_schema is not None
        names = [field.name for field in given_records.value_schema.fields]
        for kept, other in itertools.permutations(names, 2):
            if {kept, other} != {"dt", "tm"}:
                compare(kafka, "ReplaceField$Value", {"include": kept, "renames": f"{other}:{kept}"}, given_records)
    for renames in ("b:e,d:e", "d:e,b:e", "Aa:b,BB:b,a:b", "a:b,d:b"):
        compare(kafka, "ReplaceField$Value", {"include": "b,e", "renames": renames}, STRUCTS)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_random_records_have_the_outcome_of_kafka(kafka: ConnectTransforms, name: str) -> None:
    @settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
    @given(records(), CONFIGURATIONS[name])
    def run(given_records: Records, properties: dict[str, str]) -> None:
        compare(kafka, name, properties, given_records)

    run()


TIMES = [
    0,
    1,
    -2,
    1_700_000_000_123,
    -62_135_769_600_000,
    -62_135_769_600_001,
    -12_219_292_800_000,
    -12_219_292_800_001,
    253_402_300_800_000,
]
FORMATS = (
    "y", "yy", "yyy", "yyyy", "yyyyy", "M", "MM", "MMM", "MMMM", "L", "LL", "LLL", "LLLL", "d", "dd", "D", "DDD", "E", "EEEE", "u", "uu",
    "a", "H", "HH", "k", "kk", "K", "KK", "h", "hh", "m", "mm", "s", "ss", "S", "SS", "SSS", "SSSS", "z", "zzzz", "Z", "X", "XX", "XXX",
    "G", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "'it''s' ''yy", "",
)  # fmt: skip


@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(-(10**14), 10**14), min_size=50, max_size=50))
def test_times_are_written_as_simple_date_format_writes_them(kafka: ConnectTransforms, more: list[int]) -> None:
    times = [*TIMES, *(one for one in more if one != -1)]  # -1 is a record without a time
    nothing = [None] * len(times)
    for one in FORMATS:
        properties = {"timestamp.format": one, "topic.format": "${timestamp}"}
        compare(kafka, "TimestampRouter", properties, Records(None, nothing, None, nothing, times=times))


TEXTS = {
    "yyyy-MM-dd": ["2024-01-31", "2024-13-45", " 2024- 1-31x", "24-1-1", "2024-01", "", "x2024-01-01",
                   "1500-02-29", "12345-01-01", "2024-1-1T"],
    "yyyyMMdd": ["20240131", "202401311", "2024131", "2024 1 1", "202413"],
    "yyyy-MM-dd'T'HH:mm:ss.SSSX": ["2024-01-31T23:59:59.123Z", "2024-01-31T23:59:59.1Z", "2024-01-31T23:59:59.123456+02",
                                   "2024-01-31T25:61:61.5-03"],
    "yyyy-MM-dd HH:mm:ss Z": [f"2024-01-31 01:02:03 {zone}" for zone in ("+0100", "UTC", "GMT+01:00", "-05:30", "z", "+2500")],
    "yyyy-MM-dd HH:mm:ssXXX": ["2024-01-31 01:02:03+01:00", "2024-01-31 01:02:03Z", "2024-01-31 01:02:03+0100"],
    "EEE, dd MMM yyyy HH:mm:ss zzz": ["Wed, 31 Jan 2024 01:02:03 GMT", "wed, 31 JANUARY 2024 01:02:03 UTC", "Sunday, 1 may 2024 1:2:3 utc"],
    "dd/MM/yy hh:mm a": ["31/01/24 11:05 PM", "31/01/99 12:05 am", "1/1/5 12:00 PM", "1/1/2024 3:3 pm",
                         "01/01/46 1:00 AM", "01/01/47 1:00 AM"],
    "kk:mm": ["24:00", "01:30"], "KK:mm a": ["11:30 PM", "12:30 PM"], "hh:mm": ["12:30"], "HH:mm:ss a": ["13:00:00 AM"],
    "yyyy DDD": ["2024 060", "2023 366"], "MMMM d, yyyy": ["May 5, 2024", "September 31, 2024"], "a": ["PM"], "''yyyy": ["'2024"],
    "yyyyMMddHHmmssSSS": ["20240131235959123", "202401312359591", "2024013123595912345"], "HHmm": ["0130", "130", "01301"],
}  # fmt: skip


@pytest.mark.parametrize("pattern", TEXTS)
def test_texts_are_read_as_simple_date_format_reads_them(kafka: ConnectTransforms, pattern: str) -> None:
    texts = TEXTS[pattern]
    for target in ("Timestamp", "unix", "string"):
        given_records = Records(None, [None] * len(texts), of(T.STRING), texts)
        compare(kafka, "TimestampConverter$Value", {"target.type": target, "format": pattern}, given_records)


TIMED: list[tuple[ConnectSchema, list[Any]]] = [
    (timestamp(optional=True), [0, None, 1_700_000_000_123, -1_500, -999, -62_135_769_600_000]),
    (date(optional=True), [0, None, 19_000, -1]),
    (time(optional=True), [0, None, 86_399_999]),
    (of(T.INT64, True), [0, None, -1_999, 17_000_000_000_000]),
    (of(T.INT32, True), [1, None]),
    (timestamp(), [1, 2]),
]


@pytest.mark.parametrize("field", ["", "f", "q"])
@pytest.mark.parametrize("target", ["string", "unix", "Date", "Time", "Timestamp"])
def test_times_are_converted_as_kafka_converts_them(kafka: ConnectTransforms, target: str, field: str) -> None:
    for schema, values in TIMED:
        sides: list[tuple[ConnectSchema, list[Any]]] = [(schema, values)]
        sides.append((struct(("f", schema), ("g", of(T.STRING, True))), [(one, "x") for one in values]))
        sides.append((struct(("f", schema), optional=True, name="M"), [(one,) if row % 3 else None for row, one in enumerate(values)]))
        for precision in ("seconds", "milliseconds", "microseconds", "nanoseconds"):
            properties = {"field": field, "target.type": target, "unix.precision": precision, "format": "yyyy-MM-dd"}
            for one in sides:
                compare(kafka, "TimestampConverter$Value", properties, Records(None, [None] * len(values), *one))


@pytest.mark.parametrize("target", ["string", "unix", "Date", "Time", "Timestamp"])
def test_times_without_a_schema_are_converted_as_kafka_converts_them(kafka: ConnectTransforms, target: str) -> None:
    values = [1_700_000_000_123, "2024-01-31", "x", None, 1.5, {"f": 5}, {"f": "2024-01-31"}, {}, {"f": None}, [1], True]
    for field in ("", "f"):
        properties = {"field": field, "target.type": target, "format": "yyyy-MM-dd"}
        compare(kafka, "TimestampConverter$Value", properties, Records(None, [None] * len(values), None, values))
