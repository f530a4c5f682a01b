"""One run of a connector, whatever its settings ask for."""

from __future__ import annotations

from typing import cast

from pyspark.sql import SparkSession

from .runtime.connector_run import RunRequest
from .settings.connector import ConnectorSettings
from .settings.sink import SinkSettings
from .settings.source import SourceSettings
from .sink.run import run_sink
from .source.snapshot.run import run_snapshot
from .source.stream.run import run_backlog
from .state.status import RunStatus

__all__ = ["RunRequest", "run_connector", "run_source"]


def run_connector(spark: SparkSession, request: RunRequest[ConnectorSettings]) -> RunStatus:
    """A run of either direction; returns its last record.

    :raises IgniteKafkaError: what ended the run.
    """
    if isinstance(request.settings, SinkSettings):
        return run_sink(spark, cast(RunRequest[SinkSettings], request))
    return run_source(spark, cast(RunRequest[SourceSettings], request))


def run_source(spark: SparkSession, request: RunRequest[SourceSettings]) -> RunStatus:
    """A snapshot alone, or a stream of changes that begins with one; returns the run's last record.

    :raises IgniteKafkaError: what ended the run.
    """
    return (run_backlog if request.settings.streams else run_snapshot)(spark, request)
