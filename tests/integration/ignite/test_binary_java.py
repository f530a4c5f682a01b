"""Every type as a real Java client writes it, read by both paths: equal to what Java says it wrote, and to each other."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.errors import IgniteKafkaError, UnsupportedType
from ignite_kafka.ignite.binary import EnumPolicy, decode_entries, decode_rows, raw_entries
from ignite_kafka.ignite.binary.entry_table import entries_schema, to_batch
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.types.model import CacheInfo, Page
from tests.support.converters import converter
from tests.support.ignite_bytes import nested_type_ids
from tests.support.ignite_keys import key_of
from tests.support.java_programs import IGNITE_CLIENT_JVM, compile_java
from tests.support.value_text import column_form, of_column, of_java, of_row
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, Jars
from tools.servers.jars import java_command

SOURCE = Path(__file__).parents[2] / "java" / "WriteTypes.java"
READABLE = [
    "affinity_key",
    "any_key",
    "big_integer",
    "class_value",
    "date_key",
    "decimal_key",
    "empty",
    "enum_key",
    "evolved",
    "flat",
    "immutable",
    "instant",
    "list_of",
    "local_date",
    "local_date_time",
    "local_time",
    "nested",
    "object_key",
    "plain",
    "shared",
    "sql_date",
    "string_key",
    "times",
    "tree_map",
    "tree_set",
    "unmodifiable",
    "uuid_key",
]
REFUSED = {
    "loop": "contains itself",
    "optimized": "optimized marshaller",
    "raw": "RawTail has raw data",
    "zoned": "optimized marshaller",
}


@dataclass
class Written:
    """Caches that the Java client wrote, and its expected text: cache to (key, value)."""

    cluster: Cluster
    prefix: str
    expected: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def pages(self, cache: str) -> tuple[CacheInfo, list[Page]]:
        info = self.cluster.cache(self.prefix + cache)
        return info, [page for page in scan_partitions(self.cluster, info, range(info.partitions)) if page.rows]


@pytest.fixture(scope="module")
def classes(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled writer."""
    target = tmp_path_factory.mktemp("classes")
    compile_java([SOURCE], jars.thin_client, target)
    return target


@pytest.fixture(scope="module", params=["compact", "full"])
def written(request: pytest.FixtureRequest, ignite: IgniteCluster, jars: Jars, classes: Path) -> Iterator[Written]:
    """Once with compact footers and once with full ones."""
    prefix = f"types-{request.param}-"
    lines = classes / f"{request.param}.txt"
    arguments: list[str | Path] = [ignite.address, prefix, lines, *(["full"] if request.param == "full" else [])]
    subprocess.run(java_command("WriteTypes", arguments, [classes, jars.thin_client], IGNITE_CLIENT_JVM), check=True, timeout=DEADLINE_S)
    with Cluster(IgniteEndpoint(addresses=ignite.addresses), IgniteCredentials()) as cluster:
        found = Written(cluster, prefix)
        for line in lines.read_text(encoding="utf-8").splitlines():
            cache, key, value = line.split("\t")
            found.expected.setdefault(cache.removeprefix(prefix), []).append((of_java(key), of_java(value)))
        yield found
        for name in found.expected:
            with ignite.client() as client:
                client.get_cache(prefix + name).destroy()


@pytest.mark.parametrize("cache", READABLE)
def test_rows_are_what_java_wrote(written: Written, cache: str) -> None:
    info, pages = written.pages(cache)
    rows = [(of_row(key), of_row(value)) for key, value in decode_rows(pages, info, written.cluster)]
    assert sorted(rows) == sorted(set(written.expected[cache]))


@pytest.mark.parametrize("cache", READABLE)
def test_columns_are_equal_to_rows(written: Written, cache: str) -> None:
    info, pages = written.pages(cache)
    rows = list(decode_rows(pages, info, written.cluster))
    seen = np.zeros(len(rows), int)
    for group in decode_entries(pages, info, written.cluster):
        for array in (group.key, group.value):
            array.validate(full=True)
        seen[group.rows] += 1
        assert of_column(group.key, group.key_type.mark) == [column_form(rows[row][0]) for row in group.rows]
        assert of_column(group.value, group.value_type.mark) == [column_form(rows[row][1]) for row in group.rows]
    assert (seen == 1).all()


