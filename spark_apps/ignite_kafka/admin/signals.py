"""Signals of a connector: ad-hoc snapshots, requested, paused, resumed, stopped and shown.

The next run takes up what a connector without a run is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass

from ..common.new_id import new_id
from ..common.redaction import in_message
from ..errors import SettingsError, UnsupportedType
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..plan.source_plan import TransferPlan
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.suggestions import did_you_mean
from ..state.configs import ConnectorRecord, read_connector
from ..state.signal_records import (
    FAILED,
    MOST_ENDED,
    MOST_WAITING,
    PAUSED,
    RUNNING,
    STOPPED,
    CacheSelection,
    Signal,
    SignalCount,
    SignalStatus,
)
from ..state.signals import (
    SignalFold,
    progress_of,
    read_signal_progress,
    read_signals,
    write_signal,
    write_signal_target,
)
from ..state.status import now_ms
from .overview import ConnectorOverview
from .target_state import NewestRun, list_connectors, newest_run, unknown_connector_error

MOST_FAILED = 10
"""Maximum number of failed signals in a connector's status."""
WAITING = "WAITING"
"""State of a signal that no run has taken up yet."""
ACTIONS = {"pause": PAUSED, "resume": RUNNING, "stop": STOPPED}


@dataclass(frozen=True)
class SignalView:
    """A signal and its progress.

    :param state: WAITING, RUNNING, PAUSED, COMPLETED, ABORTED or FAILED.
    :param requested: the last request about it that its run has not followed yet: PAUSED, RUNNING, STOPPED; or empty.
    :param counts: progress by cache.
    :param ended_ms: None before its end.
    :param records_per_second: mean rate since it was taken up; None before.
    :param left_s: estimated seconds until it is complete; None if unknown.
    """

    id: str
    state: str
    caches: tuple[str, ...]
    requested: str = ""
    requested_ms: int = 0
    started_ms: int = 0
    ended_ms: int | None = None
    counts: Mapping[str, SignalCount] | None = None
    records_per_second: float | None = None
    left_s: float | None = None
    error: str = ""

    @property
    def total(self) -> SignalCount:
        """Progress in all caches together."""
        return SignalStatus(self.id, self.state, caches=self.counts or {}).total


@dataclass(frozen=True)
class SignalList:
    """Signals of a connector, oldest first: the ended ones, then those to do.

    :param run_ended: whether no run is active, so that the next one takes up what waits.
    """

    connector: str
    signals: tuple[SignalView, ...]
    run_ended: bool

    def to_dict(self) -> dict[str, object]:
        """Return the signals as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class RequestedSignals:
    """Signals that a request is about.

    :param action: snapshot, pause, resume or stop.
    :param ids: ids of the signals.
    :param repeated: whether a snapshot of this id was requested before, so that nothing was written.
    :param run_ended: whether no run is active, so that the next one follows the request.
    """

    connector: str
    action: str
    ids: tuple[str, ...]
    run_ended: bool
    repeated: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the request as JSON values."""
        return asdict(self)


def request_snapshot(
    settings: ConnectorSettings,
    secrets: Secrets,
    selections: Sequence[CacheSelection],
    signal_id: str | None = None,
    origin: str = "",
    clients: KafkaClients | None = None,
) -> RequestedSignals:
    """Request an ad-hoc snapshot of caches; the connector's run sends it beside its changes, or the next run does.

    :param signal_id: id of the signal; a repeated id is done once. None: a new one.
    :param origin: what requests it, such as ``command line``.
    :param clients: clients of Kafka; None: by the settings and secrets.
    :raises SettingsError: there is no source stream of that name, a condition is wrong, the signal is too large, too
        many signals wait, or one of that id has ended and is forgotten.
    """
    clients, topics, run = _source_stream(settings, secrets, clients)
    prefix = settings.internal_topic_prefix
    for selection in selections:
        _check_condition(selection)
    signal = Signal(signal_id or new_id(), tuple(selections), now_ms(), origin, new_id())
    fold = read_signals(clients, topics, prefix, settings.name)
    if signal.id in fold.requests or signal.id in fold.ends:
        return RequestedSignals(settings.name, "snapshot", (signal.id,), run.ended, repeated=True)
    if signal.id in fold.forgotten:
        raise forgotten_error(settings.name, signal.id)
    if len(fold.waiting) >= MOST_WAITING:
        raise SettingsError(
            f"{len(fold.waiting)} signals of the connector wait, and at most {MOST_WAITING} may",
            f"Wait for their end, or stop some: ignite-kafka signal {settings.name} list",
            connector=settings.name,
        )
    write_signal(clients, topics, prefix, settings.name, signal)
    return RequestedSignals(settings.name, "snapshot", (signal.id,), run.ended)


