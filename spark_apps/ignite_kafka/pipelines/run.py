"""One run of a source connector, whatever its settings ask for."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ..kafka.status import RunStatus
from .backlog import run_backlog
from .snapshot import run_snapshot
from .source_run import SnapshotRequest

__all__ = ["SnapshotRequest", "run_source"]


def run_source(spark: SparkSession, request: SnapshotRequest) -> RunStatus:
    """A snapshot alone, or a stream of changes that begins with one; returns the run's last record.

    :raises IgniteKafkaError: what ended the run.
    """
    return (run_backlog if request.settings.streams else run_snapshot)(spark, request)
