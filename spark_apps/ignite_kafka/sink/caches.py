"""Creation of the missing caches of a sink; existing caches are never altered."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import replace

from .. import events
from ..errors import CacheNotFound
from ..ignite.cache_configuration import CacheConfiguration
from ..ignite.cluster import Cluster
from ..ignite.schema import get_or_create_cache
from ..ignite.sql_views import with_present_tables
from ..ignite.types.model import CacheInfo, QueryEntity, QueryField
from ..plan.sink_plan import SinkPlan
from ..settings.sink import KEY, OWN_NAME, VALUE, SinkSettings
from .cache_differences import differences

_OBJECT = "java.lang.Object"
_ON_ALL = "FULL_SYNC"
SourceConfiguration = Callable[[str], CacheConfiguration | None]
"""Lookup of the source's cache configuration for a data topic; None: unknown."""


def ensure_caches(plan: SinkPlan, cluster: Cluster, source_configuration: SourceConfiguration) -> list[str]:
    """Create the missing caches of a plan, and warn about existing caches that may not fit.

    Report existing caches with differences from the source's caches that affect entries or SQL.

    A cache of several topics is created by the settings and the source's cache of the first one.

    Also report caches that acknowledge entries before their backups have them.

    :returns: names of the created caches.
    :raises CacheNotFound: cache_template is no cache of the cluster.
    :raises WriteFailed: the cluster did not create a cache.
    """
    existing = set(cluster.cache_names())
    topics: dict[str, str] = {}
    for topic in plan.topics:
        if not topic.routed:
            topics.setdefault(topic.cache, topic.name)
    settings = {name: plan.settings.of(topic) for name, topic in topics.items()}
    configurations = {
        name: source_configuration(topic) if settings[name].cache_as_source else None for name, topic in topics.items()
    }
    for name in topics:
        if name in existing:
            _report(name, cluster, configurations[name])
    templates = missing_caches(topics, existing, plan.settings, cluster)
    for name, template in templates.items():
        _report_backups(get_or_create_cache(cluster, new_cache(name, settings[name], template, configurations[name])))
    if templates:
        events.emit(events.CACHES_MADE, caches=", ".join(templates))
    return list(templates)


def no_source() -> CacheConfiguration | None:
    """Return None: the configuration of a source's cache is unknown."""
    return None


def routed_cache(
    cluster: Cluster,
    name: str,
    settings: SinkSettings,
    source: Callable[[], CacheConfiguration | None] = no_source,
) -> CacheInfo:
    """Return the cache that transforms or a header chose for a record; create the cache if it is missing.

    :param settings: settings of the topic that is read.
    :param source: returns the configuration of the source's cache; None: unknown.
    :raises CacheNotFound: cache_template is no cache of the cluster.
    :raises WriteFailed: the cluster did not create the cache.
    """
    with suppress(CacheNotFound):
        return cluster.cache(name)
    configuration = source() if settings.cache_as_source else None
    cache = get_or_create_cache(cluster, new_cache(name, settings, _template(name, settings, cluster), configuration))
    events.emit(events.CACHES_MADE, caches=name)
    return cache


def missing_caches(
    topics: Mapping[str, str], existing: Container[str], settings: SinkSettings, cluster: Cluster
) -> dict[str, CacheInfo | None]:
    """Return the template for each missing cache, by cache name; None without the setting `cache_template`.

    :param topics: the topic of each cache of the plan.
    :raises CacheNotFound: cache_template is no cache of the cluster.
    """
    return {
        name: _template(name, settings.of(topic), cluster) for name, topic in topics.items() if name not in existing
    }


def _report(name: str, cluster: Cluster, source: CacheConfiguration | None) -> None:
    _report_backups(cluster.cache(name))
    if source is None:
        return
    held = with_present_tables(cluster, cluster.configuration(name))
    if texts := differences(source, held):
        events.emit(events.CACHE_DIFFERS, cache=name, source=source.name, differences="; ".join(texts))


def _report_backups(cache: CacheInfo) -> None:
    copied = cache.backups > 0 or cache.mode == "REPLICATED"
    if copied and cache.write_synchronization != _ON_ALL:
        events.emit(events.BACKUPS_BEHIND, cache=cache.name, synchronization=cache.write_synchronization)


def _template(cache: str, settings: SinkSettings, cluster: Cluster) -> CacheInfo | None:
    if not settings.cache_template:
        return None
    template = settings.cache_template.replace(OWN_NAME, cache.removeprefix(settings.cache_prefix))
    try:
        return cluster.cache(template)
    except CacheNotFound as cause:
        what = "cache_template is no cache of the cluster"
        remedy = "Create it, or set cache_template to an existing cache."
        raise CacheNotFound(what, remedy, setting="cache_template", cache=template) from cause


def new_cache(
    name: str, settings: SinkSettings, template: CacheInfo | None, source: CacheConfiguration | None = None
) -> CacheConfiguration:
    """Compose the configuration of a cache to create, from settings, template and source cache.

    Settings come first, then the template, the source's cache, and the cluster's defaults.
    """
    if template is not None:
        like = CacheConfiguration(
            name, template.mode, template.atomicity, template.backups, query_entities=template.query_entities
        )
    else:
        like = source or CacheConfiguration(name)
    return replace(
        like,
        name=name,
        mode=settings.cache_mode or like.mode,
        atomicity=settings.cache_atomicity or like.atomicity,
        backups=settings.cache_backups if settings.cache_backups >= 0 else like.backups,
        data_region=settings.cache_region or like.data_region,
        query_entities=query_entities(settings) or like.query_entities,
    )


def query_entities(settings: SinkSettings) -> tuple[QueryEntity, ...]:
    """Return the query entity (SQL table) described by the settings; empty if they describe none.

    With key_policy key or value, several key_fields are columns of a key that is an object; a single field is the
    whole key.
    """
    if not (settings.cache_key_type or settings.cache_value_type):
        return ()
    of_key = set(settings.key_fields) if settings.key_policy in (KEY, VALUE) and len(settings.key_fields) > 1 else set()
    fields = tuple(
        QueryField(name, java_type, is_key=name in of_key) for name, java_type in settings.cache_fields.items()
    )
    table = settings.cache_value_type.rpartition(".")[2] or None
    return (
        QueryEntity(
            settings.cache_key_type or _OBJECT, settings.cache_value_type or _OBJECT, table=table, fields=fields
        ),
    )
