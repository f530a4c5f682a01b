"""What metrics of a run need beyond its status record.

Its lag, and earlier runs of its snapshot, if the clusters answer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_ignite_kafka.runs.metrics import counted_before
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import RunStatus, read_runs

if TYPE_CHECKING:
    from airflow_provider_ignite_kafka.runs.request import Request

log = logging.getLogger(__name__)
_NODE_MS = 5_000


def earlier_run(request: Request, status: RunStatus) -> RunStatus | None:
    """The last run of the same snapshot before this one; None without one, and if Kafka does not answer."""
    settings = request.settings
    if not status.snapshot_id:
        return None
    try:
        clients = KafkaClients.of(settings, request.secrets)
        return counted_before(read_runs(clients, settings.internal_topic_prefix, settings.name).values(), status)
    except IgniteKafkaError as error:
        log.info("Metrics include records of earlier tries, because the status topic could not be read: %s", error)
        return None


def read_lag(request: Request, status: RunStatus) -> Mapping[str, int]:
    """Records that a sink has not stored, by topic, or changes that a stream has not sent, by cache.

    Empty if a cluster does not answer.
    """
    from ignite_kafka.admin import backlog, lag  # numpy, which a Dag file must not load

    settings = request.settings
    try:
        if isinstance(settings, SinkSettings):
            topics = {counts.topic for counts in status.caches.values()}
            return lag.sink_lag(Topics(KafkaClients.of(settings, request.secrets)), settings.group_id, sorted(topics))
        if not isinstance(settings, SourceSettings) or settings.failover_policy != "BACKLOG":
            return {}
        quick = replace(settings, ignite_connect_timeout_ms=_NODE_MS, ignite_request_timeout_ms=_NODE_MS)
        return lag.source_lag(backlog.status(quick, request.secrets))
    except IgniteKafkaError as error:
        log.info("The lag is not known: %s", error)
        return {}
