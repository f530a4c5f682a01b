"""Clients of both clusters, from settings and secrets."""

from __future__ import annotations

from dataclasses import replace

from ..connector_settings import ConnectorSettings
from ..kafka.clients import BRIEF_S, KafkaClients
from ..kafka.record_size import DEFAULT_MESSAGE_BYTES
from ..kafka.slots import TransactionLimits
from ..plan import TransferPlan
from ..secrets import Secrets
from ..settings import SourceSettings
from ..thin.cluster import Cluster
from ..transport import check_ignite, check_kafka


def ignite_cluster(settings: ConnectorSettings, secrets: Secrets) -> Cluster:
    """A connected cluster: a context manager.

    :raises SettingsError: the connection is not protected, and the settings do not allow that.
    """
    check_ignite(settings, secrets)
    return Cluster(settings.ignite_endpoint, secrets.ignite)


def kafka_clients(settings: ConnectorSettings, secrets: Secrets) -> KafkaClients:
    """Clients of every kind; the same error as :func:`ignite_cluster`."""
    check_kafka(settings, secrets)
    common = {**settings.kafka_common, **secrets.kafka}
    return KafkaClients(common, settings.producer_override, settings.consumer_override)


def slot_clients(settings: ConnectorSettings, secrets: Secrets) -> KafkaClients:
    """Clients of a slot, whose calls wait no longer than a slot is tried again."""
    clients = kafka_clients(settings, secrets)
    return replace(clients, patience_s=min(clients.patience_s, max(BRIEF_S, settings.retry_timeout_ms / 1000)))


def producer_settings(plan: TransferPlan) -> dict[str, int]:
    """What the producers of slots need beside the settings: to take dead letters as large as their topic allows."""
    return {"message.max.bytes": max(DEFAULT_MESSAGE_BYTES, plan.max_letter_bytes)} if plan.max_letter_bytes else {}


def transaction_limits(settings: SourceSettings) -> TransactionLimits:
    return TransactionLimits(
        settings.transaction_max_records, settings.transaction_max_bytes, settings.transaction_max_ms, settings.transaction_timeout_ms
    )
