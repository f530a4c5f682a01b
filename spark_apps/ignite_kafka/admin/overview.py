"""All connectors of an internal topic prefix, read in one pass of the configs topic and one of the status topic."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from confluent_kafka import Message

from ..common.event_log import EventCounts, add_events
from ..errors import IgniteKafkaError
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..state.configs import ConnectorFold, ConnectorState
from ..state.declared_connectors import Declaration, Declarations
from ..state.event_records import KIND as EVENTS
from ..state.event_records import events_of
from ..state.internal_names import configs_topic, status_topic
from ..state.internal_records import InternalRecord, read_internal_topic, written_ms
from ..state.status import RunStatus, keep_newest, run_id_of, run_of
from ..state.target_state import RUNNING, generation_in, target_of
from .target_state import NewestRun

SOURCE = "Ignite to Kafka"
SINK = "Kafka to Ignite"
_HIDDEN = "the text is hidden: log_values is false"
_POSITIONS = ("cache", "partition", "topic", "offset", "setting")
_REPORTS = 2  # number of kept reports of the newest run, whose difference gives the rate


@dataclass(frozen=True)
class Report:
    """A status record of a run, written at ``at_ms`` (milliseconds since 1970)."""

    at_ms: int
    run: RunStatus


@dataclass(frozen=True)
class TargetRequest:
    """Last request of a target state, at ``at_ms`` (milliseconds since 1970).

    :param generation: generation of the only run that is to follow it; 0: any run.
    """

    state: str
    at_ms: int
    generation: int = 0


@dataclass(frozen=True)
class ConnectorOverview:
    """A connector and its runs.

    :param runs: status of each run with a status record, by run id, oldest first.
    :param events: events of all these runs, by id.
    :param reports: the last status records of the newest run, oldest first; at most two.
    :param unreadable: error of an unreadable record of the connector; its state is then empty.
    :param declaration: the connector's configuration made by REST; None without one.
    :param restart_ms: time of the last request to restart it, in milliseconds since 1970; 0 without one.
    """

    name: str
    state: ConnectorState = field(default_factory=ConnectorState)
    runs: Mapping[str, RunStatus] = field(default_factory=dict)
    reports: tuple[Report, ...] = ()
    events: EventCounts = field(default_factory=dict)
    target: TargetRequest | None = None
    unreadable: IgniteKafkaError | None = None
    declaration: Declaration | None = None
    restart_ms: int = 0

    @property
    def deleted(self) -> bool:
        """Whether the connector was deleted, and no run has begun since."""
        return self.declaration is not None and self.declaration.hides(self.state.generation)

    @property
    def config(self) -> Mapping[str, str] | None:
        """Configuration made by REST; None for a connector without one."""
        return self.declaration.config if self.declaration is not None and self.declaration.declares else None

    @property
    def lasting_target(self) -> str:
        """Requested target state of all further runs: RUNNING if nothing or only the stop of one run was requested."""
        return RUNNING if self.target is None or self.target.generation else self.target.state

    @property
    def newest(self) -> NewestRun:
        """Newest run of the connector."""
        return NewestRun.of(self.state, self.runs)

    @property
    def direction(self) -> str:
        """:data:`SOURCE`, :data:`SINK`, or empty for a connector without a run."""
        record = self.state.connector
        return "" if record is None else SOURCE if record.is_source else SINK

    @property
    def active(self) -> bool:
        """Whether the newest run has not ended, by its records."""
        return not self.newest.unknown and not self.newest.ended

    def shown_error(self, run: RunStatus) -> IgniteKafkaError | None:
        """Return the error of a run for users without access to the records; None without an error.

        If the connector's `log_values` is false, only the type, the remedy and positions are shown. The run hides keys
        and values itself, but texts of Spark, Ignite and Kafka may quote them too.
        """
        if run.error is None:
            return None
        error = IgniteKafkaError.from_dict(dict(run.error))
        record = self.state.connector
        if record is None or record.settings.get("log_values") is not False:
            return error
        where = {name: value for name, value in error.where.items() if name in _POSITIONS}
        return IgniteKafkaError.from_dict({**error.to_dict(), "what": _HIDDEN, "where": where})

    @property
    def rates(self) -> dict[str, float]:
        """Records per second by cache: between an active run's last two reports, or an ended run's average.

        The mapping is empty if an active run has reported only once.
        """
        run = self.newest.run
        if run is None:
            return {}
        if run.ended_ms is not None:
            return _calculate_rates(run, None, run.ended_ms - run.started_ms)
        if len(self.reports) < _REPORTS:
            return {}
        before, last = self.reports
        return _calculate_rates(last.run, before.run, last.at_ms - before.at_ms)


def _calculate_rates(run: RunStatus, before: RunStatus | None, elapsed_ms: int) -> dict[str, float]:
    """Return the records per second of each cache between two reports.

    :param before: the earlier report; None: the run's start.
    """
    earlier = before.caches if before is not None else {}
    sent = {
        name: cache.records - (earlier[name].records if name in earlier else 0) for name, cache in run.caches.items()
    }
    return {name: max(0, count) * 1000 / elapsed_ms for name, count in sent.items()} if elapsed_ms > 0 else {}


def read_overview(clients: KafkaClients, topics: Topics, prefix: str) -> dict[str, ConnectorOverview]:
    """Read all connectors that were ever started or declared under a prefix, sorted by name, without deleted ones.

    A connector with unreadable records has :attr:`ConnectorOverview.unreadable`.

    :raises KafkaUnavailable, AuthenticationFailed, TopicError: Kafka did not answer, or refused.
    """
    connectors = read_with_deleted(clients, topics, prefix)
    return {name: connector for name, connector in connectors.items() if not connector.deleted}


def read_with_deleted(clients: KafkaClients, topics: Topics, prefix: str) -> dict[str, ConnectorOverview]:
    """Read connectors as :func:`read_overview` does, deleted ones included."""
    configs = _Configs()
    status = _Statuses()
    for topic, fold in ((configs_topic(prefix), configs), (status_topic(prefix), status)):
        for record, message in read_internal_topic(clients, topics, topic):
            fold.add(record, message)
    names = configs.folds.keys() | configs.declarations.by_name.keys() | status.runs.keys()
    return {name: _make_overview(name, configs, status) for name in sorted(names)}


def _make_overview(name: str, configs: _Configs, status: _Statuses) -> ConnectorOverview:
    fold = configs.folds.get(name)
    state = ConnectorState() if fold is None or name in configs.unreadable else fold.state(0)
    runs = status.runs.get(name, {})
    newest = NewestRun.of(state, runs).run_id
    reports = tuple(status.reports.get((name, newest), ()))
    events = add_events(*status.events.get(name, {}).values())
    declared = configs.declarations
    return ConnectorOverview(
        name,
        state,
        runs,
        reports,
        events,
        configs.targets.get(name),
        configs.unreadable.get(name),
        declared.by_name.get(name),
        declared.restarts.get(name, 0),
    )


class _Configs:
    """Latest records of the configs topic, collected by connector."""

    def __init__(self) -> None:
        self.folds: dict[str, ConnectorFold] = {}
        self.targets: dict[str, TargetRequest] = {}
        self.unreadable: dict[str, IgniteKafkaError] = {}
        self.declarations = Declarations()

    def add(self, record: InternalRecord, message: Message) -> None:
        if self.declarations.add(record):
            return
        if record.kind == "target":
            state = target_of(record.name, record)
            if state is not None:
                self.targets[record.name] = TargetRequest(state, written_ms(message), generation_in(record))
            return
        try:
            self.folds.setdefault(record.name, ConnectorFold(record.name)).add(record)
        except IgniteKafkaError as error:
            self.unreadable[record.name] = error


class _Statuses:
    """Latest records of the status topic, collected by connector."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, RunStatus]] = {}
        self.reports: dict[tuple[str, str], deque[Report]] = {}
        self.events: dict[str, dict[str, EventCounts]] = {}

    def add(self, record: InternalRecord, message: Message) -> None:
        if (run_id := run_id_of(record, EVENTS)) is not None:
            events = events_of(record)
            counts = None if events is None else events.counts
            keep_newest(self.events.setdefault(record.name, {}), run_id, record, counts)
            return
        run_id = run_id_of(record)
        if run_id is None:
            return
        run = run_of(record)
        keep_newest(self.runs.setdefault(record.name, {}), run_id, record, run)
        if record.value is None:
            self.reports.pop((record.name, run_id), None)
        if run is not None:
            self.reports.setdefault((record.name, run_id), deque(maxlen=_REPORTS)).append(
                Report(written_ms(message), run)
            )
