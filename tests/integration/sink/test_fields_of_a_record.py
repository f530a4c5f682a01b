"""What a record is stored as depends on no record before it: a key with objects within stays one key, a value keeps its own fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.convert.ignite_types.known_type import MAX_DENSE_FIELDS
from ignite_kafka.ignite.binary import raw_entries
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.ignite.schema import get_or_create_cache
from ignite_kafka.ignite.types.model import QueryEntity, QueryField
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.runtime.clients import ignite_cluster
from ignite_kafka.settings.secrets import Secrets
from tests.support.sink_connector import Sink


def of(value: Any) -> bytes:
    return json.dumps(value).encode()


def bytes_of(sink: Sink) -> dict[bytes, bytes]:
    """The cache's entries in Ignite's binary format."""
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        info = cluster.cache(sink.cache)
        pages = list(scan_partitions(cluster, info, range(info.partitions)))
        return dict(entry for page in pages for entry in raw_entries(page))


@pytest.fixture
def keyed(sink: Sink) -> Sink:
    """A sink into a table whose key has a column of a class that the cluster does not know."""
    point, value = f"Point{sink.name}", f"Value{sink.name}"
    columns = (QueryField("id", "java.lang.Long", True), QueryField("at", point, True), QueryField("n", "java.lang.Long"))
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        get_or_create_cache(
            cluster, CacheConfiguration(sink.cache, query_entities=(QueryEntity(f"Key{sink.name}", value, fields=columns),))
        )
    return sink


def test_a_record_with_a_new_field_in_its_key_keeps_no_update_from_the_keys_before(keyed: Sink) -> None:
    key = of({"id": 1, "at": {"x": 1}})
    keyed.send([(key, of({"n": 1}))], partition=0)
    keyed.run()
    (stored,) = bytes_of(keyed)
    keyed.send([(of({"id": 2, "at": {"x": 1, "y": 2}}), of({"n": 2})), (key, of({"n": 3}))], partition=0)
    counts = keyed.run(error_handling_policy="LOG_ONLY").caches[keyed.cache]
    assert (counts.entries, counts.bad) == (1, 1)
    assert set(bytes_of(keyed)) == {stored}
    keyed.send([(key, None)], partition=0)
    keyed.run()
    assert not bytes_of(keyed)


def test_values_of_a_wide_type_are_stored_alike_before_and_after_records_with_other_fields(sink: Sink) -> None:
    free: dict[str, Any] = {"cache_key_type": "", "cache_value_type": "", "cache_fields": {}}
    value, wide = of({"b": 1, "a": "x", "o": {"p": 1}}), {f"k{number}": number for number in range(MAX_DENSE_FIELDS)}
    sink.send([(b"1", of(wide)), (b"2", value)], partition=0)
    sink.run(**free)
    sink.send([(b"3", of({"c": 1, "a": None, "o": {"p": 2}}))], partition=0)
    sink.run(**free)
    sink.send([(b"4", value)], partition=0)
    sink.run(**free)
    stored = {int.from_bytes(key[1:9], "little"): data for key, data in bytes_of(sink).items()}
    assert stored[2] == stored[4]
    assert {key: list(entry) for key, entry in sink.entries().items()} == {
        1: sorted(wide),
        2: ["a", "b", "o"],
        3: ["c", "o"],
        4: ["a", "b", "o"],
    }
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        assert len(cluster.binary_type(java_hash(f"{sink.cache}.value".lower())).schemas) == 3
