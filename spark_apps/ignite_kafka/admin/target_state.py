"""The newest run of a connector, and requests to pause, resume or stop the connector."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from ..errors import IgniteKafkaError, SettingsError
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.suggestions import did_you_mean
from ..state.configs import ConnectorRecord, ConnectorState, connector_generation, read_connector
from ..state.declared_connectors import Declarations
from ..state.internal_names import configs_topic
from ..state.internal_records import InternalRecord, read_internal_topic
from ..state.status import COMPLETED, STOPPED, RunStatus, read_run_written, read_runs
from ..state.target_state import write_target

_POLL_S = 0.5
_SHOWN_NAMES = 20


@dataclass(frozen=True)
class NewestRun:
    """The newest run of a connector.

    :param connector: the connector's record; None: the connector was never started.
    :param run: the run's status record; None: the run is about to begin, or the record was lost.
    """

    connector: ConnectorRecord | None
    run: RunStatus | None

    @staticmethod
    def of(state: ConnectorState, runs: Mapping[str, RunStatus]) -> NewestRun:
        """Return the newest run, found in a connector's state and status records.

        Failed starts without a connector's record are ignored.
        """
        if state.connector is None:
            return NewestRun(None, max(runs.values(), key=lambda run: run.started_ms, default=None))
        run = runs.get(state.connector.run_id)
        return NewestRun(
            state.connector, run if run is not None and run.generation == state.connector.generation else None
        )

    @property
    def unknown(self) -> bool:
        """Whether the connector was never started."""
        return self.connector is None and self.run is None

    @property
    def ended(self) -> bool:
        """Whether the run has ended, gracefully or not, according to its status record."""
        return self.run is not None and self.run.ended_ms is not None

    @property
    def graceful(self) -> bool:
        """Whether the run completed, or stopped on request."""
        return (
            self.run is not None
            and self.ended
            and (self.run.state == COMPLETED or (self.run.state == STOPPED and not self.run.error))
        )

    @property
    def run_id(self) -> str:
        """Id of the run; empty without a run."""
        return self.run.run_id if self.run is not None else self.connector.run_id if self.connector is not None else ""

    @property
    def state(self) -> str:
        """State in the run's status record; "not known" without a record."""
        return self.run.state if self.run is not None else "not known"


def newest_run(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> NewestRun:
    """Read the newest run of a connector."""
    return newest_report(clients, topics, prefix, connector)[0]


def newest_report(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> tuple[NewestRun, int]:
    """Read the newest run of a connector and the time of its last report, in milliseconds since 1970.

    The time is 0 without a report, and of a run that failed before it had a connector's record.
    """
    state = read_connector(clients, topics, prefix, connector)
    if state.connector is None:
        return NewestRun.of(state, read_runs(clients, prefix, connector)), 0
    run, reported_ms = read_run_written(clients, prefix, connector, state.connector.run_id)
    return NewestRun.of(state, {} if run is None else {run.run_id: run}), reported_ms


def list_connectors(clients: KafkaClients, topics: Topics, prefix: str) -> list[str]:
    """Return the names of all connectors ever started or declared under a prefix, sorted, without deleted ones."""
    declarations = Declarations()
    generations: dict[str, int] = {}
    for record, _ in read_internal_topic(clients, topics, configs_topic(prefix)):
        if not declarations.add(record) and record.kind == "connector" and record.value is not None:
            generations[record.name] = _generation_of(record)
    declared = declarations.by_name
    return sorted(
        name
        for name in generations.keys() | declared.keys()
        if name not in declared or not declared[name].hides(generations.get(name, 0))
    )


def _generation_of(record: InternalRecord) -> int:
    """Return the generation in a connector's record; that of the last possible run for an unreadable record."""
    try:
        return connector_generation(record.name, record)
    except IgniteKafkaError:
        return sys.maxsize


def unknown_connector_error(settings: ConnectorSettings, connectors: list[str]) -> SettingsError:
    """Return the error for a connector that was never started."""
    names = f"Known are {', '.join(connectors[:_SHOWN_NAMES])}" if connectors else "None is known there"
    hint = did_you_mean(settings.name, connectors)
    return SettingsError(
        "no connector of that name was ever started",
        f"{hint + ' ' if hint else ''}{names}; check the name, --kafka and --internal-topic-prefix.",
        connector=settings.name,
        bootstrap_servers=settings.bootstrap_servers,
        internal_topic_prefix=settings.internal_topic_prefix,
    )


def require_connector(settings: ConnectorSettings, clients: KafkaClients, topics: Topics) -> NewestRun:
    """Return the newest run of a connector that was started or declared, and not deleted since.

    :raises SettingsError: there is no such connector.
    """
    prefix = settings.internal_topic_prefix
    newest = newest_run(clients, topics, prefix, settings.name)
    names = list_connectors(clients, topics, prefix)
    if settings.name not in names and (newest.connector is not None or newest.unknown):
        raise unknown_connector_error(settings, names)
    return newest


@dataclass(frozen=True)
class TargetStateChange:
    """A requested target state, and its effect on the newest run.

    :param before: the newest run at the request.
    :param after: the newest run after the wait; None: there was no wait.
    """

    name: str
    target: str
    before: NewestRun
    after: NewestRun | None = None

    @property
    def done(self) -> bool:
        """Whether nothing was awaited, or the run ended gracefully."""
        return self.after is None or self.after.graceful

    def to_dict(self) -> dict[str, object]:
        """Return the change as JSON values."""
        state = self.after or self.before
        run = None if state.run is None else asdict(state.run)
        return {
            "connector": self.name,
            "target": self.target,
            "run": run,
            "ended": state.ended,
            "graceful": state.graceful,
        }


def request_target_state(
    settings: ConnectorSettings, secrets: Secrets, target: str, wait_ms: int = 0
) -> TargetStateChange:
    """Request a target state, and wait for the run's end if requested.

    :param wait_ms: maximum time to wait for the run's end, in milliseconds; 0: no wait.
    :raises SettingsError: no connector of that name was ever started or declared, or it was deleted.
    """
    clients = kafka_clients(settings, secrets)
    clients.check()
    topics = Topics(clients)
    prefix = settings.internal_topic_prefix
    before = require_connector(settings, clients, topics)
    write_target(clients, topics, prefix, settings.name, target)
    if not wait_ms or before.ended:
        return TargetStateChange(settings.name, target, before)
    deadline = time.monotonic() + wait_ms / 1000
    after = newest_run(clients, topics, prefix, settings.name)
    while not after.ended and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        after = newest_run(clients, topics, prefix, settings.name)
    return TargetStateChange(settings.name, target, before, after)
