"""Creates the missing caches of a sink; existing caches are never altered."""

from __future__ import annotations

from collections.abc import Container, Iterable

from .. import events
from ..errors import CacheNotFound
from ..ignite.cluster import Cluster
from ..ignite.schema import NewCache, get_or_create_cache
from ..ignite.types.model import CacheInfo, QueryEntity, QueryField
from ..plan.sink_plan import SinkPlan
from ..settings.sink import KEY, OWN_NAME, VALUE, SinkSettings

_OBJECT = "java.lang.Object"
_ON_ALL = "FULL_SYNC"


def ensure_caches(plan: SinkPlan, cluster: Cluster) -> list[str]:
    """Create the missing caches of a plan. Report existing ones that acknowledge entries before their backups have them.

    :returns: names of the created caches.
    :raises CacheNotFound: cache_template is no cache of the cluster.
    :raises WriteFailed: the cluster did not create a cache.
    """
    existing = set(cluster.cache_names())
    for topic in plan.topics:
        if topic.cache in existing:
            _report_backups(cluster.cache(topic.cache))
    templates = missing_caches([topic.cache for topic in plan.topics], existing, plan.settings, cluster)
    for name, template in templates.items():
        get_or_create_cache(cluster, new_cache(name, plan.settings, template))
    if templates:
        events.emit(events.CACHES_MADE, caches=", ".join(templates))
    return list(templates)


def missing_caches(names: Iterable[str], existing: Container[str], settings: SinkSettings, cluster: Cluster) -> dict[str, CacheInfo | None]:
    """Missing caches and the template of each; None: no template.

    :raises CacheNotFound: cache_template is no cache of the cluster.
    """
    return {name: _template(name, settings, cluster) for name in names if name not in existing}


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
        what, remedy = "cache_template is no cache of the cluster", "Create it, or set cache_template to an existing cache."
        raise CacheNotFound(what, remedy, setting="cache_template", cache=template) from cause


def new_cache(name: str, settings: SinkSettings, template: CacheInfo | None) -> NewCache:
    """The configuration of a new cache: from the settings, else from the template, else the cluster's defaults."""
    backups = settings.cache_backups if settings.cache_backups >= 0 else template.backups if template else None
    return NewCache(
        name,
        mode=settings.cache_mode or (template.mode if template else None),
        atomicity=settings.cache_atomicity or (template.atomicity if template else None),
        backups=backups,
        data_region=settings.cache_region or None,
        query_entities=query_entities(settings) or (template.query_entities if template else ()),
    )


def query_entities(settings: SinkSettings) -> tuple[QueryEntity, ...]:
    """The query entity that the settings describe; empty if they describe none.

    With key_policy key or value, several key_fields are columns of a key that is an object; a single one is the whole key.
    """
    if not (settings.cache_key_type or settings.cache_value_type):
        return ()
    of_key = set(settings.key_fields) if settings.key_policy in (KEY, VALUE) and len(settings.key_fields) > 1 else set()
    fields = tuple(QueryField(name, java_type, is_key=name in of_key) for name, java_type in settings.cache_fields.items())
    table = settings.cache_value_type.rpartition(".")[2] or None
    return (QueryEntity(settings.cache_key_type or _OBJECT, settings.cache_value_type or _OBJECT, table=table, fields=fields),)
