"""Comparison of connector files with Kafka: the plan of changes, and the application of the plan.

Settings are not written to Kafka: the next run of a connector reads them from its file.
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
from .target_state import list_connectors, newest_run, request_target_state

STATE = "state"
OFFSETS = "offset"
SETTINGS = "setting"
NOT_STARTED = "not started"
NO_FILE = "no file"
BROKEN = "broken"
# settings from Airflow connections or the command line, which may differ between a file and a run
_OF_CONNECTIONS = (
    "bootstrap_servers",
    "kafka_config",
    "producer_override",
    "consumer_override",
    "ignite_",
    "allow_insecure_connections",
)


@dataclass(frozen=True)
class ActualConnector:
    """Actual state of a connector, from its records in Kafka.

    :param target: last requested target state, in lower case.
    :param settings: settings of its newest run.
    :param offsets: offsets by cache and partition (source), or topic and partition (sink).
    """

    started: bool = False
    ended: bool = True
    target: str = "running"
    settings: Mapping[str, Any] = field(default_factory=dict)
    offsets: Mapping[tuple[str, int], int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """A difference between a connector's file and Kafka.

    :param what: ``state``, ``offset``, ``setting``, ``not started``, ``no file`` or ``broken``.
    :param place: name of a setting, or cache or topic and partition of an offset.
    :param actual: the value in Kafka; ``found`` in JSON.
    """

    connector: str
    what: str
    place: str = ""
    declared: Any = None
    actual: Any = None
    note: str = ""
    file: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as JSON values."""
        return {
            "connector": self.connector,
            "file": self.file,
            "what": self.what,
            "place": self.place,
            "declared": self.declared,
            "found": self.actual,
            "note": self.note,
        }


def differences(declared: DeclaredConnector, settings: ConnectorSettings, actual: ActualConnector) -> list[Difference]:
    """Return the differences between a connector's file and its actual state."""
    place = f"{declared.file}, line {declared.line}"
    if not actual.started:
        note = "its Dag or `ignite-kafka run` starts it" + ("; apply again then" if declared.state == "paused" else "")
        return [Difference(declared.name, NOT_STARTED, declared=declared.state, note=note, file=place)]
    rows = []
    if declared.state != actual.target:
        rows.append(Difference(declared.name, STATE, declared=declared.state, actual=actual.target, file=place))
    for name, value in settings.to_dict().items():
        if not name.startswith(_OF_CONNECTIONS) and name in actual.settings and actual.settings[name] != value:
            note = "by its next run" if actual.ended else "when it is started again"
            rows.append(Difference(declared.name, SETTINGS, name, value, actual.settings[name], note, place))
    for offset in declared.offsets:
        position = actual.offsets.get((offset.name, offset.partition))
        if position != offset.position:
            is_stopped = declared.state == "stopped"
            note = "only while stopped, with --alter-offsets" if is_stopped else "state has to be stopped"
            name = f"{offset.name}, partition {offset.partition}"
            rows.append(Difference(declared.name, OFFSETS, name, offset.position, position, note, place))
    return rows


def plan(folder: ConnectorFolder, values: Mapping[str, Any], secrets: Secrets) -> list[Difference]:
    """Return the differences between the files of a folder and Kafka; write nothing.

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
        clients, topics = _open_clients(settings, secrets)
        rows += differences(declared, settings, _read_actual(declared, settings, clients, topics))
        cluster = settings.bootstrap_servers, settings.internal_topic_prefix
        if cluster not in others:
            others[cluster] = [
                name for name in list_connectors(clients, topics, settings.internal_topic_prefix) if name not in names
            ]
    rows += [
        Difference(name, NO_FILE, actual="known to Kafka", note="left alone")
        for names_of_cluster in others.values()
        for name in names_of_cluster
    ]
    return rows


@dataclass(frozen=True)
class AppliedChange:
    """A change made for a connector; ``done`` is False if the run did not stop in time, or the change was refused."""

    connector: str
    action: str
    done: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON values."""
        return {"connector": self.connector, "action": self.action, "done": self.done}


def apply(
    declared: DeclaredConnector, values: Mapping[str, Any], secrets: Secrets, *, alter_offsets: bool, wait_ms: int
) -> list[AppliedChange]:
    """Set a connector's state to that of its file; with ``alter_offsets``, also its offsets. Repeatable.

    :param wait_ms: maximum time to wait for the end of a stopped run, in milliseconds.
    """
    settings = declared.settings(values)
    clients, topics = _open_clients(settings, secrets)
    actual = _read_actual(declared, settings, clients, topics)
    changes: list[AppliedChange] = []
    for difference in differences(declared, settings, actual):
        if difference.what == STATE:
            change = request_target_state(
                settings, secrets, declared.state.upper(), wait_ms if declared.state == "stopped" else 0
            )
            waited = change.after is None or change.after.ended
            changes.append(
                AppliedChange(declared.name, f"target state {declared.state}, was {difference.actual}", done=waited)
            )
    to_alter = [
        difference
        for difference in declared.offsets
        if actual.started and actual.offsets.get((difference.name, difference.partition)) != difference.position
    ]
    if to_alter and (not alter_offsets or declared.state != "stopped"):
        why = "--alter-offsets is not given" if declared.state == "stopped" else f"its state is {declared.state}"
        changes.append(AppliedChange(declared.name, f"{len(to_alter)} offsets left as they are: {why}", done=False))
    elif to_alter:
        changes += _alter(declared, settings, secrets, to_alter)
    return changes


def _alter(
    declared: DeclaredConnector,
    settings: ConnectorSettings,
    secrets: Secrets,
    offsets: Iterable[DeclaredOffset],
) -> list[AppliedChange]:
    try:
        if isinstance(settings, SinkSettings):
            # an offset of a sink always has a position
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
        return [AppliedChange(declared.name, f"offsets: {error}", done=False)]
    return [
        AppliedChange(declared.name, f"offset of {offset.name}, partition {offset.partition}: {offset.position}")
        for offset in offsets
    ]


def _open_clients(settings: ConnectorSettings, secrets: Secrets) -> tuple[KafkaClients, Topics]:
    clients = kafka_clients(settings, secrets)
    clients.check()
    return clients, Topics(clients)


def _read_actual(
    declared: DeclaredConnector, settings: ConnectorSettings, clients: KafkaClients, topics: Topics
) -> ActualConnector:
    prefix = settings.internal_topic_prefix
    state = read_connector(clients, topics, prefix, settings.name)
    if state.connector is None:
        return ActualConnector()
    newest = newest_run(clients, topics, prefix, settings.name)
    offsets: dict[tuple[str, int], int | None] = {}
    places = [(declared_offset.name, declared_offset.partition) for declared_offset in declared.offsets]
    if isinstance(settings, SinkSettings):
        offsets = {place: offset for place, (offset, _) in topics.group_offsets(settings.group_id, places).items()}
    elif places:
        for slot in read_slots(clients, topics, prefix, settings.name, state.connector.slots):
            offsets |= {place: unit.high if unit.high >= 0 else None for place, unit in slot.units.items()}
    target = read_target(clients, topics, prefix, settings.name) or RUNNING
    return ActualConnector(True, newest.ended, target.lower(), state.connector.settings, offsets)