def _check_condition(selection: CacheSelection) -> None:
    from ..convert.filter import entry_filter_of  # loads Arrow, which lists of signals need not

    try:
        entry_filter_of(selection.where)
    except UnsupportedType as error:
        raise SettingsError(error.what, error.remedy, cache=selection.cache, where=selection.where) from error


def request_signal(settings: ConnectorSettings, secrets: Secrets, value: bytes, origin: str) -> RequestedSignals:
    """Request a snapshot, or a change of signals, in the form of a signal topic.

    :param value: value of the record, see :func:`.signal_topic.parse_signal`.
    :param origin: as in :func:`request_snapshot`.
    :raises SettingsError: as :func:`request_snapshot` and :func:`change_signals`, or the value has another form.
    """
    from ..source.stream.signal_topic import Change, parse_signal

    try:
        parsed = parse_signal(value, new_id(), now_ms())
    except ValueError as error:
        what = f"the signal cannot be read: {in_message(str(error))}"
        raise SettingsError(what, "Its form is that of a signal topic.", connector=settings.name) from error
    if isinstance(parsed, Change):
        action = next(name for name, state in ACTIONS.items() if state == parsed.state)
        return change_signals(settings, secrets, action, caches=parsed.caches)
    return request_snapshot(settings, secrets, parsed.caches, parsed.id, origin)


def change_signals(
    settings: ConnectorSettings,
    secrets: Secrets,
    action: str,
    signal_id: str | None = None,
    caches: Set[str] | None = None,
) -> RequestedSignals:
    """Pause, resume or stop signals that have not ended.

    :param action: a name of :data:`ACTIONS`.
    :param signal_id: the signal; None: every one that has not ended.
    :param caches: only signals whose caches are all among these; None: every signal.
    :raises SettingsError: there is no source stream of that name, or no such signal that has not ended.
    """
    clients, topics, run = _source_stream(settings, secrets)
    prefix = settings.internal_topic_prefix
    unfinished = read_signals(clients, topics, prefix, settings.name).waiting
    waiting = [signal.id for signal in unfinished if caches is None or caches >= set(signal.names)]
    chosen = waiting if signal_id is None else [id for id in waiting if id == signal_id]
    if not chosen:
        hint = did_you_mean(signal_id, waiting) if signal_id is not None else ""
        raise SettingsError(
            "the connector has no such signal that has not ended",
            f"{hint} See ignite-kafka signal {settings.name} list".strip(),
            connector=settings.name,
            signal=signal_id,
        )
    for id in chosen:
        write_signal_target(clients, topics, prefix, settings.name, id, ACTIONS[action])
    return RequestedSignals(settings.name, action, tuple(chosen), run.ended)


def list_signals(settings: ConnectorSettings, secrets: Secrets, clients: KafkaClients | None = None) -> SignalList:
    """Read the signals of a connector and their progress.

    :param clients: as in :func:`request_snapshot`.
    :raises SettingsError: there is no source stream of that name.
    """
    clients, topics, run = _source_stream(settings, secrets, clients)
    prefix = settings.internal_topic_prefix
    fold = read_signals(clients, topics, prefix, settings.name)
    return _list_of(settings.name, fold, unfinished_signals(clients, prefix, settings.name, fold), run)


def signals_of(connector: ConnectorOverview) -> SignalList:
    """Return the signals of a connector whose records were read, and their progress."""
    fold = connector.signals or SignalFold(connector.name)
    unfinished = _unfinished(fold, progress_of(connector.signal_progress))
    return _list_of(connector.name, fold, unfinished, connector.newest)


def _list_of(name: str, fold: SignalFold, unfinished: Sequence[SignalView], run: NewestRun) -> SignalList:
    return SignalList(name, (*map(_view_of_end, fold.ends.values()), *unfinished), run.ended)


def unfinished_signals(clients: KafkaClients, prefix: str, connector: str, fold: SignalFold) -> list[SignalView]:
    """Read the progress of the signals that have not ended, in the order of their requests.

    :param fold: the connector's signals in the configs topic.
    """
    return _unfinished(fold, read_signal_progress(clients, prefix, connector) if fold.waiting else {})


def _unfinished(fold: SignalFold, progress: Mapping[str, SignalStatus]) -> list[SignalView]:
    return [_view_of(signal, progress.get(signal.id), fold.targets.get(signal.id, "")) for signal in fold.waiting]


