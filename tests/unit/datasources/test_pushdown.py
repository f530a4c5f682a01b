"""Which conditions of Spark become gets by key: the first on whole keys that can be sent, and no other."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.datasource import EqualTo, Filter, In

from ignite_kafka.datasources.pushdown import split_key_conditions
from ignite_kafka.ignite.binary.entry_table import entries_schema
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity
from tests.support.ignite_bytes import Types

OWN = entries_schema(CacheInfo("c", 1, 4, query_entities=(QueryEntity("java.lang.Long", "java.lang.String"),)), Types(), [])
OTHER = EqualTo(("_value",), "x")


@pytest.mark.parametrize(
    ("filters", "keys", "left"),
    [
        ([], None, []),
        ([EqualTo(("_key",), 5)], (5,), []),
        ([OTHER, In(("_key",), (5, 6))], (5, 6), [OTHER]),
        ([In(("_key",), (5, 6)), EqualTo(("_key",), 6)], (5, 6), [EqualTo(("_key",), 6)]),
        ([EqualTo(("_key", "id"), 5)], None, [EqualTo(("_key", "id"), 5)]),
        ([EqualTo(("_key",), "5")], None, [EqualTo(("_key",), "5")]),
    ],
    ids=str,
)
def test_the_first_condition_on_whole_keys_becomes_gets(filters: list[Filter], keys: object, left: list[Filter]) -> None:
    assert split_key_conditions(filters, OWN, None) == (keys, left)


def test_some_partitions_and_given_columns_are_scanned() -> None:
    filters: list[Filter] = [EqualTo(("_key",), 5)]
    assert split_key_conditions(filters, OWN, (0, 1)) == (None, filters)
    given = pa.schema([pa.field("_key", pa.int64()), pa.field("_value", pa.string())])
    assert split_key_conditions(filters, given, None) == (None, filters)
