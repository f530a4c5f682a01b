"""A snapshot of simulated caches through real Spark and real Kafka, with the seconds of each phase of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.runtime import connector_run
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.snapshot import run as snapshot
from ignite_kafka.state.configs_writer import ConfigsWriter

from ..simulated import FAULT, PARTITIONS, connect, simulated_slots
from .session import session


@contextmanager
def _timed(phases: dict[str, float]) -> Iterator[None]:
    """Measure the time of the calls that a run consists of."""
    steps: tuple[tuple[Any, str, str], ...] = (
        (connector_run, "read_connector", "read control"),
        (snapshot, "make_plan", "plan"),
        (snapshot, "continue_plan", "plan"),
        (snapshot, "ensure_topics", "topics"),
        (ConfigsWriter, "take", "take"),
        (ConfigsWriter, "write_caches", "begin"),
        (ConfigsWriter, "begin", "begin"),
        (snapshot.SnapshotRun, "_follow", "copy"),
        (ConfigsWriter, "end_snapshot", "finish"),
    )

    def wrapped(step: Callable[..., Any], phase: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            started = time.monotonic()
            try:
                return step(*arguments)
            finally:
                phases[phase] = phases.get(phase, 0.0) + time.monotonic() - started

        return call

    with ExitStack() as stack:
        for owner, name, phase in steps:
            stack.enter_context(patch.object(owner, name, wrapped(getattr(owner, name), phase)))
        yield


def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """One run of a snapshot. It ends at a cache of ``broken``; a later round with the same id continues it."""
    phases: dict[str, float] = {}
    spark = session()
    settings = SourceSettings(
        name=request["connector"],
        topic_prefix=f"{request['connector']}.",
        bootstrap_servers=request["bootstrap"],
        topic_partitions=1,
    )
    caches, broken = request["caches"], request.get("broken", [])
    started = time.monotonic()
    with _timed(phases):
        try:
            snapshot.run_snapshot(
                spark,
                RunRequest(settings, request["run_id"], request["snapshot_id"]),
                connect=partial(connect, caches),
                run_slots=partial(simulated_slots, caches, broken),
            )
        except IgniteKafkaError as error:
            if FAULT not in str(error):
                raise
    return {"entries": caches * PARTITIONS, "seconds": time.monotonic() - started, "phases": phases}