def failed_signals(fold: SignalFold, since_ms: int) -> list[SignalView]:
    """Return the last signals that failed at or after a time, oldest first; at most :data:`MOST_FAILED`.

    :param since_ms: milliseconds since 1970.
    """
    failed = [end for end in fold.ends.values() if end.state == FAILED and end.at_ms >= since_ms]
    return [_view_of_end(end) for end in failed[-MOST_FAILED:]]


def read_signal(
    settings: ConnectorSettings, secrets: Secrets, signal_id: str, clients: KafkaClients | None = None
) -> SignalView | None:
    """Read one signal of a connector; None if there is none of that id.

    :param clients: as in :func:`request_snapshot`.
    :raises SettingsError: there is no source stream of that name, or the signal's end is no longer recorded.
    """
    clients, topics, _ = _source_stream(settings, secrets, clients)
    prefix = settings.internal_topic_prefix
    fold = read_signals(clients, topics, prefix, settings.name)
    if (end := fold.ends.get(signal_id)) is not None:
        return _view_of(Signal(signal_id, ()), end, "")
    waiting = unfinished_signals(clients, prefix, settings.name, fold)
    view = next((signal for signal in waiting if signal.id == signal_id), None)
    if view is None and signal_id in fold.forgotten:
        raise forgotten_error(settings.name, signal_id)
    return view


def forgotten_error(connector: str, signal_id: str) -> SettingsError:
    """Return the error for an ended signal whose end is no longer recorded."""
    return SettingsError(
        f"the signal has ended, and its end is no longer recorded: the last {MOST_ENDED} ends are kept",
        "The notifications (notifications_topic) tell how it ended. To send it again, use a new id.",
        connector=connector,
        signal=signal_id[:200],
    )


def _view_of_end(end: SignalStatus) -> SignalView:
    return _view_of(Signal(end.id, ()), end, "")


def _view_of(signal: Signal, status: SignalStatus | None, target: str) -> SignalView:
    if status is None:
        return SignalView(signal.id, WAITING, signal.names, target, signal.at_ms)
    seconds = (status.at_ms - status.started_ms) / 1000
    return SignalView(
        signal.id,
        status.state,
        signal.names or tuple(status.caches),
        "" if target == status.state else target,
        signal.at_ms,
        status.started_ms,
        status.at_ms if status.ended else None,
        dict(status.caches),
        status.total.records / seconds if status.started_ms and seconds > 0 else None,
        status.left_s(),
        status.error,
    )


def topics_of_caches(settings: ConnectorSettings, clients: KafkaClients) -> dict[str, str]:
    """Return the topic of each cache that the connector's newest plan copies, by the cache's name."""
    state = read_connector(clients, Topics(clients), settings.internal_topic_prefix, settings.name)
    if state.snapshot is None:
        return {}
    return {cache.name: cache.topic for cache in TransferPlan.from_dict(dict(state.snapshot.plan)).caches}


def _source_stream(
    settings: ConnectorSettings, secrets: Secrets, clients: KafkaClients | None = None
) -> tuple[KafkaClients, Topics, NewestRun]:
    """Return clients and the newest run of a connector that can follow signals; others are refused."""
    clients = clients or kafka_clients(settings, secrets)
    clients.check()
    topics = Topics(clients)
    prefix = settings.internal_topic_prefix
    run = newest_run(clients, topics, prefix, settings.name)
    if run.connector is None:
        raise unknown_connector_error(settings, list_connectors(clients, topics, prefix))
    refuse_without_stream(settings.name, run.connector)
    return clients, topics, run


def refuse_without_stream(name: str, connector: ConnectorRecord) -> None:
    """Refuse a connector that cannot follow signals: a sink, or a source of snapshots.

    :raises SettingsError: the connector is one.
    """
    if not connector.is_source:
        raise SettingsError(
            "the connector is a sink, and signals are for sources",
            f"To store records of a topic again, stop it and move its offsets: ignite-kafka offsets reset {name} "
            "--topic TOPIC --to earliest, or a time.",
            connector=name,
        )
    recorded = connector.settings
    if recorded.get("run_mode") != "continuous" and recorded.get("failover_policy") != "BACKLOG":
        raise SettingsError(
            "the connector sends snapshots, and signals are for streams",
            "Each of its runs with a new snapshot id sends everything; `where` in a connector of its own sends a part. "
            "A stream has run_mode continuous or failover_policy BACKLOG.",
            connector=name,
        )
