"""State of a connector in Kafka Connect's words, computed from its records."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import IgniteKafkaError, SettingsError
from ..settings.connect.names import settings_class
from ..state import status
from ..state.configs import ConnectorRecord
from ..state.target_state import PAUSED, RUNNING, STOPPED
from .lost_run import silent_s
from .overview import SINK, ConnectorOverview

FAILED = "FAILED"
UNASSIGNED = "UNASSIGNED"
RESTARTING = "RESTARTING"
_RESTART_MS = 300_000  # a restart that nobody has made by then is shown no longer


@dataclass(frozen=True)
class ConnectState:
    """State of a connector in the words of Kafka Connect's REST interface.

    A run and its tasks succeed or fail together, so that connector and tasks always have the same state.

    :param state: RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED or RESTARTING.
    :param tasks: number of tasks; 0 for a stopped connector.
    :param worker: host of the newest run's driver; empty without a run.
    :param trace: the error of a failed connector, as users without access to the records may see it.
    """

    state: str
    tasks: int = 0
    worker: str = ""
    trace: str = ""

    @staticmethod
    def of(connector: ConnectorOverview, now_ms: float) -> ConnectState:
        """Compute the state of a connector.

        A completed run counts as STOPPED, because nothing runs and offsets may be changed. A run that stopped
        reporting counts as UNASSIGNED.

        :param now_ms: current time in milliseconds since 1970.
        """
        run = connector.newest.run
        state = _state_of(connector, now_ms)
        trace = ""
        if state == FAILED:
            error = connector.unreadable or (connector.shown_error(run) if run is not None else None)
            trace = _describe(error) if error is not None else f"the run ended {connector.newest.state}"
        tasks = 0 if state == STOPPED else _count_tasks(connector.state.connector)
        return ConnectState(state, tasks, run.worker if run is not None else "", trace)


def type_of(connector: ConnectorOverview) -> str:
    """Return ``source`` or ``sink``; ``unknown`` for a connector whose settings are in no record of ours."""
    if connector.config is not None:
        try:
            return "sink" if settings_class(connector.config, {}).reads_records else "source"
        except SettingsError:  # another program wrote the record, which must not hide other connectors
            return "unknown"
    if connector.state.connector is None:
        return "unknown"
    return "sink" if connector.direction == SINK else "source"


def _state_of(connector: ConnectorOverview, now_ms: float) -> str:
    if connector.unreadable is not None:
        return FAILED
    target = connector.lasting_target
    newest = connector.newest
    run = newest.run
    if target != STOPPED and _is_restarting(connector, now_ms):
        return RESTARTING
    if run is None:
        return UNASSIGNED if target == RUNNING else target
    if run.ended_ms is None:
        reported = connector.reports[-1].at_ms if connector.reports else 0
        lost = silent_s(run, connector.state.connector, reported, now_ms) is not None
        return UNASSIGNED if lost else PAUSED if run.state == status.PAUSED else RUNNING
    if target == STOPPED or run.state == status.COMPLETED:
        return STOPPED
    if not newest.graceful:
        return FAILED
    return UNASSIGNED if target == RUNNING else target


def _is_restarting(connector: ConnectorOverview, now_ms: float) -> bool:
    run = connector.newest.run
    return run is not None and connector.restart_ms > run.started_ms and now_ms - connector.restart_ms < _RESTART_MS


def _count_tasks(record: ConnectorRecord | None) -> int:
    """Return the number of tasks of a connector's run: its slots, or fewer by `tasks_max`."""
    if record is None:
        return 0
    limit = record.settings.get("tasks_max")
    return min(record.slots, limit) if isinstance(limit, int) and limit > 0 else record.slots


def _describe(error: IgniteKafkaError) -> str:
    return f"{type(error).__name__}: {error}"
