"""A snapshot of simulated caches through real Spark and real Kafka, with the seconds of each phase."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.runtime import connector_run, spark_job
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.snapshot import run as snapshot
from ignite_kafka.state.configs_writer import ConfigsWriter

from ..simulated import FAULT, PARTITIONS, SimulatedCluster, task
from .session import session


@contextmanager
def _timed(phases: dict[str, float]) -> Iterator[None]:
    """Take the time of the calls that a run consists of."""
    steps: tuple[tuple[Any, str, str], ...] = (
        (connector_run, "read_connector", "read control"),
        (snapshot, "make_plan", "plan"),
        (snapshot, "continue_plan", "plan"),
        (snapshot, "ensure_topics", "topics"),
        (ConfigsWriter, "take", "take"),
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
        for place, name, phase in steps:
            stack.enter_context(patch.object(place, name, wrapped(getattr(place, name), phase)))
        yield


def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """One run of a snapshot; ``broken`` names caches at which it ends, to be continued by a later round with the same id."""
    phases: dict[str, float] = {}
    spark = session()
    settings = SourceSettings(
        name=request["connector"], topic_prefix=f"{request['connector']}.", bootstrap_servers=request["bootstrap"], topic_partitions=1
    )
    caches, broken = request["caches"], request.get("broken", [])
    started = time.monotonic()
    with _timed(phases), ExitStack() as stack:
        stack.enter_context(patch.object(snapshot, "ignite_cluster", lambda *_: SimulatedCluster(caches)))
        stack.enter_context(patch.object(spark_job, "_run_task", partial(task, caches, broken)))
        try:
            snapshot.run_snapshot(spark, snapshot.RunRequest(settings, request["run_id"], request["snapshot_id"]))
        except IgniteKafkaError as error:
            if FAULT not in str(error):
                raise
    return {"entries": caches * PARTITIONS, "seconds": time.monotonic() - started, "phases": phases}
