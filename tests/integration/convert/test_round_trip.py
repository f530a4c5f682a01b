"""Entries that a Java client wrote, as records and back: the same bytes, or where JSON tells less than those, the same record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.convert.to_ignite import ClusterTypes, Entries, last_per_key
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cache_writer import CacheWriter
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.schema import get_or_create_cache
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.kafka.records import Consumed, Records
from tests.support.converters import converter
from tests.support.java_caches import Read
from tests.support.java_caches import read as scanned
from tests.support.to_ignite_records import decoded, record_converter, rules
from tools.servers import IgniteCluster

LONG, INTEGER, TEXT = "java.lang.Long", "java.lang.Integer", "java.lang.String"
FLAT = {
    "b": "byte", "s": "short", "i": "int", "l": "long", "f": "float", "d": "double", "c": "char", "z": "boolean",
    "bb": "java.lang.Byte", "ss": "java.lang.Short", "ii": INTEGER, "ll": LONG, "ff": "java.lang.Float", "dd": "java.lang.Double",
    "cc": "java.lang.Character", "zz": "java.lang.Boolean", "string": TEXT, "uuid": "java.util.UUID", "date": "java.util.Date",
    "timestamp": "java.sql.Timestamp", "time": "java.sql.Time", "decimal": "java.math.BigDecimal", "bytes": "[B",
    "color": "WriteTypes$Color",
}  # fmt: skip
NESTED = {
    "point": "WriteTypes$Point", "child": "WriteTypes$Nested", "shorts": "[S", "ints": "[I", "longs": "[J", "floats": "[F",
    "doubles": "[D", "chars": "[C", "booleans": "[Z", "strings": "[Ljava.lang.String;", "uuids": "[Ljava.util.UUID;",
    "dates": "[Ljava.util.Date;", "timestamps": "[Ljava.sql.Timestamp;", "times": "[Ljava.sql.Time;",
    "decimals": "[Ljava.math.BigDecimal;", "colors": "[LWriteTypes$Color;", "points": "[LWriteTypes$Point;", "map": "java.util.Map",
}  # fmt: skip
POINT = {"x": "int", "label": TEXT}
# cache: key class, value class, columns of the value
ENTITIES: dict[str, tuple[str, str, dict[str, str]]] = {
    "flat": (LONG, "WriteTypes$Flat", FLAT),
    "object_key": ("WriteTypes$KeyA", "WriteTypes$Point", POINT),
    "string_key": (TEXT, "WriteTypes$Point", POINT),
    "uuid_key": ("java.util.UUID", TEXT, {}),
    "enum_key": ("WriteTypes$Color", "java.math.BigDecimal", {}),
    "date_key": ("java.sql.Timestamp", "java.util.Date", {}),
    "decimal_key": ("java.math.BigDecimal", "[I", {}),
    "evolved": (INTEGER, "Evolved", {}),
    "sql_date": (INTEGER, "java.sql.Date", {}),
    "times": (INTEGER, "WriteTypes$Times", {"sqlDate": "java.sql.Date"}),
    "list_of": (INTEGER, "java.util.List", {}),
    # last: an object of a subclass extends the type that its field declares
    "nested": (INTEGER, "WriteTypes$Nested", NESTED),
}
# what JSON does not tell: nanoseconds, times beyond a day, absent from null, classes of elements, ...; see docs/types.md
SAME_BYTES = {"object_key", "string_key", "uuid_key", "enum_key", "date_key", "decimal_key", "sql_date"}


def entity_of(name: str) -> QueryEntity:
    key, value, columns = ENTITIES[name]
    return QueryEntity(key, value, fields=tuple(QueryField(field, kind) for field, kind in columns.items()))


def consumed(records: Records) -> Consumed:
    return Consumed("topic", 0, records.keys, records.values, np.arange(len(records)))


NUMERIC = rules(decimal_format="NUMERIC")


def entries_of(cache: Read, name: str, info: CacheInfo) -> tuple[Records, Entries]:
    records = converter("json", decimal_format="NUMERIC").convert(cache.pages, cache.info, cache.cluster, in_order=True)
    to_ignite = record_converter(replace(info, query_entities=(entity_of(name),)), ClusterTypes(cache.cluster), NUMERIC)
    return records, to_ignite.convert(consumed(records))


def copied(cache: Read, name: str) -> Read:
    """The cache's entries by way of records and back, in a cache of their own."""
    copy = get_or_create_cache(cache.cluster, CacheConfiguration(f"copy_{name}"))
    _, entries = entries_of(cache, name, copy)
    assert entries.bad == ()
    with CacheWriter(cache.cluster, copy, overwrite=True) as writer:
        last = last_per_key(entries, overwrite=True)
        writer.put(last.keys, last.values)
        writer.flush()
    return scanned(cache.cluster, copy.name)


def records_of(cache: Read, name: str = "json") -> dict[bytes, bytes]:
    records = converter(name, decimal_format="NUMERIC").convert(cache.pages, cache.info, cache.cluster)
    return dict(zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True))


