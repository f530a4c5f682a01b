"""Columns of source `ignite`, and conditions on the key that become gets."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceReader, EqualTo, Filter
from pyspark.sql.types import StructType

from ignite_kafka.datasources import ignite, ignite_backlog
from ignite_kafka.datasources.ignite import IgniteReader, Partitions, ReadOptions, choose_columns
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.binary.entry_table import entries_schema, is_own
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity
from tests.support.ignite_bytes import Types

EMPTY = CacheInfo("c", 1, 4)
CACHE = CacheInfo("c", 1, 4, query_entities=(QueryEntity("java.lang.Long", "java.lang.String"),))
OWN = entries_schema(CACHE, Types(), [])
GIVEN = StructType().add("_key", "long").add("_value", "string")
IS_FIVE: list[Filter] = [EqualTo(("_key",), 5)]


def reader(schema: pa.Schema = OWN, **options: str) -> IgniteReader:
    return IgniteReader(ReadOptions.of({"cache": "c", **options}), CACHE, schema)


def test_a_cache_without_columns_gets_the_given_ones() -> None:
    schema = choose_columns(lambda: entries_schema(EMPTY, Types(), []), GIVEN)
    assert schema == pa.schema([pa.field("_key", pa.int64()), pa.field("_value", pa.string())])


def test_the_caches_own_columns_are_used_unless_others_are_given() -> None:
    assert choose_columns(lambda: OWN, GIVEN) is OWN
    assert choose_columns(lambda: OWN, StructType().add("_key", "string")).names == ["_key"]


def test_a_condition_on_the_key_is_pushed_down() -> None:
    read = reader()
    assert list(read.pushFilters(IS_FIVE)) == []
    assert read.partitions() == [Partitions(keys=(5,))]


def test_no_condition_is_pushed_down_for_some_partitions() -> None:
    read = reader(partitions="0-1")
    assert list(read.pushFilters(IS_FIVE)) == IS_FIVE
    assert [number for some in read.partitions() for number in some.numbers] == [0, 1]
    beyond = reader(partitions="4")
    assert list(beyond.pushFilters(IS_FIVE)) == IS_FIVE
    with pytest.raises(SettingsError, match="no partition 4"):
        beyond.partitions()


def test_no_condition_is_pushed_down_on_given_columns() -> None:
    """A text column may be a UUID in the cache; a get by text would find nothing."""
    read = reader(pa.schema([pa.field("_key", pa.int64()), pa.field("_value", pa.string())]))
    assert list(read.pushFilters(IS_FIVE)) == IS_FIVE


@pytest.mark.parametrize("module", [ignite, ignite_backlog])
def test_a_read_samples_its_schema_once(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    """Spark makes the reader in another process, of the source that gave the schema: a second sample may show other columns."""
    samples = [OWN]
    monkeypatch.setattr(module, "read_schema", lambda *_: samples.pop())
    monkeypatch.setattr(ReadOptions, "connect", lambda _: nullcontext(SimpleNamespace(cache=lambda _: CACHE)))
    source_of = {ignite: ignite.IgniteDataSource, ignite_backlog: ignite_backlog.IgniteBacklogDataSource}
    source = source_of[module]({"cache": "c", "connector": "c"} if module is ignite_backlog else {"cache": "c"})
    schema = source.schema()
    read = pickle.loads(pickle.dumps(source)).reader(schema)
    assert is_own(read._schema)
    assert isinstance(schema, StructType)
    assert read._schema.names == schema.names
    assert samples == []


def test_spark_accepts_the_reader_without_pushdown() -> None:
    """PySpark refuses a reader whose pushFilters is not its base class's while the pushdown is off; it compares as here."""
    read = pickle.loads(pickle.dumps(reader()))
    assert getattr(read.pushFilters, "__func__", None) is DataSourceReader.pushFilters
    assert list(read.pushFilters(IS_FIVE)) == []
