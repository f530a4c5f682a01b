"""OpenLineage datasets of a run: caches and topics with columns, and counts of copied data.

Names are those of OpenLineage's naming specification: ``kafka://host:port`` and the topic. For Ignite, which the
specification does not list, they follow its general rule: ``ignite://host:port`` and the cache.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from airflow.providers.common.compat.openlineage.facet import (
    InputDataset,
    OutputDataset,
    OutputStatisticsOutputDatasetFacet,
    SchemaDatasetFacet,
    SchemaDatasetFacetFields,
)
from airflow.providers.openlineage.extractors import OperatorLineage

from airflow_provider_ignite_kafka.assets.copied import Copied, CopiedCache, clusters_of
from airflow_provider_ignite_kafka.lineage.columns import Column, cache_columns, record_columns
from airflow_provider_ignite_kafka.runs.request import Request
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import CacheNotFound, IgniteKafkaError
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.sql_views import with_present_tables
from ignite_kafka.ignite.types.model import QueryEntity
from ignite_kafka.plan.routing import select
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

log = logging.getLogger(__name__)
_CONNECT_S = 2.0
_COLUMNS_S = 5.0  # OpenLineage's listener ends the method after 10 seconds, and the event is lost
_PLAIN_NAME = re.compile(r"[\w-]+")

Entities = Mapping[str, tuple[QueryEntity, ...]]
"""Query entities of each cache."""


def planned_datasets(request: Request) -> OperatorLineage[Any, Any]:
    """Return the datasets of a run that starts.

    The caches that match a regular expression are known only if the Ignite cluster answers at once.
    """
    settings = request.settings
    try:
        with _cluster(request) as cluster:
            pairs = _pairs(settings, cluster.cache_names())
            entities = _entities(cluster, (cache for cache, _ in pairs))
    except IgniteKafkaError as error:
        log.info("Lineage without columns, because Ignite did not answer: %s", error)
        pairs = _pairs(settings, None)
        entities = {}
    caches = tuple(CopiedCache(cache, topic) for cache, topic in pairs)
    return _lineage(settings, replace(clusters_of(settings), caches=caches), entities, counted=False)


def copied_datasets(request: Request, run: Copied) -> OperatorLineage[Any, Any]:
    """Return the datasets of a run that has ended, with its counts."""
    try:
        with _cluster(request) as cluster:
            entities = _entities(cluster, (cache.cache for cache in run.caches))
    except IgniteKafkaError as error:
        log.info("Lineage without columns, because Ignite did not answer: %s", error)
        entities = {}
    return _lineage(request.settings, run, entities, counted=True)


def _cluster(request: Request) -> Cluster:
    return Cluster(request.settings.ignite_endpoint.bounded(_CONNECT_S), request.secrets.ignite)


def _pairs(settings: ConnectorSettings, existing: Iterable[str] | None) -> list[tuple[str, str]]:
    """Return pairs of cache and topic that a run would copy.

    :param existing: caches of the cluster; None: unknown.
    """
    if isinstance(settings, SinkSettings):
        from ignite_kafka.sink.planning import cache_of  # loads Arrow, which only a listener needs

        return [(cache_of(topic, settings).name, topic) for topic in settings.topics]
    assert isinstance(settings, SourceSettings)
    names = [name for name in settings.cache_whitelist if _PLAIN_NAME.fullmatch(name)] if existing is None else existing
    chosen = select(names, settings.cache_whitelist, settings.cache_blacklist, settings.backlog_cache_name)
    from ignite_kafka.source.planning import topic_of

    named = topic_of(settings)
    return [(cache, named(cache).name) for cache in chosen]


def _entities(cluster: Cluster, caches: Iterable[str]) -> Entities:
    """Read the query entities of caches for their columns, as many as the time limit allows."""
    entities: dict[str, tuple[QueryEntity, ...]] = {}
    deadline = Deadline.after(_COLUMNS_S)
    for cache in caches:
        if deadline.expired:
            log.info(
                "Lineage has the columns of %d caches, the others were not read in %g s", len(entities), _COLUMNS_S
            )
            break
        try:
            entities[cache] = with_present_tables(cluster, cluster.configuration(cache)).query_entities
        except CacheNotFound:
            continue
    return entities


def _lineage(
    settings: ConnectorSettings, run: Copied, entities: Entities, *, counted: bool
) -> OperatorLineage[Any, Any]:
    """Build the OpenLineage inputs and outputs of a run.

    :param counted: whether the counts are known.
    """
    caches: list[tuple[str, str, dict[str, Any]]] = []
    topics: list[tuple[str, str, dict[str, Any]]] = []
    for cache in run.caches:
        entities_of_cache = entities.get(cache.cache, ())
        values = (
            record_columns(settings, cache.cache, entities_of_cache) if isinstance(settings, SourceSettings) else ()
        )
        caches.append((f"ignite://{run.ignite[0]}", cache.cache, _schema(cache_columns(entities_of_cache))))
        topics.append((f"kafka://{run.kafka[0]}", cache.topic, _schema(values)))
    sources, targets = (caches, topics) if run.to_kafka else (topics, caches)
    statistics = [_statistics(cache) if counted else {} for cache in run.caches]
    return OperatorLineage(
        inputs=[InputDataset(namespace=namespace, name=name, facets=facets) for namespace, name, facets in sources],
        outputs=[
            OutputDataset(namespace=namespace, name=name, facets=facets, outputFacets=counts)
            for (namespace, name, facets), counts in zip(targets, statistics, strict=True)
        ],
    )


def _schema(columns: Iterable[Column]) -> dict[str, Any]:
    fields = [SchemaDatasetFacetFields(name=name, type=java_type) for name, java_type in columns]
    return {"schema": SchemaDatasetFacet(fields=fields)} if fields else {}


def _statistics(copied_cache: CopiedCache) -> dict[str, Any]:
    return {
        "outputStatistics": OutputStatisticsOutputDatasetFacet(rowCount=copied_cache.records, size=copied_cache.bytes)
    }