def _without(records: dict[bytes, bytes], keys: set[bytes]) -> dict[bytes, bytes]:
    return {key: value for key, value in records.items() if key not in keys}


@pytest.mark.parametrize("name", ENTITIES)
def test_a_copy_by_way_of_json_gives_the_same_json(read: Callable[[str], Read], name: str) -> None:
    cache = read(name)
    copy = copied(cache, name)
    # JSON does not tell a map within a map from an object, nor the class of an object that no field declares
    untold = {b"1000", b"1001"} if name == "nested" else set()
    assert _without(records_of(copy), untold) == _without(records_of(cache), untold)
    if name in SAME_BYTES:
        assert records_of(copy, "ignite-binary") == records_of(cache, "ignite-binary")


def test_flat_objects_come_back_byte_for_byte_but_for_their_nanoseconds(read: Callable[[str], Read]) -> None:
    cache = read("flat")
    records, entries = entries_of(cache, "flat", cache.info)
    wire = converter("ignite-binary").convert(cache.pages, cache.info, cache.cluster)
    same = [found == wanted for found, wanted in zip(entries.values.to_pylist(), wire.values.to_pylist(), strict=True)]
    # n ms and n ns above: only 0 has none; 100 and 101 are extremes
    different = {key for key, alike in zip(records.keys.to_pylist(), same, strict=True) if not alike}
    assert different == {str(n).encode() for n in (*range(1, 40), 100, 101)}


@pytest.mark.parametrize("name", ["flat", "nested", "object_key", "plain", "any_key", "times", "raw", "loop"])
def test_ignite_binary_passes_through_and_is_proved(read: Callable[[str], Read], name: str) -> None:
    cache = read(name)
    records = converter("ignite-binary").convert(cache.pages, cache.info, cache.cluster)
    binary = rules("ignite-binary", "ignite-binary")
    entries = record_converter(cache.info, ClusterTypes(cache.cluster), binary).convert(consumed(records))
    assert entries.bad == ()
    assert entries.keys.equals(records.keys)
    assert entries.values.equals(records.values)


def test_records_of_a_topic_become_what_sql_reads(read: Callable[[str], Read], ignite: IgniteCluster) -> None:
    cluster = read("flat").cluster
    columns = {"ID": LONG, "NAME": TEXT, "PRICE": "java.math.BigDecimal", "DAY": "java.sql.Date", "AT": "java.sql.Timestamp"}
    fields = tuple(QueryField(name, kind, is_key=name == "ID", scale=2 if name == "PRICE" else -1) for name, kind in columns.items())
    entity = QueryEntity(LONG, "SinkRow", key_field="ID", table="SINKROWS", fields=fields)
    cache = get_or_create_cache(cluster, CacheConfiguration("sink_rows", query_entities=(entity,)))
    values = [b'{"name":"a","price":"MDk=","day":19782,"at":1709210096789}', b'{"name":null,"price":"/w==","extra":[1]}']
    keys, data = pa.array([b"1", b"2"], pa.binary()), pa.array(values, pa.binary())
    entries = record_converter(cache, ClusterTypes(cluster)).convert(Consumed("topic", 0, keys, data, np.arange(2)))
    assert entries.bad == ()
    with CacheWriter(cluster, cache, overwrite=True) as writer:
        writer.put(entries.keys, entries.values)
        writer.flush()
    query = 'select ID, NAME, PRICE, cast(DAY as varchar), cast(AT as varchar) from "sink_rows".SINKROWS order by ID'
    with ignite.client() as connected:
        found = list(connected.sql(query))
    assert found == [[1, "a", Decimal("123.45"), "2024-02-29", "2024-02-29 12:34:56.789"], [2, None, Decimal("-0.01"), None, None]]


def test_decimals_of_a_table_keep_their_value(read: Callable[[str], Read], ignite: IgniteCluster) -> None:
    """Ignite keeps the scale of a literal: 12.5 in a DECIMAL(10,2) column has scale 1 in its bytes."""
    cluster = read("flat").cluster
    with ignite.client() as connected:
        list(connected.sql('CREATE TABLE prices (id DECIMAL(10,2) PRIMARY KEY, d DECIMAL(10,2)) WITH "cache_name=prices,value_type=Price"'))
        list(connected.sql("INSERT INTO prices VALUES (1.5, 12.5), (2, 3), (3.25, -0.01), (4, NULL)"))
        wanted = [tuple(row) for row in connected.sql("SELECT id, d FROM prices ORDER BY id")]
    info = cluster.cache("prices")
    pages = list(scan_partitions(cluster, info, range(info.partitions)))
    records = converter("json").convert(pages, info, cluster)
    entries = record_converter(info, ClusterTypes(cluster)).convert(consumed(records))
    assert entries.bad == ()
    found = decoded(entries, cluster)
    assert sorted((key, value.fields["D"]) for key, value in found) == wanted
    assert wanted == [(Decimal("1.5"), Decimal("12.5")), (Decimal(2), Decimal(3)), (Decimal("3.25"), Decimal("-0.01")), (Decimal(4), None)]
