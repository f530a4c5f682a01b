"""A run of a connector with a Spark session in this process, for `ignite-kafka run`."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from .. import events
from ..app import Arguments, find_secrets, session_builder, show_progress
from ..common.event_log import EventLog
from ..common.new_id import new_id
from ..errors import IgniteKafkaError
from ..preflight import preflight
from ..run import RunRequest, run_request
from ..runtime import logs
from ..runtime.interrupts import interrupts_raised
from ..runtime.java import require_java
from ..runtime.library_zip import zip_library
from ..runtime.spark_versions import condition_of, require_session, require_spark
from ..settings.connector import ConnectorSettings
from ..settings.permissions import NONE, Permissions
from ..state.status import RunStatus

_LOCAL = "local[*,4]"  # all cores, and as many attempts per task as on a cluster


def run_locally(
    settings: ConnectorSettings,
    *,
    master: str | None = None,
    run_id: str | None = None,
    snapshot_id: str | None = None,
    secrets: str | None = None,
    mounted_secrets: str | None = None,
    ship_secrets_unprotected: bool = False,
    permissions: Permissions = NONE,
    stop: threading.Event | None = None,
    log_of_run: EventLog | None = None,
    progress: Callable[[RunStatus], None] = show_progress,
) -> RunStatus:
    """Run a connector with a Spark session in this process; return the run's status.

    :param master: Spark master; None: the master in Spark's configuration, else ``local[*,4]``.
    :param ship_secrets_unprotected: send ``secrets`` to executors although Spark does not authenticate.
    :param permissions: permissions of the command's user.
    :param stop: event that ends a stream after the current batch.
    :param log_of_run: open log of the events while the settings were read; None: there is none.
    :param progress: called with the counts so far, from time to time.
    :param run_id: key of the status record; None: derived from the time.
    :raises SettingsError: Java is missing.
    :raises UnsupportedVersion: PySpark is too old, or would create a session of Spark Connect.
    :raises IgniteKafkaError: the error that ended the run.
    """
    require_spark(master)
    require_java()
    run_id = run_id or f"cli-{new_id()}"
    arguments = Arguments("", secrets, mounted_secrets, ship_secrets_unprotected)
    stop = stop or threading.Event()
    with nullcontext(log_of_run) if log_of_run is not None else events.collect() as log:
        preflight(settings, arguments.read_secrets(permissions), run_id, snapshot_id, log)
        with interrupts_raised(), local_session(settings.name, master) as spark:
            secrets_file = find_secrets(spark, arguments, permissions)
            request = RunRequest(settings, run_id, snapshot_id, secrets_file, progress, stop, log)
            return run_request(spark, request)


@contextmanager
def local_session(name: str, master: str | None) -> Iterator[SparkSession]:
    """Open a Spark session with its driver in this process and the library on its executors.

    :param name: name of the connector.
    :param master: Spark master; None: the master in Spark's configuration, else ``local[*,4]``.
    :raises SettingsError: Java is missing.
    """
    require_spark(master)
    require_java()
    if master is None or master.startswith("local"):
        # workers must use the driver's Python; Spark's default is `python3` of PATH
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    spark = _create_session(name, master)
    try:
        require_session(spark)
        with tempfile.TemporaryDirectory(prefix="ignite-kafka-") as folder:
            if not str(spark.sparkContext.master).startswith("local"):
                spark.sparkContext.addPyFile(str(zip_library(Path(folder))))
            yield spark
    finally:
        spark.stop()


def _create_session(connector: str, master: str | None) -> SparkSession:
    builder = session_builder(connector).config("spark.ui.showConsoleProgress", "false")
    if master is None:
        # spark-submit reads MASTER after spark-defaults.conf, which Python cannot read
        os.environ.setdefault("MASTER", _LOCAL)
    os.environ.update(logs.spark_environment())
    try:
        return (builder.master(master) if master else builder).getOrCreate()
    except PySparkRuntimeError as cause:
        if condition_of(cause) != "JAVA_GATEWAY_EXITED":
            raise
        remedy = "Its message is above. Check JAVA_HOME, SPARK_HOME and the files in SPARK_CONF_DIR"
        raise IgniteKafkaError("Spark's Java process ended before it answered", remedy) from cause
