"""From how an app ended to what its task does: return counts, fail for good, or fail and be retried."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ignite_kafka.hooks.spark_app import AppExit
from ignite_kafka import errors
from ignite_kafka.state.status import COMPLETED, FAILED, FENCED, STOPPED, UNKNOWN, RunStatus

_BAD_SETTINGS, _FENCED = 2, 3
_SHOWN_LINES = 10


def result(status: RunStatus) -> dict[str, Any]:
    """What the task returns (XCom): counts of each cache under `caches`, and `seconds` of the whole run."""
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


def failure(status: RunStatus | None, ended: AppExit) -> AirflowException:
    """The exception of a run that did not complete.

    AirflowFailException (no retry) where none cures it: bad settings, a final error, a newer run that took over. Everything else is
    retried and goes on with its snapshot, an unknown outcome too: the next run reads from Kafka what was committed.

    :param status: the run's record in the status topic, None where there is none or it could not be read.
    """
    if status is not None and status.state == FENCED and not status.generation:
        return AirflowException("Another run of the connector took over before this one began, which has done nothing. A retry starts it.")
    if status is not None and status.state in (FAILED, FENCED, UNKNOWN) and status.error:
        return _raised(errors.IgniteKafkaError.from_dict(dict(status.error)), status.state)
    if status is not None and status.state == STOPPED:
        return AirflowException("The app was stopped before its end. A retry goes on where it ended.")
    if status is not None and not ended.reported:
        return AirflowException(
            "spark-submit ended without word of the app, whose run has written nothing for a while: it was stopped. A retry goes on."
        )
    if ended.app_error:
        return _by_last_line(ended)
    if ended.exit_code == 0:
        return AirflowException(
            "The app ended without an error, but the status topic holds no end of this run. A retry tells what is done."
        )
    return _kind(ended.exit_code)(f"The Spark app ended with exit code {ended.exit_code} and no word of its own.{_shown(ended)}")


def killed() -> AirflowException:
    """The exception of a task that was killed; what the app said while it was stopped is not the reason."""
    return AirflowException("The task was killed and its app stopped. A retry goes on where it ended.")


def overtaken(other: RunStatus) -> AirflowException:
    """The exception of a retry that would end a newer run of its connector."""
    return AirflowException(
        f"The run {other.run_id} has taken the connector {other.connector} since this task's last try and has not ended. "
        "A retry begins when it has; if it is dead, clear its task, or run the connector once more."
    )


def succeeded(status: RunStatus | None, *, continuous: bool) -> bool:
    """Whether a run came to its end. That of a continuous one is that it was asked to stop and did, in good order."""
    if status is None:
        return False
    return status.state == COMPLETED or (continuous and status.state == STOPPED and not status.error)


def raised(error: errors.IgniteKafkaError) -> AirflowException:
    """An error of the library as Airflow is to treat it."""
    return _raised(error, FAILED)


def _raised(error: errors.IgniteKafkaError, state: str) -> AirflowException:
    kind = AirflowException if state != FENCED and _retriable(type(error)) else AirflowFailException
    return kind(f"{type(error).__name__}: {error}")


def _by_last_line(ended: AppExit) -> AirflowException:
    text = ended.app_error or ""
    known = getattr(errors, text.split(maxsplit=1)[0].rstrip(":"), None)
    if isinstance(known, type) and issubclass(known, errors.IgniteKafkaError):
        return (AirflowException if _retriable(known) else AirflowFailException)(text)
    return _kind(ended.exit_code)(text)


def _retriable(kind: type[errors.IgniteKafkaError]) -> bool:
    """Whether another try may help. The base class stands for an error that is not ours, such as Spark's or Java's: it may."""
    return kind in (errors.IgniteKafkaError, errors.OutcomeUnknown) or not kind.final


def _kind(exit_code: int) -> type[AirflowException]:
    return AirflowFailException if exit_code in (_BAD_SETTINGS, _FENCED) else AirflowException


def _shown(ended: AppExit) -> str:
    return "\nIts last lines:\n" + "\n".join(ended.tail[-_SHOWN_LINES:]) if ended.tail else ""
