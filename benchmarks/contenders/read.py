"""Ours on one connection and one thread, without Spark: a cache read to Arrow, and what the connection alone gives."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import pyignite

from ignite_kafka.convert import converter
from ignite_kafka.ignite.binary import decode_entries
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.page_batches import MIN_BATCH_ROWS, batches
from ignite_kafka.ignite.scan import scan_partitions
from ignite_kafka.settings.source import SourceSettings

from .serve import serve

_PAGE_BYTES = 4 << 20


def to_arrow(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every entry decoded into Arrow arrays."""
    entries = 0
    with Cluster(IgniteEndpoint((request["address"],))) as cluster:
        cache = cluster.cache(request["cache"])
        pages = scan_partitions(cluster, cache, range(cache.partitions))
        for batch in batches(pages, MIN_BATCH_ROWS, lambda: 2 * _PAGE_BYTES):
            entries += sum(len(group.key) for group in decode_entries(batch, cache, cluster))
    return {"entries": entries}


def to_json(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every entry as the bytes of a JSON record."""
    entries = 0
    json = converter(SourceSettings(name="read"))
    with Cluster(IgniteEndpoint((request["address"],))) as cluster:
        cache = cluster.cache(request["cache"])
        pages = scan_partitions(cluster, cache, range(cache.partitions))
        for batch in batches(pages, MIN_BATCH_ROWS, lambda: 2 * _PAGE_BYTES):
            entries += len(json.convert(batch, cache, cluster))
    return {"entries": entries}


def pages_only(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Nothing decoded: the limit of one connection. Also what a scan of empty partitions costs."""
    with Cluster(IgniteEndpoint((request["address"],))) as cluster:
        cache = cluster.cache(request["cache"])
        rows = sum(page.rows for page in scan_partitions(cluster, cache, range(cache.partitions)))
    return {"entries": rows, "units": cache.partitions}


def pyignite_scan(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Scan with pyignite: the first ``most`` entries, with large pages."""
    host, port = request["address"].rsplit(":", 1)
    client = pyignite.Client()
    with client.connect(host, int(port)), client.get_cache(request["cache"]).scan(page_size=10_000) as cursor:
        entries = sum(1 for _entry in islice(cursor, request["most"]))
    return {"entries": entries}


if __name__ == "__main__":
    serve({"arrow": to_arrow, "json": to_json, "pages": pages_only, "pyignite": pyignite_scan})