@pytest.mark.parametrize(("cache", "message"), REFUSED.items())
def test_what_nothing_can_hold_is_refused_by_both_paths(written: Written, cache: str, message: str) -> None:
    info, pages = written.pages(cache)
    for read in (decode_entries, decode_rows):
        with pytest.raises(UnsupportedType, match=re.escape(message)) as caught:
            list(read(pages, info, written.cluster))
        assert {"cache", "partition", "position"} <= caught.value.where.keys()


def test_object_keys_come_back_from_json_as_java_wrote_them(written: Written) -> None:
    info, pages = written.pages("object_key")
    records = converter("json").convert(pages, info, written.cluster, in_order=True)
    keys = [key for page in pages for key, _ in raw_entries(page, info.name)]
    assert len(keys) == len(records) > 0
    assert [key_of(text, records.key_kinds, written.cluster) for text in records.keys.to_pylist()] == keys


def test_type_ids_are_found_in_everything(written: Written) -> None:
    names = {}
    for cache in written.expected:
        _, pages = written.pages(cache)
        names[cache] = {written.cluster.binary_type(type_id).name for type_id in nested_type_ids(pages, written.cluster)}
    plain = {f"WriteTypes${name}" for name in ("Point", "Circle", "Color", "KeyA")}
    assert names["plain"] == plain
    nested = {f"WriteTypes${name}" for name in ("Nested", "Point", "Circle", "Color")}
    # Java's own serialization names the class of a list, and of its elements, by a hash
    assert names["nested"] == nested | {"java.util.Arrays$ArrayList", "java.lang.Object"}
    assert names["flat"] == {"WriteTypes$Flat", "WriteTypes$Color"}
    assert names["object_key"] == {"WriteTypes$KeyA", "WriteTypes$Point"}
    assert names["loop"] == {"WriteTypes$Loop"}
    assert names["tree_map"] == names["affinity_key"] == names["date_key"] == set()


@pytest.mark.parametrize(
    ("policy", "text"),
    [("SHORT_NAME", "BLUE"), ("LONG_NAME", "Color.BLUE"), ("FULL_NAME", "WriteTypes$Color.BLUE"), ("ORDINAL", 2)],
)
def test_enum_policies(written: Written, policy: str, text: str | int) -> None:
    info, pages = written.pages("enum_key")
    (group,) = decode_entries(pages, info, written.cluster, enums=EnumPolicy(policy))
    assert text in group.key.to_pylist()


def test_schema_of_evolved_objects_is_all_fields(written: Written) -> None:
    info, pages = written.pages("evolved")
    groups = decode_entries(pages, info, written.cluster)
    schema = entries_schema(info, written.cluster, groups)
    assert dict(zip(schema.names, schema.types, strict=True)) == {
        "_key": pa.int32(), "id": pa.int32(), "added": pa.string(), "later": pa.float64(), "wide": pa.string(),
    }  # fmt: skip
    assert pa.Table.from_batches([to_batch(group, schema) for group in groups]).num_rows == len(written.expected["evolved"])


def test_table_of_several_types_is_their_union(written: Written) -> None:
    info, pages = written.pages("nested")
    groups = decode_entries(pages, info, written.cluster)
    with pytest.raises(UnsupportedType, match="values of several kinds"):
        entries_schema(info, written.cluster, groups)


def test_extreme_dates_do_not_fit_a_table_and_say_so(written: Written) -> None:
    info, pages = written.pages("flat")
    groups = decode_entries(pages, info, written.cluster)
    schema = entries_schema(info, written.cluster, groups)
    with pytest.raises(UnsupportedType, match="Field date holds timestamp"):
        [to_batch(group, schema) for group in groups]


def test_errors_are_of_the_tree(written: Written) -> None:
    info, pages = written.pages("flat")
    broken = [Page(pages[0].partition, pages[0].rows, memoryview(bytes(pages[0].data)[:-1]), True)]
    for read in (decode_entries, decode_rows):
        with pytest.raises(IgniteKafkaError):
            list(read(broken, info, written.cluster))
