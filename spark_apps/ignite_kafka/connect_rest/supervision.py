"""Decisions of the server about local runs of declared connectors, without any input or output."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from ..admin.overview import ConnectorOverview
from ..errors import Fenced, SettingsError
from ..state.status import COMPLETED
from ..state.target_state import STOPPED
from .configuration import RESTART_KEYS, AutoRestart

FIRST_WAIT_S = 10.0
LONGEST_WAIT_S = 600.0
HEALTHY_S = 600.0
"""Waits before restarts: the first, doubled after each failure, at most the longest.

A run of :data:`HEALTHY_S` seconds ends the series of failures.
"""
_NO_RESTART = {
    SettingsError.exit_code: "its settings are wrong: a restart changes nothing",
    Fenced.exit_code: "a newer run of the connector was started elsewhere, or its offsets were changed meanwhile",
}


class Action(Enum):
    """What the keeper of processes does next for a connector."""

    START = "start"
    STOP = "stop"
    NONE = "none"


@dataclass(frozen=True)
class Desired:
    """A declared connector as its records have it now.

    :param digest: digest of its configuration; a change restarts the run.
    :param stopped: whether no run is to be active.
    :param restart_ms: time of the last request to restart it; a change restarts the run.
    :param completed: whether its newest run has copied everything and ended by itself, so that it is done.
    """

    name: str
    digest: str
    stopped: bool
    restart_ms: int
    restarts: AutoRestart
    completed: bool = False

    @staticmethod
    def of(connector: ConnectorOverview) -> Desired | None:
        """Return the desired state of a declared connector; None for one that is not declared.

        :raises SettingsError: its configuration has a wrong value about restarts.
        """
        config = connector.config
        if config is None:
            return None
        return Desired(
            connector.name,
            _digest(config),
            connector.lasting_target == STOPPED,
            connector.restart_ms,
            AutoRestart.of(config),
            connector.newest.state == COMPLETED,
        )


@dataclass(frozen=True)
class LocalRun:
    """The server's last process of a connector.

    :param digest, restart_ms: those of :class:`Desired` at its start.
    :param started_s, ended_s: times of a monotonic clock in seconds; ``ended_s`` is None while it runs.
    :param exit_code: None while it runs.
    :param failures: number of failures in a row, this one included.
    :param stopping: whether it was asked to end.
    """

    digest: str
    restart_ms: int
    started_s: float
    ended_s: float | None = None
    exit_code: int | None = None
    failures: int = 0
    stopping: bool = False

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self.ended_s is None

    def ended(self, exit_code: int, now_s: float) -> LocalRun:
        """Return the process after its end."""
        healthy = now_s - self.started_s >= HEALTHY_S
        failures = 0 if exit_code == 0 or self.stopping else 1 if healthy else self.failures + 1
        return replace(self, ended_s=now_s, exit_code=exit_code, failures=failures)


def decide(desired: Desired | None, run: LocalRun | None, now_s: float) -> Action:
    """Return what to do for a connector.

    :param desired: None: the connector is not declared any more.
    :param run: the last process; None: there was none, or its end is settled.
    :param now_s: current time of the monotonic clock, in seconds.
    """
    if desired is None or desired.stopped:
        return Action.STOP if run is not None and run.running else Action.NONE
    if run is None:
        return Action.START
    outdated = (run.digest, run.restart_ms) != (desired.digest, desired.restart_ms)
    if run.running:
        # one that was asked to end is ended, also if the connector is resumed meanwhile, and killed if it hangs
        return Action.STOP if outdated or run.stopping else Action.NONE
    if outdated:
        return Action.START
    if run.exit_code == 0 and desired.completed:
        return Action.NONE
    if why_not_restarted(desired, run):
        return Action.NONE
    assert run.ended_s is not None, "it has ended"
    return Action.START if now_s - run.ended_s >= wait_s(run) else Action.NONE


def why_not_restarted(desired: Desired, run: LocalRun) -> str:
    """Return why a failed connector waits for a request; empty if it is restarted."""
    if run.failures == 0:
        return ""
    if run.exit_code in _NO_RESTART:
        return _NO_RESTART[run.exit_code]
    if not desired.restarts.enabled:
        return "autoRestart.enabled is false"
    if desired.restarts.most is not None and run.failures > desired.restarts.most:
        return f"it has failed {run.failures} times, and autoRestart.maxRestarts is {desired.restarts.most}"
    return ""


def wait_s(run: LocalRun) -> float:
    """Return the seconds between the end of a process and the next start."""
    if run.failures == 0:
        return 0.0 if run.stopping else FIRST_WAIT_S
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(run.failures - 1, 16))


def _digest(config: Mapping[str, str]) -> str:
    """Return a digest of a configuration, without what only the server reads."""
    kept = {key: value for key, value in config.items() if key not in RESTART_KEYS}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()
