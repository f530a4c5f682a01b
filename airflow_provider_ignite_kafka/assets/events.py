"""Asset events of a copying task, one for each topic or cache it has written, with counts as extra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow_provider_ignite_kafka.assets.addresses import IGNITE_PORT, KAFKA_PORT, normalized
from airflow_provider_ignite_kafka.assets.copied import KAFKA_SCHEME, Copied, CopiedCache
from airflow_provider_ignite_kafka.assets.ignite import SCHEME, cache_of

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

Extra = dict[str, Any]
"""Extra data of an asset event, as JSON values."""


def emit_asset_events(context: Context, outlets: Sequence[Any], copied: Copied) -> None:
    """Add asset events with counts to the outlets of a task that succeeds.

    Airflow stores no events of a failing task.

    - An asset alias gets an event of each topic (for a sink: cache) into which this run has copied anything. The event
      is that of the Dag's outlet for the topic or cache, else of an asset named by the URI.
    - An asset that the Dag names gets the counts as extra if the run has filled it, zeros included: Airflow makes the
      event of such an outlet in any case. Any address of the cluster matches.
    """
    from airflow.sdk import Asset, AssetAlias

    events = context["outlet_events"]
    named = {}
    aliases = [outlet for outlet in outlets if isinstance(outlet, AssetAlias)]
    for outlet in outlets:
        if (uri := getattr(outlet, "uri", None)) and (filled := _filled(uri, copied)) is not None:
            events[outlet].extra.update(copied.extra(filled))
            named[filled] = outlet
    for copied_cache in copied.caches:
        if copied_cache.records:
            for alias in aliases:
                events[alias].add(
                    named.get(copied_cache) or Asset(uri=copied.target_uri(copied_cache)),
                    extra=copied.extra(copied_cache),
                )


def emit_verified_events(context: Context, outlets: Sequence[Any], verified: Copied, extras: Sequence[Extra]) -> None:
    """Add the result of a comparison to the asset events of a task that succeeds.

    - An asset of one of the connector's topics (of a sink: caches) gets the counts of this topic and its cache.
    - Any other asset stands for the connector, and gets the sums; so does a topic of several caches.
    - An asset alias gets an event of each topic (of a sink: cache) that equals its other side.

    :param verified: the compared caches and topics.
    :param extras: counts of each of these, in their order; then the sums.
    """
    from airflow.sdk import Asset, AssetAlias

    events = context["outlet_events"]
    by_cache = dict(zip(verified.caches, extras[:-1], strict=True))
    for outlet in outlets:
        if isinstance(outlet, AssetAlias):
            for cache, extra in by_cache.items():
                if extra["equal"]:
                    events[outlet].add(Asset(uri=verified.target_uri(cache)), extra=extra)
        elif uri := getattr(outlet, "uri", None):
            caches = _written(uri, verified)
            events[outlet].extra.update(by_cache[caches[0]] if len(caches) == 1 else extras[-1])


def report_hook_lineage(hook: Any, copied: Copied) -> None:
    """Report the assets that a run read and wrote to Airflow's lineage collector.

    The assets are known only at run time, so Airflow cannot read them from the Dag.
    """
    from airflow.providers.common.compat.sdk import get_hook_lineage_collector

    collector = get_hook_lineage_collector()
    for copied_cache in copied.caches:
        if copied_cache.records:
            collector.add_input_asset(hook, uri=copied.source_uri(copied_cache))
            collector.add_output_asset(
                hook, uri=copied.target_uri(copied_cache), asset_extra=copied.extra(copied_cache)
            )


def _filled(uri: str, copied: Copied) -> CopiedCache | None:
    """Find the cache or topic with this asset URI among those written by the run; None without one.

    Of several caches with one topic, it is the one with most records.
    """
    return max(_written(uri, copied), key=lambda copied_cache: copied_cache.records, default=None)


def _written(uri: str, copied: Copied) -> list[CopiedCache]:
    """Find the caches of an asset URI: by their topic or, of a sink, by their own name."""
    parts = urlsplit(uri)
    if parts.scheme == KAFKA_SCHEME and copied.to_kafka:
        if normalized(parts.netloc, KAFKA_PORT) in copied.kafka:
            return [copied_cache for copied_cache in copied.caches if copied_cache.topic == parts.path[1:]]
    elif parts.scheme == SCHEME and not copied.to_kafka:
        address, cache = cache_of(uri)
        if normalized(address, IGNITE_PORT) in copied.ignite:
            return [copied_cache for copied_cache in copied.caches if copied_cache.cache == cache]
    return []
