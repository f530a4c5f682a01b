"""Configuration of a cache as Ignite's own system view of caches shows it."""

from __future__ import annotations

from typing import NamedTuple

from pyignite import Client

_COLUMNS = "CACHE_MODE, ATOMICITY_MODE, BACKUPS, DATA_REGION_NAME, WRITE_SYNCHRONIZATION_MODE"


class CacheView(NamedTuple):
    """A row of SYS.CACHES. `region` is None for the default region of the nodes."""

    mode: str
    atomicity: str
    backups: int
    region: str | None
    write_synchronization: str


def read_cache_view(client: Client, name: str) -> CacheView:
    """Read the row of a cache.

    :raises ValueError: the cluster has no such cache.
    """
    with client.sql(f"SELECT {_COLUMNS} FROM SYS.CACHES WHERE CACHE_NAME = ?", query_args=[name]) as rows:
        (row,) = rows
    return CacheView(*row)
