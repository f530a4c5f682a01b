"""Assets of Ignite caches: ``ignite://host:port/cache``, with the cache's name percent-encoded.

OpenLineage's naming specification has no entry for Ignite; by its general rule the namespace is ``ignite://host:port``
and the name that of the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from airflow_provider_ignite_kafka.assets.addresses import IGNITE_PORT, normalized

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from airflow.providers.common.compat.openlineage.facet import Dataset
    from airflow.sdk import Asset

SCHEME = "ignite"


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """Normalize and check the URI of a cache's asset; Airflow calls this for the scheme ``ignite``.

    :raises ValueError: host or cache is missing, or the port is no number; Airflow shows it as import error of the Dag.
    """
    form = "Its form is ignite://host:port/cache, where / in a cache's name is %2F"
    if not uri.netloc:
        raise ValueError(f"{uri.geturl()!r} names no host of an Ignite node. {form}.")
    cache = uri.path[1:]
    if not cache or "/" in cache:
        raise ValueError(f"{uri.geturl()!r} must name one cache after the host. {form}.")
    return uri._replace(netloc=normalized(uri.netloc, IGNITE_PORT), path=f"/{quote(unquote(cache), safe='')}")


def create_asset(*, host: str, cache: str, port: int = IGNITE_PORT, extra: dict[str, Any] | None = None) -> Asset:
    """Make the Airflow asset of a cache.

    :param host: a node of the cluster, with or without a port; `port` is the default.
    """
    from airflow.sdk import Asset

    return Asset(uri=cache_uri(normalized(host, port), cache), extra=extra)


def cache_uri(address: str, cache: str) -> str:
    """Make the asset URI of a cache, normalized as by :func:`sanitize_uri`.

    :param address: ``host:port``.
    """
    return f"{SCHEME}://{address}/{quote(cache, safe='')}"


def cache_of(uri: str) -> tuple[str, str]:
    """Split an asset URI into address and cache name."""
    parts = urlsplit(uri)
    return parts.netloc, unquote(parts.path[1:])


def convert_asset_to_openlineage(asset: Asset, lineage_context: Any) -> Dataset:
    """Convert the asset of a cache to an OpenLineage dataset; Airflow calls this for lineage."""
    from airflow.providers.common.compat.openlineage.facet import Dataset

    address, cache = cache_of(asset.uri)
    return Dataset(namespace=f"{SCHEME}://{address}", name=cache)
