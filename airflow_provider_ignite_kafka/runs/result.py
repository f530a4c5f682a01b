"""Result of a run for its task: the counts to return, or the exception to raise, with or without retries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ignite_kafka.runs.watch import NOT_STARTED
from ignite_kafka import errors
from ignite_kafka.state.status import COMPLETED, FAILED, FENCED, STOPPED, UNKNOWN, RunStatus

_BAD_SETTINGS = 2
_FENCED = 3
_SHOWN_LINES = 10


@dataclass(frozen=True)
class AppExit:
    """Exit code and last output of spark-submit, in client mode also the app's.

    :param exit_code: exit code of the app in client mode, of the submission in cluster mode.
    :param app_error: the app's last line, ``<CODE> <message>``, if it was in the output.
    :param tail: the last lines of output.
    """

    exit_code: int
    app_error: str | None = None
    tail: tuple[str, ...] = ()


def to_xcom(status: RunStatus) -> dict[str, Any]:
    """Convert a status record to the task's return value: state, ids, seconds, and counts of each cache."""
    ended_ms = status.ended_ms or status.started_ms
    return {
        "state": status.state,
        "connector": status.connector,
        "snapshot_id": status.snapshot_id,
        "run_id": status.run_id,
        "generation": status.generation,
        "already_complete": status.already_complete,
        "seconds": (ended_ms - status.started_ms) / 1000,
        "records": sum(cache.records for cache in status.caches.values()),
        "caches": {name: asdict(cache) for name, cache in status.caches.items()},
    }


def log_result(log: Any, result: Mapping[str, Any]) -> None:
    """Log the result made by :func:`to_xcom` in one line."""
    name = result["connector"]
    snapshot = result["snapshot_id"]
    what = "stopped" if result["state"] == STOPPED else f"snapshot {snapshot}" if snapshot else "done"
    log.info("Connector %s, %s: %d records in %.1f s", name, what, result["records"], result["seconds"])


def to_exception(status: RunStatus | None, ended: AppExit) -> AirflowException:
    """Make the exception for a failed or stopped run: AirflowFailException if no retry can help.

    It is AirflowFailException (no retry) for bad settings, a final error, and a newer run that took over. After any
    other failure a retry resumes the snapshot; also after an unknown outcome, because the next run reads from Kafka
    which records were committed.

    :param status: the run's record in the status topic; None if it does not exist or could not be read.
    """
    if status is not None and status.state == FENCED and not status.generation:
        return AirflowException(
            "Another run of the connector took over before this one began; this one has sent nothing. A retry starts "
            "it."
        )
    if status is not None and status.state in (FAILED, FENCED, UNKNOWN) and status.error:
        return _of_error(errors.IgniteKafkaError.from_dict(dict(status.error)), status.state)
    if status is not None and status.state == STOPPED:
        return AirflowException("The app was stopped before its end. A retry resumes where it stopped.")
    if ended.app_error:
        return _by_last_line(ended)
    if ended.exit_code == 0:
        return AirflowException(
            "The app ended without an error, but the status topic holds no end of this run. A retry finds what was "
            "committed."
        )
    return _kind(ended.exit_code)(
        f"The Spark app ended with exit code {ended.exit_code} and without an error message.{_shown(ended)}"
    )


def lost_exception(status: RunStatus | None, reason: str | None, log_command: str = "") -> AirflowException:
    """Make the exception for a run in a cluster that failed or no longer reports.

    :param reason: a reason of :mod:`.watch`.
    :param log_command: command that shows the driver's log; empty: unknown.
    """
    driver_log = f"the driver's log: {log_command}" if log_command else "the cluster's log of the app"
    if status is not None and status.ended_ms is not None:
        error = to_exception(status, AppExit(0))
        return type(error)(f"{error}\nSee {driver_log}")
    if reason == NOT_STARTED:
        return AirflowException(
            "The app wrote no record to the status topic in time (start_timeout_ms), or its cluster reports that it "
            f"has ended. It was stopped. A retry submits it again. See {driver_log}"
        )
    return AirflowException(
        "The run reports no progress any more, or its cluster reports that its app has ended, and was stopped. A "
        f"retry resumes it. See {driver_log}"
    )


def killed_exception() -> AirflowException:
    """Make the exception for a killed task, instead of the app's errors while it was stopped."""
    return AirflowException("The task was killed and its app stopped. A retry resumes where it stopped.")


def superseded_exception(other: RunStatus) -> AirflowException:
    """Make the exception for a retry that would end another task's newer run of the connector."""
    return AirflowException(
        f"The run {other.run_id} has taken the connector {other.connector} since this task's last try and has not "
        "ended. A retry starts once it has ended; if it is dead, clear its task, or run the connector once more."
    )


def succeeded(status: RunStatus | None, *, continuous: bool) -> bool:
    """Return whether a run was successful: completed or, if continuous, stopped without an error."""
    if status is None:
        return False
    return status.state == COMPLETED or (continuous and status.state == STOPPED and not status.error)


def error_to_exception(error: errors.IgniteKafkaError) -> AirflowException:
    """Convert an error of the library to an Airflow exception, AirflowFailException if no retry can help."""
    return _of_error(error, FAILED)


def _of_error(error: errors.IgniteKafkaError, state: str) -> AirflowException:
    kind = AirflowException if state != FENCED and _retriable(type(error)) else AirflowFailException
    return kind(f"{type(error).__name__}: {error}")


def _by_last_line(ended: AppExit) -> AirflowException:
    text = ended.app_error or ""
    error_class = getattr(errors, text.split(maxsplit=1)[0].rstrip(":"), None)
    if isinstance(error_class, type) and issubclass(error_class, errors.IgniteKafkaError):
        return (AirflowException if _retriable(error_class) else AirflowFailException)(text)
    return _kind(ended.exit_code)(text)


def _retriable(kind: type[errors.IgniteKafkaError]) -> bool:
    """Return whether a retry in a new process may help against an error of the given class."""
    return kind in (errors.IgniteKafkaError, errors.OutcomeUnknown, errors.CallsStuck) or not kind.final


def _kind(exit_code: int) -> type[AirflowException]:
    return AirflowFailException if exit_code in (_BAD_SETTINGS, _FENCED) else AirflowException


def _shown(ended: AppExit) -> str:
    return "\nIts last lines:\n" + "\n".join(ended.tail[-_SHOWN_LINES:]) if ended.tail else ""
