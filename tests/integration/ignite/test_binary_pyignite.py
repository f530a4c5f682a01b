"""Values written by pyignite, read by both paths."""

from __future__ import annotations

import decimal
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from pyignite import GenericObjectMeta
from pyignite.datatypes import (
    BoolObject,
    ByteArrayObject,
    CollectionObject,
    DateObject,
    DecimalObject,
    DoubleObject,
    IntArrayObject,
    IntObject,
    LongObject,
    MapObject,
    String,
    StringArrayObject,
    TimestampObject,
    UUIDObject,
)

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.ignite.binary import decode_entries, decode_rows
from ignite_kafka.ignite.binary.row_values import Date, Document, MapValue, Timestamp
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.ignite.scan import scan_partitions
from tests.support.value_text import column_form, of_column
from tools.servers import IgniteCluster

SCHEMA = {
    "long": LongObject,
    "text": String,
    "real": DoubleObject,
    "flag": BoolObject,
    "id": UUIDObject,
    "day": DateObject,
    "moment": TimestampObject,
    "amount": DecimalObject,
    "raw": ByteArrayObject,
    "ints": IntArrayObject,
    "texts": StringArrayObject,
    "items": CollectionObject,
    "pairs": MapObject,
}


Everything: Any = GenericObjectMeta("Everything", (), {}, type_name="PyEverything", schema=SCHEMA)


def everything(row: int) -> Any:
    moment = datetime(2024, 2, 29, 12, 30, 15, 123_000, UTC)
    fields: dict[str, Any] = {
        "long": row << 40,
        "text": f"text {row} €",
        "real": row / 7,
        "flag": row % 2 == 0,
        "id": uuid.UUID(int=row),
        "day": moment,
        "moment": (moment, row),
        "amount": decimal.Decimal(row) / 8,
        "raw": bytes([row]),
        "ints": list(range(row % 4)),
        "texts": ["a", "b" * row],
        "items": (CollectionObject.ARR_LIST, [(1, IntObject), "two"]),
        "pairs": (MapObject.LINKED_HASH_MAP, {"k": (row, LongObject)}),
    }
    return Everything(**fields)


@pytest.fixture
def cluster(ignite: IgniteCluster) -> Any:
    with Cluster(IgniteEndpoint(addresses=ignite.addresses), IgniteCredentials()) as opened:
        yield opened


def test_objects_of_pyignite(ignite: IgniteCluster, cluster: Cluster, unique: Callable[[str], str]) -> None:
    name = unique("py")
    with ignite.client() as client:
        cache = client.create_cache(name)
        cache.put_all({row: everything(row) for row in range(1, 60)} | {0: Everything()})
        info = cluster.cache(name)
        pages = [page for page in scan_partitions(cluster, info, range(info.partitions)) if page.rows]
        cache.destroy()
    rows = dict(decode_rows(pages, info, cluster))
    assert rows.keys() == set(range(60))
    seven = rows[7]
    assert isinstance(seven, Document)
    assert seven.fields["moment"] == Timestamp(1_709_209_815, 123_000_007)
    assert seven.fields["day"] == Date(1_709_209_815_123)
    assert seven.fields["amount"] == decimal.Decimal("0.875")
    assert seven.fields["items"] == [1, "two"]
    assert seven.fields["pairs"] == MapValue((("k", 7),))
    assert rows[0].fields["text"] is None
    (group,) = decode_entries(pages, info, cluster)
    keys = group.key.to_pylist()
    assert of_column(group.value) == [column_form(rows[key]) for key in keys]
