"""One run of a connector in a Spark session."""

from __future__ import annotations

import threading
from typing import cast

from pyspark.sql import SparkSession

from .common.new_id import new_id
from .common.redaction import set_log_values
from .runtime.connector_run import RunRequest
from .runtime.spark_versions import require_session
from .settings.connector import ConnectorSettings
from .settings.permissions import Permissions
from .settings.secrets_file import SecretsFile
from .settings.sink import SinkSettings
from .settings.source import SourceSettings
from .sink.run import run_sink
from .source.snapshot.run import run_snapshot
from .source.stream.run import run_stream
from .state.status import RunStatus

__all__ = ["RunRequest", "run_connector", "run_request", "run_source"]


def run_connector(
    spark: SparkSession,
    settings: SourceSettings | SinkSettings,
    *,
    run_id: str | None = None,
    snapshot_id: str | None = None,
    secrets_file: str | None = None,
    allow_insecure_connections: bool = False,
    stop: threading.Event | None = None,
) -> RunStatus:
    """Run a connector to its end: Ignite to Kafka for source settings, Kafka to Ignite for sink settings.

    :param run_id: key of the run's record in the status topic; None: derived from the time.
    :param snapshot_id: of a source; each snapshot id is sent once. None continues the last unfinished snapshot, or
        begins one.
    :param secrets_file: path of a secrets file on the driver and every executor; None: there are no secrets.
    :param allow_insecure_connections: whether the credentials of the secrets file may be sent over connections that are
        not protected.
    :param stop: set it to end a continuous run after the current batch.
    :returns: the run's last record; its state is COMPLETED, or STOPPED after a request to stop.
    :raises UnsupportedVersion: PySpark is older than 3.5, or the session is one of Spark Connect.
    :raises SettingsError: a setting or the secrets file is wrong; nothing was copied.
    :raises Fenced: a newer run of the connector has taken over.
    :raises OutcomeUnknown: a commit or a put got no answer: the records may or may not be there.
    :raises IgniteKafkaError: any other error; the next run continues after what was committed.
    """
    run_id = run_id or new_id()
    set_log_values(settings.log_values)
    secrets = None if secrets_file is None else SecretsFile(secrets_file, Permissions((), allow_insecure_connections))
    return run_request(spark, RunRequest(settings, run_id, snapshot_id, secrets, stop=stop or threading.Event()))


def run_request(spark: SparkSession, request: RunRequest[ConnectorSettings]) -> RunStatus:
    """Run a connector as :func:`run_connector` does, for a caller that reports progress or ships secrets."""
    require_session(spark)
    if isinstance(request.settings, SinkSettings):
        return run_sink(spark, cast(RunRequest[SinkSettings], request))
    return run_source(spark, cast(RunRequest[SourceSettings], request))


def run_source(spark: SparkSession, request: RunRequest[SourceSettings]) -> RunStatus:
    """Run a snapshot, or a stream of changes that begins with one.

    :returns: the run's last record.
    :raises IgniteKafkaError: what ended the run.
    """
    return (run_stream if request.settings.streams else run_snapshot)(spark, request)
