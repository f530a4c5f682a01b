"""Checks of the rights on a connector's topics besides those of its data: internal topics, events, signals, letters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..kafka.clients import KafkaClients
from ..kafka.topic_rights import TopicRights
from ..settings.connector import ConnectorSettings
from ..settings.sink import SinkSettings
from ..settings.source import SourceSettings
from ..settings.topic_names import types_topic
from ..state.internal_names import comparisons_topic, configs_topic, heartbeats_topic, offsets_topic, status_topic
from .findings import FAILED, OK, WARNING, Diagnosis

_READ = "READ"
_WRITE = "WRITE"
_CONFIGS = "DESCRIBE_CONFIGS"


@dataclass(frozen=True)
class TopicUse:
    """Use of a topic by a connector.

    :param operations: Kafka's operations that the user needs on the topic, besides Describe.
    :param purpose: what needs them, as the beginning of a sentence.
    :param created: whether the topic is created if it is missing.
    :param optional: whether a run works without the rights.
    """

    name: str
    operations: tuple[str, ...]
    purpose: str
    created: bool = True
    optional: bool = False


def topic_uses(settings: ConnectorSettings) -> Iterator[TopicUse]:
    """Yield the topics of a connector and its comparisons, without those of its data."""
    prefix = settings.internal_topic_prefix
    both = _READ, _WRITE
    yield TopicUse(configs_topic(prefix), both, "each run")
    yield TopicUse(status_topic(prefix), both, "each run")
    yield TopicUse(offsets_topic(prefix, settings.name), (*both, _CONFIGS), "each run")
    if isinstance(settings, SourceSettings):
        yield TopicUse(types_topic(prefix), both, "each run")
        if settings.signal_topic:
            yield TopicUse(settings.signal_topic, (_READ,), "signal_topic")
        if settings.notifications_topic:
            yield TopicUse(settings.notifications_topic, (_WRITE,), "notifications_topic")
        if settings.heartbeat_interval_ms and settings.streams:
            yield TopicUse(heartbeats_topic(prefix), both, "heartbeat_interval_ms")
    elif isinstance(settings, SinkSettings) and settings.types_topic:
        yield TopicUse(settings.types_topic, (_READ,), "types_topic", created=False)
    if settings.events_topic:
        yield TopicUse(settings.events_topic, (_WRITE,), "events_topic")
    if settings.dead_letter_topic:
        yield TopicUse(settings.dead_letter_topic, (_WRITE,), "dead_letter_topic")
    yield TopicUse(comparisons_topic(prefix), both, "ignite-kafka verify", optional=True)


def check_topics(settings: ConnectorSettings, clients: KafkaClients, diagnosis: Diagnosis) -> None:
    """Check the user's rights on the topics of :func:`topic_uses`, missing ones included."""
    with diagnosis.failures_of("Topics"):
        uses = list(topic_uses(settings))
        rights = TopicRights(clients).of(use.name for use in uses)
        allowed = 0
        for use in uses:
            if problem := _problem(use, rights[use.name]):
                diagnosis.add(f"Topic {use.name}", WARNING if use.optional else FAILED, *problem)
            else:
                allowed += 1
        if allowed:
            diagnosis.add("Topics", OK, f"{allowed} besides those of data may be used")


def _problem(use: TopicUse, rights: frozenset[str] | None) -> tuple[str, str] | None:
    """Return what is wrong with the rights on a topic, and the remedy; None if nothing is."""
    if rights is None:
        return None
    needed = ", ".join(_word(operation) for operation in ("DESCRIBE", *use.operations))
    if not rights:
        what = f"{use.purpose} needs it, and the user may neither see nor create it"
        grant = f"Create, {needed}" if use.created else needed
        return what, f"Grant {grant} on it to the user of the Kafka connection (docs/operations.md, Rights)."
    missing = [_word(operation) for operation in use.operations if operation not in rights]
    if rights == {"CREATE"}:  # it does not exist, and nothing tells the rights that it would have
        return None if use.created else (f"{use.purpose} names it, and it does not exist", "Correct the setting.")
    if not missing:
        return None
    what = f"{use.purpose} needs the right {', '.join(missing)} on it, which the user does not have"
    return what, f"Grant {', '.join(missing)} on it to the user of the Kafka connection (docs/operations.md, Rights)."


def _word(operation: str) -> str:
    """Return Kafka's name of an operation, as ACLs have it: DescribeConfigs for DESCRIBE_CONFIGS."""
    return operation.title().replace("_", "")
