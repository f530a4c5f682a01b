"""Detection of lost runs, whose status record shows no end because the driver was killed."""

from __future__ import annotations

from ..state.configs import ConnectorRecord
from ..state.status import RunStatus
from ..state.target_state import PAUSED

LOST = "LOST"
"""State shown for a run that stopped reporting; no record has this state."""
REMEDY = "Its driver was probably killed. Start the connector again: it continues with what was not committed."
_REPORTS = 3
_LEAST_MS = 60_000  # a restart of a broker delays reports
_DEFAULT_INTERVAL_MS = 5_000


def silent_s(run: RunStatus | None, connector: ConnectorRecord | None, reported_ms: int, now_ms: float) -> float | None:
    """Return the seconds since the last report of a run if at least three reports are missing; None otherwise.

    :param run: the newest run; a paused run does not report.
    :param reported_ms: time of the run's last report in milliseconds since 1970; 0: unknown.
    """
    if run is None or run.ended_ms is not None or run.state == PAUSED or not reported_ms:
        return None
    interval = (connector.settings if connector is not None else {}).get("progress_interval_ms", _DEFAULT_INTERVAL_MS)
    usual_ms = max(_LEAST_MS, _REPORTS * interval) if isinstance(interval, int) else _LEAST_MS
    silent_ms = now_ms - reported_ms
    return silent_ms / 1000 if silent_ms > usual_ms else None
