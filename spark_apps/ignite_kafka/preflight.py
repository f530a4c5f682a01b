"""Checks of both clusters before Spark starts.

So an unknown cache or topic, or a refused login, costs no Spark session.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace

from .common.event_log import EventLog, event_totals
from .convert import check_transforms
from .convert.filter import check_conditions
from .errors import AuthenticationFailed, CacheNotFound, IgniteKafkaError, KafkaUnavailable
from .events import NAME_MATCHES_NOTHING, RUN_FAILED, emit
from .ignite.cluster import Cluster
from .kafka.clients import BRIEF_S, KafkaClients
from .kafka.topics import Topics
from .metrics.libraries import check_libraries
from .runtime.clients import ignite_cluster, kafka_clients
from .runtime.event_recorder import EventRecorder
from .runtime.failure_events import report_end
from .settings.connector import ConnectorSettings
from .settings.overrides import without_effect
from .settings.secrets import Secrets
from .settings.sink import SinkSettings
from .settings.source import SourceSettings
from .settings.suggestions import did_you_mean
from .sink.caches import missing_caches
from .sink.planning import cache_names, chosen_topics, known_topics
from .source.planning import chosen_caches, unmatched
from .state.configs import read_connector
from .state.status import FAILED, RunStatus, StatusWriter, now_ms

log = logging.getLogger(__name__)


def preflight(
    settings: ConnectorSettings,
    secrets: Secrets,
    run_id: str,
    snapshot_id: str | None = None,
    log_of_run: EventLog | None = None,
) -> None:
    """Check that both clusters accept the connector, and have the caches and topics of its settings.

    The run itself waits for brokers that do not answer. An error and the events are written to the status topic, as
    those during the run, unless Kafka refuses the login.

    :param log_of_run: events of the run so far, and those of these checks; None: there are none.
    :param snapshot_id: the snapshot to begin or continue; None: see
        :class:`~ignite_kafka.runtime.connector_run.RunRequest`.
    :raises SettingsError: a transform is unknown, its properties are wrong, or a constant of a condition has no value,
        or the library of an exporter of metrics is missing.
    :raises CacheNotFound: the lists match no cache, or a sink's template does not exist.
    :raises TopicError: a topic to read does not exist.
    :raises IgniteUnreachable: no node answers.
    :raises AuthenticationFailed: a cluster refuses user, password or certificate.
    """
    clients = kafka_clients(settings, secrets)
    started_ms = now_ms()
    try:
        check_connector(settings, secrets, clients, snapshot_id)
    except IgniteKafkaError as error:
        report_end(error)
        emit(RUN_FAILED, connector=settings.name, run_id=run_id, reason=str(error))
        if not _refused_by_kafka(error):
            ended = RunStatus(
                FAILED, settings.name, run_id, started_ms=started_ms, ended_ms=now_ms(), error=error.to_dict()
            )
            _record(settings, clients, ended, log_of_run)
        raise


def _refused_by_kafka(error: IgniteKafkaError) -> bool:
    """Return whether Kafka refused the login, so that no record can be written.

    An attempt would report the same error again.
    """
    return isinstance(error, AuthenticationFailed) and "bootstrap_servers" in error.where


def _record(settings: ConnectorSettings, clients: KafkaClients, ended: RunStatus, log_of_run: EventLog | None) -> None:
    counts = {} if log_of_run is None else log_of_run.counts()
    recorded = {} if log_of_run is None else log_of_run.recorded
    try:
        clients.check(BRIEF_S)
        topics = Topics(clients)
        StatusWriter.ensure_topic(topics, settings.internal_topic_prefix, settings.replication_factor)
        writer = StatusWriter(clients, settings.internal_topic_prefix)
        with closing(EventRecorder(writer, settings, ended.run_id, recorded)) as recorder:
            _open_topic(recorder, clients, topics)
            recorder.record(counts)
            writer.run(replace(ended, events=event_totals(counts)), BRIEF_S)
    except IgniteKafkaError as unwritten:
        log.warning("the status record could not be written: %s", unwritten)


def _open_topic(recorder: EventRecorder, clients: KafkaClients, topics: Topics) -> None:
    try:
        recorder.open_topic(clients, topics)
    except IgniteKafkaError as refused:
        log.warning("events are written to the status topic only: %s", refused)


def check_connector(
    settings: ConnectorSettings, secrets: Secrets, clients: KafkaClients, snapshot_id: str | None = None
) -> None:
    """Make the checks of :func:`preflight`, without a record of an error; the same errors."""
    check_transforms(settings)
    check_conditions(settings)
    check_libraries(settings)
    with ignite_cluster(settings, secrets) as cluster:
        caches = cluster.cache_names()
        try:
            clients.check()
            if isinstance(settings, SinkSettings):
                _check_topics(settings, caches, clients, cluster)
            elif isinstance(settings, SourceSettings):
                _check_caches(settings, caches, clients, snapshot_id)
        except KafkaUnavailable as error:
            log.warning("Kafka does not answer yet; the run retries: %s", error)


def _check_topics(settings: SinkSettings, caches: list[str], clients: KafkaClients, cluster: Cluster) -> None:
    topics = chosen_topics(settings, known_topics(settings, Topics(clients)))
    report_unmatched(settings, topics)
    cache_topics = cache_names(topics, settings)
    missing_caches({cache: topic for topic, cache in cache_topics.items()}, caches, settings, cluster)


def _check_caches(settings: SourceSettings, caches: list[str], clients: KafkaClients, snapshot_id: str | None) -> None:
    try:
        report_unmatched(settings, chosen_caches(settings, caches))
    except CacheNotFound:
        if _needs_a_plan(settings, clients, snapshot_id):
            raise
    for pattern in unmatched(settings, caches):
        hint = did_you_mean(pattern, caches) or "The cluster has no cache of a similar name."
        emit(NAME_MATCHES_NOTHING, setting="cache_whitelist", name=pattern, hint=hint)


def report_unmatched(settings: ConnectorSettings, names: Iterable[str]) -> None:
    """Report the expressions of `overrides` that apply to none of the chosen caches or topics."""
    for pattern, hint in without_effect(settings, names).items():
        emit(NAME_MATCHES_NOTHING, setting="overrides", name=pattern, hint=hint)


def _needs_a_plan(settings: SourceSettings, clients: KafkaClients, snapshot_id: str | None) -> bool:
    """Whether the run selects caches: a complete snapshot copies nothing, and an unfinished one has its caches."""
    state = read_connector(clients, Topics(clients), settings.internal_topic_prefix, settings.name)
    if state.snapshot is not None and not state.snapshot.complete and snapshot_id in (None, state.snapshot.id):
        return False
    return snapshot_id not in state.ended
