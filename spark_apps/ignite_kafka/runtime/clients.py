"""Clients of the Ignite and Kafka clusters, made from settings and secrets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from .. import events
from ..ignite.cluster import Cluster
from ..kafka.clients import BRIEF_S, KafkaClients
from ..kafka.record_size import DEFAULT_MESSAGE_BYTES
from ..kafka.topics import Topics
from ..plan.slots import Owner
from ..plan.source_plan import TransferPlan
from ..registry.registries import provide_registries
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.transport_security import check_ignite, check_kafka
from ..state.open_slots import SlotOpener
from ..state.open_transaction import TransactionLimits


def ignite_cluster(settings: ConnectorSettings, secrets: Secrets, backlog_secret: str | None = None) -> Cluster:
    """Connect to the Ignite cluster for the duration of a context, after checking that the connection is protected.

    :param backlog_secret: secret of the connector's capture, for calls that change the capture; None: the secret in the
        secrets file, if there is any.
    :raises SettingsError: the connection is not protected, and the settings do not allow that.
    """
    check_ignite(settings, secrets)
    credentials = secrets.ignite if backlog_secret is None else replace(secrets.ignite, backlog_secret=backlog_secret)
    return Cluster(settings.ignite_endpoint, credentials)


@contextmanager
def connected(settings: ConnectorSettings) -> Iterator[None]:
    """Emit the events of a run's connection to Ignite, at the begin and the end of the context."""
    address = ", ".join(settings.ignite_addresses)
    events.emit(events.IGNITE_CONNECTED, address=address)
    try:
        yield
    finally:
        events.emit(events.IGNITE_DISCONNECTED, address=address)


def kafka_clients(settings: ConnectorSettings, secrets: Secrets) -> KafkaClients:
    """Make the factory of Kafka clients, and set up clients of the schema registries in this process.

    :raises SettingsError: as :func:`ignite_cluster`.
    """
    check_kafka(settings, secrets)
    provide_registries(settings, secrets)
    return KafkaClients.of(settings, secrets)


def slot_clients(settings: ConnectorSettings, secrets: Secrets) -> KafkaClients:
    """Make Kafka clients for a slot, with waits no longer than the slot's retry time."""
    clients = kafka_clients(settings, secrets)
    return replace(clients, patience_s=min(clients.patience_s, max(BRIEF_S, settings.retry_timeout_ms / 1000)))


def slot_opener(plan: TransferPlan, clients: KafkaClients, topics: Topics, owner: Owner) -> SlotOpener:
    """Make the opener of a source's slots, with the settings' transaction limits."""
    settings = plan.settings
    limits = TransactionLimits(
        settings.transaction_max_records,
        settings.transaction_max_bytes,
        settings.transaction_max_ms,
        settings.transaction_timeout_ms,
    )
    producer = producer_settings(plan)
    return SlotOpener(
        clients, topics, plan.connector, settings.internal_topic_prefix, owner, limits, plan.max_batch_bytes, producer
    )


def producer_settings(plan: TransferPlan) -> dict[str, int]:
    """Return the producer settings that let a producer send large dead letters.

    A dead letter may be as large as the dead-letter topic accepts.
    """
    return {"message.max.bytes": max(DEFAULT_MESSAGE_BYTES, plan.max_letter_bytes)} if plan.max_letter_bytes else {}
