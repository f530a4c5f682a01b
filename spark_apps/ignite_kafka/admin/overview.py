"""All connectors of an internal topic prefix, read in one pass of the configs topic and one of the status topic."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from confluent_kafka import Message

from ..common.event_log import EventCounts, add_events
from ..errors import IgniteKafkaError
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics, read_to
from ..state.configs import ConnectorFold, ConnectorState
from ..state.declared_connectors import Cleanup, Declaration, Declarations
from ..state.event_records import KIND as EVENTS
from ..state.event_records import events_of
from ..state.history_records import HistoryPoint, history_of, key_of_history
from ..state.internal_names import configs_topic, status_topic
from ..state.internal_records import InternalRecord, written_ms
from ..state.signals import KIND as SIGNAL
from ..state.signals import SignalFold
from ..state.status import RunStatus, keep_newest, run_id_of, run_of
from ..state.target_state import RUNNING, generation_in, target_of
from .target_state import NewestRun

SOURCE = "Ignite to Kafka"
SINK = "Kafka to Ignite"
_HIDDEN = "the text is hidden: log_values is false"
_POSITIONS = ("cache", "partition", "topic", "offset", "setting")
_MINUTE_S = 60
_RECENT_MINUTES = 2
_MOST_PAUSE_S = 3_600.0  # a compacted topic keeps its tombstones for a day (delete.retention.ms)
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
    :param history: records with the points of the last hours, the newest last; see :meth:`points`.
    :param unreadable: error of an unreadable record of the connector; its state is then empty.
    :param declaration: the connector's configuration made by REST; None without one.
    :param restart_ms: time of the last request to restart it, in milliseconds since 1970; 0 without one.
    :param cleanup: mark of its last finished deletion; None without one.
    :param signals: its signals; None: it never had any.
    :param signal_progress: records with the progress of signals; see :func:`.signals.signals_of`.
    """

    name: str
    state: ConnectorState = field(default_factory=ConnectorState)
    runs: Mapping[str, RunStatus] = field(default_factory=dict)
    reports: tuple[Report, ...] = ()
    events: EventCounts = field(default_factory=dict)
    target: TargetRequest | None = None
    unreadable: IgniteKafkaError | None = None
    history: tuple[InternalRecord, ...] = ()
    declaration: Declaration | None = None
    restart_ms: int = 0
    cleanup: Cleanup | None = None
    signals: SignalFold | None = None
    signal_progress: tuple[InternalRecord, ...] = ()

    @property
    def deleted(self) -> bool:
        """Whether the connector was deleted, and no run has begun since."""
        return self.declaration is not None and self.declaration.hides(self.state.generation)

    @property
    def must_be_cleaned(self) -> bool:
        """Whether the connector was deleted, and may still capture changes on the Ignite nodes."""
        if not self.deleted or self.declaration is None:
            return False
        reported_ms = self.reports[-1].at_ms if self.state.connector is not None and self.reports else 0
        return self.cleanup != Cleanup(self.declaration.at_ms, reported_ms)

    @property
    def config(self) -> Mapping[str, str] | None:
        """Configuration made by REST; None for a connector without one."""
        return self.declaration.config if self.declaration is not None and self.declaration.declares else None

    @property
    def lasting_target(self) -> str:
        """Requested target state of all further runs: RUNNING if nothing or only the stop of one run was requested."""
        return RUNNING if self.target is None or self.target.generation else self.target.state

    def points(self) -> list[HistoryPoint]:
        """Return what the connector copied in each minute of the last hours, and its lag, oldest first."""
        return history_of(self.history, int(time.time() // _MINUTE_S))

    def recorded_lag(self) -> int | None:
        """Return the lag that an active run has recorded in the last minutes; None without one."""
        now = int(time.time() // _MINUTE_S)
        points = history_of(self.history[-1:], now) if self.active else []
        return points[-1].lag if points and points[-1].minute >= now - _RECENT_MINUTES else None

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


class OverviewReader:
    """Reader of all connectors that were started or declared under a prefix; threads may share it.

    Each read continues where the last one ended.

    With 500 connectors that run, the status topic has some 20,000 records, of which 50 are written in each second.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._lock = threading.Lock()
        self._configs = _Configs()
        self._status = _Statuses()
        self._positions: dict[str, tuple[str, int]] = {}
        self._read_s = time.monotonic()

    def read(self, clients: KafkaClients, topics: Topics) -> dict[str, ConnectorOverview]:
        """Return all connectors that were ever started or declared, sorted by name, without deleted ones.

        A connector with unreadable records has :attr:`ConnectorOverview.unreadable`.

        :raises KafkaUnavailable, AuthenticationFailed, TopicError: Kafka did not answer, or refused.
        """
        connectors = self.read_with_deleted(clients, topics)
        return {name: connector for name, connector in connectors.items() if not connector.deleted}

    def read_with_deleted(self, clients: KafkaClients, topics: Topics) -> dict[str, ConnectorOverview]:
        """Return connectors as :meth:`read` does, deleted ones included."""
        names = configs_topic(self._prefix), status_topic(self._prefix)
        with self._lock:
            ids = {name: topic_id for name, (topic_id, _) in topics.identities(names).items()}
            ends = {name: topics.ends(name, [0])[0] for name in ids}
            if not self._continues(ids, ends):
                self._configs = _Configs()
                self._status = _Statuses()
                self._positions = {}
            for name in ids:
                collected = self._configs if name == configs_topic(self._prefix) else self._status
                self._read_on(clients, name, ids[name], ends[name], collected)
            self._read_s = time.monotonic()
            declared = self._configs.declarations.by_name.keys()
            connectors = sorted(self._configs.folds.keys() | declared | self._status.runs.keys())
            return {name: _make_overview(name, self._configs, self._status) for name in connectors}

    def _continues(self, ids: Mapping[str, str], ends: Mapping[str, int]) -> bool:
        """Return whether the records read so far are still those of the topics.

        They are not if a topic was created again or lost records, or if a tombstone may have come and gone meanwhile.
        An unreadable record may have been replaced by compaction.
        """
        if self._configs.unreadable or time.monotonic() - self._read_s > _MOST_PAUSE_S:
            return False
        return all(
            ids.get(name) == topic_id and position <= ends[name]
            for name, (topic_id, position) in self._positions.items()
        )

    def _read_on(self, clients: KafkaClients, topic: str, topic_id: str, end: int, collected: _Collected) -> None:
        _, start = self._positions.setdefault(topic, (topic_id, 0))
        for message in read_to(clients, topic, {0: end}, {0: start}):
            record = InternalRecord.of(message)
            if record is not None:
                collected.add(record, message)
            self._positions[topic] = topic_id, (message.offset() or 0) + 1
        self._positions[topic] = topic_id, end


def _make_overview(name: str, configs: _Configs, status: _Statuses) -> ConnectorOverview:
    fold = configs.folds.get(name)
    state = ConnectorState() if fold is None or name in configs.unreadable else fold.state(0)
    runs = status.runs.get(name, RunRecords())
    reports = runs.reports(NewestRun.of(state, runs).run_id)
    return ConnectorOverview(
        name,
        state,
        runs,
        reports,
        status.event_counts(name),
        configs.targets.get(name),
        configs.unreadable.get(name),
        tuple(status.history.get(name, {}).values()),
        configs.declarations.by_name.get(name),
        configs.declarations.restarts.get(name, 0),
        configs.declarations.cleanups.get(name),
        configs.signals[name].copy() if name in configs.signals else None,
        tuple(status.signals.get(name, {}).values()),
    )


class _Collected(Protocol):
    """Records of a topic, collected by connector."""

    def add(self, record: InternalRecord, message: Message) -> None:
        """Add the next record of the topic."""


class _Configs:
    """Latest records of the configs topic, collected by connector."""

    def __init__(self) -> None:
        self.folds: dict[str, ConnectorFold] = {}
        self.targets: dict[str, TargetRequest] = {}
        self.unreadable: dict[str, IgniteKafkaError] = {}
        self.declarations = Declarations()
        self.signals: dict[str, SignalFold] = {}

    def add(self, record: InternalRecord, message: Message) -> None:
        if self.declarations.add(record):
            return
        if record.kind == "target":
            state = target_of(record.name, record)
            if state is not None:
                self.targets[record.name] = TargetRequest(state, written_ms(message), generation_in(record))
            return
        if record.kind == SIGNAL:
            self.signals.setdefault(record.name, SignalFold(record.name)).add(record)
            return
        try:
            self.folds.setdefault(record.name, ConnectorFold(record.name)).add(record)
        except IgniteKafkaError as error:
            self.unreadable[record.name] = error


class _Statuses:
    """Latest records of the status topic, collected by connector, and parsed when they are asked for.

    A run writes a record every few seconds, and the list of connectors shows the newest run of each only.
    """

    def __init__(self) -> None:
        self.runs: dict[str, RunRecords] = {}
        self.events: dict[str, dict[str, InternalRecord]] = {}
        self.history: dict[str, dict[tuple[int, int], InternalRecord]] = {}
        self.signals: dict[str, dict[str, InternalRecord]] = {}

    def add(self, record: InternalRecord, message: Message) -> None:
        if (run_id := run_id_of(record, EVENTS)) is not None:
            keep_newest(self.events.setdefault(record.name, {}), run_id, record, record)
        elif (run_id := run_id_of(record)) is not None:
            self.runs.setdefault(record.name, RunRecords()).add(run_id, record, written_ms(message))
        elif (signal := run_id_of(record, SIGNAL)) is not None:
            kept = None if record.value is None else record
            keep_newest(self.signals.setdefault(record.name, {}), signal, record, kept)
        elif (part := key_of_history(record)) is not None:
            keep_newest(self.history.setdefault(record.name, {}), part, record, record)

    def event_counts(self, name: str) -> EventCounts:
        """Return the events of all runs of a connector, by id."""
        events = (events_of(record) for record in self.events.get(name, {}).values())
        return add_events(*(of_run.counts for of_run in events if of_run is not None))


class RunRecords(Mapping[str, RunStatus]):
    """Status of each run of a connector by run id, oldest first; each is parsed when it is asked for.

    Runs without a readable record are left out.
    """

    def __init__(self) -> None:
        self._written: dict[str, deque[tuple[InternalRecord, int]]] = {}
        self._reports: dict[str, tuple[Report, ...]] = {}

    def add(self, run_id: str, record: InternalRecord, at_ms: int) -> None:
        """Keep a record of a run, written at ``at_ms`` (milliseconds since 1970); a tombstone removes the run."""
        kept = self._written.pop(run_id, None) or deque(maxlen=_REPORTS)
        self._reports.pop(run_id, None)
        if record.value is not None:
            kept.append((record, at_ms))
            self._written[run_id] = kept  # the newest record comes last

    def reports(self, run_id: str) -> tuple[Report, ...]:
        """Return the last readable records of a run, oldest first; at most two."""
        if run_id not in self._reports:
            parsed = ((run_of(record), at_ms) for record, at_ms in self._written.get(run_id, ()))
            self._reports[run_id] = tuple(Report(at_ms, run) for run, at_ms in parsed if run is not None)
        return self._reports[run_id]

    def __getitem__(self, run_id: str) -> RunStatus:
        reports = self.reports(run_id)
        if not reports:
            raise KeyError(run_id)
        return reports[-1].run

    def __iter__(self) -> Iterator[str]:
        return (run_id for run_id in self._written if self.reports(run_id))

    def __len__(self) -> int:
        return sum(1 for _ in self)
