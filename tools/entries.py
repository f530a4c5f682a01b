"""Make caches and put Arrow columns into them, for the demonstration and the benchmarks."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ignite_kafka.ignite.binary import ObjectLayout, encoded
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cache_writer import CacheWriter
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.schema import get_or_create_cache, query_entity, register_type
from ignite_kafka.ignite.types.model import CacheInfo


def make_cache(
    cluster: Cluster, name: str, key: pa.Field, value: pa.Field, *, sql: bool = True, atomicity: str | None = None
) -> CacheInfo:
    """Get or create a cache and register the binary types of its keys and values.

    :param sql: add a query entity: a table with the cache's name in a schema with the same name.
    """
    for field in (key, value):
        if pa.types.is_struct(field.type):
            register_type(cluster, ObjectLayout.of(field).metadata)
    entities = (query_entity(name.upper(), key, value),) if sql else ()
    return get_or_create_cache(cluster, CacheConfiguration(name, query_entities=entities, atomicity=atomicity))


def put(
    cluster: Cluster, cache: CacheInfo, key: pa.Field, value: pa.Field, batches: Iterable[tuple[pa.Array, pa.Array]]
) -> int:
    """Put batches of keys and values, arrays of equal length, and return the number of rows."""
    rows = 0
    with CacheWriter(cluster, cache, overwrite=True) as writer:
        for keys, values in batches:
            writer.put(encoded(keys, key), encoded(values, value))
            rows += len(keys)
        writer.flush()
    return rows


def struct_of(columns: pa.Table, field: pa.Field) -> pa.StructArray:
    """Return the columns of a struct field, each cast to its type, as one array with a struct per row."""
    arrays = [columns[inner.name].combine_chunks().cast(inner.type) for inner in field.type]
    return pa.StructArray.from_arrays(arrays, fields=list(field.type))
