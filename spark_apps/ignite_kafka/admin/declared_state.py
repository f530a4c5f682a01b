"""Connector files compared with Kafka: the plan of what differs, and its application.

Settings are not written to Kafka: the next run of a connector takes them from its file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import NotStopped, SettingsError, TopicError
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.files.connector_files import ConnectorFolder, DeclaredConnector
from ..settings.files.declared_offsets import DeclaredOffset
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from ..state.configs import read_connector
from ..state.offsets import read_slots
from ..state.target_state import RUNNING, read_target
from .offsets import alter, reset
from .sink_offsets import set_offsets
from .target_state import known_connectors, newest_run, request_target_state

STATE = "state"
OFFSETS = "offset"
SETTINGS = "setting"
NOT_STARTED = "not started"
NO_FILE = "no file"
BROKEN = "broken"
# decided by the Airflow connections or the command line, so that a file and a run may differ
_OF_CONNECTIONS = (
    "bootstrap_servers",
    "kafka_config",
    "producer_override",
    "consumer_override",
    "ignite_",
    "allow_insecure_connections",
)


@dataclass(frozen=True)
class FoundConnector:
    """A connector as Kafka has it.

    :param target: target state requested last, in lower case.
    :param settings: those of its newest run.
    :param offsets: by cache and partition of a source, or topic and partition of a sink.
    """

    started: bool = False
    ended: bool = True
    target: str = "running"
    settings: Mapping[str, Any] = field(default_factory=dict)
    offsets: Mapping[tuple[str, int], int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """What differs between a connector's file and Kafka.

    :param what: ``state``, ``offset``, ``setting``, ``not started``, ``no file`` or ``broken``.
    :param place: of a setting its name, of an offset the cache or topic and the partition.
    """

    connector: str
    what: str
    place: str = ""
    declared: Any = None
    found: Any = None
    note: str = ""
    file: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            name: getattr(self, name) for name in ("connector", "file", "what", "place", "declared", "found", "note")
        }


def differences(declared: DeclaredConnector, settings: ConnectorSettings, existing: FoundConnector) -> list[Difference]:
    """Compare a file with its connector."""
    place = f"{declared.file}, line {declared.line}"
    if not existing.started:
        note = "its Dag or `ignite-kafka run` starts it" + ("; apply again then" if declared.state == "paused" else "")
        return [Difference(declared.name, NOT_STARTED, declared=declared.state, note=note, file=place)]
    rows = []
    if declared.state != existing.target:
        rows.append(Difference(declared.name, STATE, declared=declared.state, found=existing.target, file=place))
    for name, value in settings.to_dict().items():
        if not name.startswith(_OF_CONNECTIONS) and name in existing.settings and existing.settings[name] != value:
            note = "by its next run" if existing.ended else "when it is started again"
            rows.append(Difference(declared.name, SETTINGS, name, value, existing.settings[name], note, place))
    for offset in declared.offsets:
        now = existing.offsets.get((offset.name, offset.partition))
        if now != offset.position:
            note = (
                "only while stopped, with --alter-offsets" if declared.state == "stopped" else "state has to be stopped"
            )
            rows.append(
                Difference(
                    declared.name,
                    OFFSETS,
                    f"{offset.name}, partition {offset.partition}",
                    offset.position,
                    now,
                    note,
                    place,
                )
            )
    return rows


def plan(folder: ConnectorFolder, values: Mapping[str, Any], secrets: Secrets) -> list[Difference]:
    """Everything that differs between the files of a folder and Kafka. Writes nothing.

    :param values: settings that override those of each file, such as ``bootstrap_servers``.
    :raises KafkaUnavailable: brokers do not answer.
    """
    rows = [
        Difference(connector.name, BROKEN, note=str(connector.error), file=f"{connector.file}, line {connector.line}")
        for connector in folder.broken
    ]
    names = {connector.name for connector in folder.connectors} | {connector.name for connector in folder.broken}
    others: dict[tuple[str, str], list[str]] = {}
    for declared in folder.connectors:
        settings = declared.settings(values)
        clients, topics = _reach(settings, secrets)
        rows += differences(declared, settings, _found(declared, settings, clients, topics))
        place = settings.bootstrap_servers, settings.internal_topic_prefix
        if place not in others:
            others[place] = [
                name for name in known_connectors(clients, topics, settings.internal_topic_prefix) if name not in names
            ]
    rows += [
        Difference(name, NO_FILE, found="known to Kafka", note="left alone")
        for names_of_topic in others.values()
        for name in names_of_topic
    ]
    return rows


@dataclass(frozen=True)
class Applied:
    """What was done for a connector; ``done`` False: it did not stop in time, or was refused."""

    connector: str
    action: str
    done: bool = True

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {"connector": self.connector, "action": self.action, "done": self.done}


def apply(
    declared: DeclaredConnector, values: Mapping[str, Any], secrets: Secrets, *, alter_offsets: bool, wait_ms: int
) -> list[Applied]:
    """Bring a connector's state, and with ``alter_offsets`` its offsets, to those of its file. Repeatable.

    :param wait_ms: time to wait for the end of a run that is stopped, in milliseconds.
    """
    settings = declared.settings(values)
    clients, topics = _reach(settings, secrets)
    existing = _found(declared, settings, clients, topics)
    done: list[Applied] = []
    for difference in differences(declared, settings, existing):
        if difference.what == STATE:
            change = request_target_state(
                settings, secrets, declared.state.upper(), wait_ms if declared.state == "stopped" else 0
            )
            waited = change.after is None or change.after.ended
            done.append(Applied(declared.name, f"target state {declared.state}, was {difference.found}", done=waited))
    to_alter = [
        difference
        for difference in declared.offsets
        if existing.started and existing.offsets.get((difference.name, difference.partition)) != difference.position
    ]
    if to_alter and (not alter_offsets or declared.state != "stopped"):
        why = "--alter-offsets is not given" if declared.state == "stopped" else f"its state is {declared.state}"
        done.append(Applied(declared.name, f"{len(to_alter)} offsets left as they are: {why}", done=False))
    elif to_alter:
        done += _alter(declared, settings, secrets, to_alter)
    return done


def _alter(
    declared: DeclaredConnector,
    settings: ConnectorSettings,
    secrets: Secrets,
    offsets: Iterable[DeclaredOffset],
) -> list[Applied]:
    try:
        if isinstance(settings, SinkSettings):
            # a sink's offset has a position
            set_offsets(
                settings, secrets, {(offset.name, offset.partition): offset.position or 0 for offset in offsets}
            )
        else:
            for offset in offsets:
                if offset.position is None:
                    reset(settings, secrets, offset.name, offset.partition)
                else:
                    alter(settings, secrets, offset.name, offset.partition, offset.position)
    except (NotStopped, SettingsError, TopicError) as error:
        return [Applied(declared.name, f"offsets: {error}", done=False)]
    return [
        Applied(declared.name, f"offset of {offset.name}, partition {offset.partition}: {offset.position}")
        for offset in offsets
    ]


def _reach(settings: ConnectorSettings, secrets: Secrets) -> tuple[KafkaClients, Topics]:
    clients = kafka_clients(settings, secrets)
    clients.check()
    return clients, Topics(clients)


def _found(
    declared: DeclaredConnector, settings: ConnectorSettings, clients: KafkaClients, topics: Topics
) -> FoundConnector:
    prefix = settings.internal_topic_prefix
    state = read_connector(clients, topics, prefix, settings.name)
    if state.connector is None:
        return FoundConnector()
    newest = newest_run(clients, topics, prefix, settings.name)
    offsets: dict[tuple[str, int], int | None] = {}
    places = [(declared_offset.name, declared_offset.partition) for declared_offset in declared.offsets]
    if isinstance(settings, SinkSettings):
        offsets = {place: offset for place, (offset, _) in topics.group_offsets(settings.group_id, places).items()}
    elif places:
        for slot in read_slots(clients, topics, prefix, settings.name, state.connector.slots):
            offsets |= {place: unit.high if unit.high >= 0 else None for place, unit in slot.units.items()}
    target = read_target(clients, topics, prefix, settings.name) or RUNNING
    return FoundConnector(True, newest.ended, target.lower(), state.connector.settings, offsets)
