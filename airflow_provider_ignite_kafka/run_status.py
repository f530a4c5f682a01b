"""A run as Kafka tells of it: asked before it starts, followed to its end, asked to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from airflow_provider_ignite_kafka.spark.request import Request
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state.status import PAUSED, RunStatus, read_run, read_runs, written_ms

_CHECK_S = 10.0
_MIN_CONNECT_MS = 1_000
_POLL_S = 5.0  # each look reads the status topic
_MISSED_REPORTS = 6


def check_clusters(request: Request, *, ignite: bool) -> None:
    """Ask Kafka, and Ignite where the app runs beside this worker, once and for about ten seconds each.

    A wrong address, password or certificate is found here in seconds, and not by a Spark app that starts for it.

    :raises IgniteKafkaError: a cluster did not answer or refused.
    """
    _clients(request).check(_CHECK_S)
    if ignite:
        from ignite_kafka.ignite.cluster import Cluster

        endpoint = request.settings.ignite_endpoint
        bound = int(_CHECK_S * 1000)
        connect = min(endpoint.connect_timeout_ms, max(_MIN_CONNECT_MS, bound // len(endpoint.addresses)))
        quick = replace(endpoint, connect_timeout_ms=connect, request_timeout_ms=min(endpoint.request_timeout_ms, bound))
        with Cluster(quick, request.secrets.ignite) as cluster:
            cluster.active()


def read_status(request: Request) -> RunStatus | None:
    """The run's record in the status topic, None where the app wrote none.

    :raises IgniteKafkaError: Kafka could not be asked.
    """
    return read_run(_clients(request), request.settings.internal_topic_prefix, request.settings.name, request.run_id)


def has_ended(request: Request) -> bool:
    """Whether the run's record says that it has ended.

    :raises IgniteKafkaError: Kafka could not be asked.
    """
    status = read_status(request)
    return status is not None and status.ended_ms is not None


def await_end(request: Request, *, stopped: Callable[[], bool], poll_s: float = _POLL_S) -> RunStatus | None:
    """Follow a run that nobody else watches, until its record says that it has ended; the last record.

    A record without an end is given back where the run wrote nothing for as long as its own retries may take, unless it is paused, and
    where `stopped` is true; None where there is no record at all.
    """
    settings = request.settings
    silence_s = max(settings.retry_timeout_ms, _MISSED_REPORTS * settings.progress_interval_ms) / 1000
    last: tuple[RunStatus | None, int] = (None, 0)
    heard = time.monotonic()
    while True:
        try:
            status = read_status(request)
            if status is None or status.ended_ms is not None:
                return status
            now = (status, written_ms(_clients(request), settings.internal_topic_prefix, settings.name, request.run_id))
            if now != last or status.state == PAUSED:
                last, heard = now, time.monotonic()
        except IgniteKafkaError:  # the silence bounds this, too
            pass
        if stopped() or time.monotonic() - heard > silence_s:
            return last[0]
        time.sleep(poll_s)


def ask_run(request: Request) -> bool:
    """Ask this run to end after its batch in hand, by the connector's target state.

    The target names the run's generation, so that a newer run of the connector does not follow it.

    :return: False where the run is not at work, follows no target, or does not have the connector any more.
    :raises IgniteKafkaError: Kafka could not be asked.
    """
    from ignite_kafka.state.configs import read_connector  # it imports pyarrow, which a Dag must not load
    from ignite_kafka.state.target_state import STOPPED, write_target

    settings, clients = request.settings, _clients(request)
    if not settings.streams or (status := read_status(request)) is None or status.ended_ms is not None:
        return False
    topics = Topics(clients)
    owner = read_connector(clients, topics, settings.internal_topic_prefix, settings.name).connector
    if owner is None or owner.run_id != request.run_id:
        return False
    write_target(clients, topics, settings.internal_topic_prefix, settings.name, STOPPED, generation=owner.generation)
    return True


def overtaken_by(request: Request, own_runs: str) -> RunStatus | None:
    """The run at work that took the connector after an earlier try of this task; None where there is none.

    :param own_runs: what the run ids of all tries of this task begin with.
    :raises IgniteKafkaError: Kafka could not be asked.
    """
    from ignite_kafka.state.configs import read_connector

    settings, clients = request.settings, _clients(request)
    runs = read_runs(clients, settings.internal_topic_prefix, settings.name)
    tries = [run.started_ms for run_id, run in runs.items() if run_id.startswith(own_runs)]
    owner = read_connector(clients, Topics(clients), settings.internal_topic_prefix, settings.name).connector
    other = runs.get(owner.run_id) if owner is not None and not owner.run_id.startswith(own_runs) else None
    overtakes = other is not None and other.ended_ms is None and tries and other.started_ms >= max(tries)
    return other if overtakes else None


def _clients(request: Request) -> KafkaClients:
    return KafkaClients.of(request.settings, request.secrets)
