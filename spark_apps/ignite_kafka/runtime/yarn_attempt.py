"""Attempts of a YARN application.

YARN starts a driver again whose application master has died or failed (spark.yarn.maxAppAttempts).

The new driver gets the request of the first one, so it is the same run, which continues after what was committed. But a
run whose record has an end is over: whoever follows it has seen the end, and decides whether another run begins. The
same holds for a comparison, which otherwise begins anew.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from ..common.event_log import EventCounts
from ..common.retry import retry
from ..errors import IgniteKafkaError, KafkaUnavailable
from ..kafka.clients import KafkaClients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..state.comparisons import ComparisonStatus, read_comparison
from ..state.event_records import read_run_events
from ..state.status import RunStatus, read_run_written
from .clients import kafka_clients

log = logging.getLogger(__name__)
T = TypeVar("T")
ReadLast = Callable[[KafkaClients, str, str, str], tuple[RunStatus | ComparisonStatus | None, int]]
"""Reads the last record of a prefix, a connector and a run id, and its time in milliseconds since 1970."""
# container_e17_1410901177871_0001_02_000001: cluster's start and epoch, application, attempt, container
_CONTAINER = re.compile(r"container_(?:e\d+_)?\d+_\d+_(\d+)_\d+")


def attempt_of(environment: Mapping[str, str] = os.environ) -> int:
    """Return the attempt number of this YARN application, from 1; always 1 outside YARN's cluster mode."""
    match = _CONTAINER.fullmatch(environment.get("CONTAINER_ID", ""))
    return int(match[1]) if match else 1


def run_has_ended(settings: ConnectorSettings, secrets: Secrets, run_id: str) -> bool:
    """Return whether an earlier YARN attempt has already ended the run, so that nothing is left to do.

    :raises IgniteKafkaError: the run has ended with this error.
    """
    return _has_ended(settings, secrets, run_id, read_run_written, "run: it continues after what was committed")


def events_of_earlier_attempts(settings: ConnectorSettings, secrets: Secrets, run_id: str) -> EventCounts:
    """Read the events recorded by earlier attempts of this run, to add to them; empty in the first attempt."""
    if attempt_of() == 1:
        return {}
    clients = kafka_clients(settings, secrets)
    prefix = settings.internal_topic_prefix
    return _retried(settings, lambda: read_run_events(clients, prefix, settings.name, run_id))


def comparison_has_ended(settings: ConnectorSettings, secrets: Secrets, run_id: str) -> bool:
    """Return whether an earlier YARN attempt has already ended the comparison.

    :raises IgniteKafkaError: the comparison has ended with this error.
    """
    return _has_ended(settings, secrets, run_id, read_comparison, "comparison: it begins anew")


def _has_ended(settings: ConnectorSettings, secrets: Secrets, run_id: str, read: ReadLast, otherwise: str) -> bool:
    if (attempt := attempt_of()) == 1:
        return False
    ended = _ended_before(settings, kafka_clients(settings, secrets), run_id, read)
    if ended is None:
        log.warning("YARN's attempt %d of this %s", attempt, otherwise)
        return False
    log.warning(
        "YARN's attempt %d of run %s, which has ended %s in an earlier one: nothing is started",
        attempt,
        run_id,
        ended.state,
    )
    if ended.error:
        raise IgniteKafkaError.from_dict(dict(ended.error))
    return True


def _ended_before(
    settings: ConnectorSettings, clients: KafkaClients, run_id: str, read: ReadLast
) -> RunStatus | ComparisonStatus | None:
    """Return the run's last status record if an earlier attempt ended the run, else None.

    :raises IgniteKafkaError: Kafka refuses the login, or did not answer within ``retry_timeout_ms``.
    """

    def read_last() -> RunStatus | ComparisonStatus | None:
        return read(clients, settings.internal_topic_prefix, settings.name, run_id)[0]

    last = _retried(settings, read_last)
    return last if last is not None and last.ended_ms is not None else None


def _retried(settings: ConnectorSettings, call: Callable[[], T]) -> T:
    """Repeat a call while brokers are down, at most for `retry_timeout_ms`; raise as :func:`_ended_before`."""
    return retry(call, settings.retry_timeout_ms / 1000, lambda error: isinstance(error, KafkaUnavailable))
