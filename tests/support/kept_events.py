"""What a connector's runs have kept of their events, read as `ignite-kafka events` reads it."""

from __future__ import annotations

from ignite_kafka.admin.connector_events import read_connector_events
from ignite_kafka.common.event_log import EventCounts
from ignite_kafka.events import Event
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.secrets import Secrets


def kept(settings: ConnectorSettings) -> EventCounts:
    """Counts and newest texts of all runs of a connector, by id."""
    return read_connector_events(settings, Secrets()).counts


def assert_kept(settings: ConnectorSettings, *expected: Event) -> None:
    """Assert that the status topic has each of these events, with a text without a gap.

    A test of units holds that every event is expected somewhere on real servers.
    """
    counts = kept(settings)
    assert [f"{event.id} {event.message}" for event in expected if event.id not in counts] == [], f"kept: {sorted(counts)}"
    gaps = [(event.id, field) for event in expected for field in event.fields if field not in counts[event.id].newest[-1].fields]
    assert gaps == [], "fields of messages that are not kept"
