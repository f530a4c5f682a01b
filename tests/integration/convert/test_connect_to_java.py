"""Records with Connect schemas on a real cluster: a Java client reads typed values and finds the keys."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.convert.connect import schema as connect
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType
from ignite_kafka.convert.to_ignite import ClusterTypes, last_per_key
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cache_writer import CacheWriter
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.schema import get_or_create_cache, register_type
from ignite_kafka.ignite.types.model import BinaryType, QueryEntity, QueryField
from ignite_kafka.java.hash_code import java_hash
from tests.support.connect_records import BOOLEAN, BYTES, DOUBLE, FLOAT, INT8, INT16, INT32, INT64, STRING, Value, converted, struct
from tests.support.java_programs import IGNITE_CLIENT_JVM, compile_java
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, Jars
from tools.servers.jars import java_command

SOURCES = [Path(__file__).parents[2] / "java" / name for name in ("WriteTypes.java", "ReadTypes.java")]
POINT = struct("WriteTypes$Point", x=INT32, label=STRING)
COLOR = BinaryType(java_hash("writetypes$color"), "WriteTypes$Color", is_enum=True, enum_values={0: "RED", 1: "GREEN", 2: "BLUE"})
ID = "01234567-89ab-cdef-fedc-ba9876543210"
MOMENT = datetime.datetime(2026, 2, 3, 4, 5, 6, 7000, UTC)
MILLIS = 1_770_091_506_007


class Sunk:
    """Caches of records, and what Java reads of them."""

    def __init__(self, cluster: Cluster, ignite: IgniteCluster, jars: Jars, classes: Path) -> None:
        self.cluster, self._ignite, self._jars, self._classes = cluster, ignite, jars, classes

    def put(
        self, name: str, values: Sequence[Value], keys: Sequence[Value] | None = None, entity: QueryEntity | None = None, **more: Any
    ) -> None:
        cache = get_or_create_cache(self.cluster, CacheConfiguration(name, query_entities=() if entity is None else (entity,)))
        entries = converted(cache, ClusterTypes(self.cluster), values, keys, **more)
        assert entries.bad == ()
        last = last_per_key(entries, overwrite=True)
        with CacheWriter(self.cluster, cache, overwrite=True) as writer:
            writer.put(last.keys, last.values)
            writer.flush()

    def java(self, *arguments: str, zone: str = "UTC") -> list[list[str]]:
        """The lines of ReadTypes in a time zone, cut at tabs."""
        options = [*IGNITE_CLIENT_JVM, f"-Duser.timezone={zone}"]
        command = java_command("ReadTypes", [self._ignite.address, "compact", *arguments], [self._classes, self._jars.thin_client], options)
        done = subprocess.run(command, check=True, timeout=DEADLINE_S, stdout=subprocess.PIPE, encoding="utf-8")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def read(self, name: str, zone: str = "UTC") -> dict[str, str]:
        """Keys and values that Java finds by its own bytes of the keys."""
        lines = self.java("read", name, zone=zone)
        assert {found for *_, found in lines} == {"true"}
        return {key: value for _, key, value, _ in lines}


@pytest.fixture(scope="module")
def sunk(ignite: IgniteCluster, jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sunk]:
    classes = tmp_path_factory.mktemp("connect-classes")
    compile_java(SOURCES, jars.thin_client, classes)
    with Cluster(IgniteEndpoint(ignite.addresses)) as cluster:
        register_type(cluster, COLOR)
        yield Sunk(cluster, ignite, jars, classes)


OWN: list[tuple[ConnectSchema, Any, str]] = [
    (INT8, -128, "byte:-128"), (INT16, 300, "short:300"), (INT32, 7, "int:7"), (INT64, -(1 << 63), "long:-9223372036854775808"),
    (FLOAT, 1.5, "float:3fc00000"), (DOUBLE, 0.1, "double:3fb999999999999a"), (BOOLEAN, True, "bool:true"), (STRING, "é", "str:c3a9"),
    (BYTES, b"\0\xff", "bytes:00ff"), (connect.decimal(2), Decimal("-12.50"), "dec:-1250:2"),
    (connect.date(), datetime.date(2026, 2, 3), "sqldate:2026-02-03"), (connect.time(), datetime.time(1, 2, 3, 4000), "time:3723004"),
    (connect.timestamp(), MOMENT, "ts:1770091506:7000000"),
    (ConnectSchema(ConnectType.ARRAY, value_schema=INT16), [1, None], "[short:1,null]"),
    (ConnectSchema(ConnectType.MAP, key_schema=INT32, value_schema=STRING), [(1, "a")], "{int:1=str:61}"),
    (POINT, {"x": 1, "label": None}, "Point(label=null,x=int:1)"),
]  # fmt: skip


def test_values_have_the_types_of_their_schemas_and_are_keys(sunk: Sunk) -> None:
    sunk.put("connect_own", [(schema, value) for schema, value, _ in OWN], [(INT32, row) for row in range(len(OWN))])
    assert sunk.read("connect_own") == {f"int:{row}": text for row, (*_, text) in enumerate(OWN)}
    of_keys = [one for one in OWN if one[0].type not in (ConnectType.ARRAY, ConnectType.MAP, ConnectType.BYTES) or one[0].name]
    sunk.put("connect_keys", [(STRING, "v")] * len(of_keys), [(schema, value) for schema, value, _ in of_keys])
    assert sunk.read("connect_keys") == {text: "str:76" for *_, text in of_keys}


FLAT: Mapping[str, tuple[str, ConnectSchema, Any, str]] = {
    "b": ("byte", INT32, -1, "byte:-1"), "s": ("short", INT64, 300, "short:300"), "i": ("int", INT8, 7, "int:7"),
    "l": ("long", connect.timestamp(), MOMENT, f"long:{MILLIS}"), "f": ("float", DOUBLE, 1.5, "float:3fc00000"),
    "d": ("double", FLOAT, 0.5, "double:3fe0000000000000"), "c": ("char", INT32, 0x20AC, "char:8364"),
    "z": ("boolean", BOOLEAN, True, "bool:true"), "bb": ("java.lang.Byte", INT8, None, "null"),
    "string": ("java.lang.String", STRING, "a", "str:61"), "uuid": ("java.util.UUID", STRING, ID, f"uuid:{ID}"),
    "date": ("java.util.Date", connect.timestamp(), MOMENT, f"date:{MILLIS}"),
    "timestamp": ("java.sql.Timestamp", connect.timestamp(), MOMENT, "ts:1770091506:7000000"),
    "time": ("java.sql.Time", connect.time(), datetime.time(1, 2, 3, 4000), "time:3723004"),
    "decimal": ("java.math.BigDecimal", connect.decimal(1), Decimal("12.5"), "dec:1250:2"),
    "bytes": ("[B", BYTES, b"\1", "bytes:01"), "color": ("WriteTypes$Color", STRING, "WriteTypes$Color.GREEN", "enum:GREEN"),
}  # fmt: skip


def test_a_java_class_gets_its_fields_by_the_query_entity(sunk: Sunk) -> None:
    columns = tuple(QueryField(name, java, scale=2 if name == "decimal" else -1) for name, (java, *_) in FLAT.items())
    entity = QueryEntity("java.lang.Integer", "WriteTypes$Flat", table="CONNECT_FLAT", fields=columns)
    schema = struct("some.other.Name", **{name: one for name, (_, one, *_) in FLAT.items()})
    sunk.put("connect_flat", [(schema, {name: value for name, (*_, value, _) in FLAT.items()})], [(INT64, 1)], entity)
    absent = dict.fromkeys(["cc", "dd", "ff", "ii", "ll", "ss", "zz"], "null")
    fields = sorted((absent | {name: text for name, (*_, text) in FLAT.items()}).items())
    assert sunk.read("connect_flat") == {"int:1": f"Flat({','.join(f'{name}={text}' for name, text in fields)})"}


def test_an_object_key_has_the_bytes_that_java_gives_it(sunk: Sunk) -> None:
    key = struct("WriteTypes$KeyA", region=INT32, code=STRING)
    sunk.put("connect_object_keys", [(POINT, {"x": n, "label": "a"}) for n in (1, 2)], [(key, {"region": n, "code": "x"}) for n in (1, 2)])
    assert sunk.read("connect_object_keys") == {
        f"KeyA(code=str:78,region=int:{n})": f"Point(label=str:61,x=int:{n})" for n in (1, 2)
    }  # fmt: skip


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_days_and_times_are_those_of_a_java_in_that_zone(sunk: Sunk, zone: str) -> None:
    name = f"connect_{zone.rpartition('/')[2]}"
    days = [datetime.date(1900, 1, 1), datetime.date(2026, 7, 1), datetime.date(2026, 12, 31), datetime.date(2050, 7, 1)]
    sunk.put(name, [(connect.date(), day) for day in days], [(INT32, row) for row in range(len(days))], zone=zone)
    assert sunk.read(name, zone) == {f"int:{row}": f"sqldate:{day}" for row, day in enumerate(days)}
