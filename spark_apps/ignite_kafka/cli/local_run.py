"""A run with a Spark session of this process: what `ignite-kafka run` does."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from ..app import Arguments, find_secrets, session_builder, show_progress
from ..errors import IgniteKafkaError
from ..preflight import preflight
from ..run import RunRequest, run_request
from ..runtime import logs
from ..runtime.java import require_java
from ..runtime.library_zip import zip_library
from ..settings.connector import ConnectorSettings
from ..state.status import RunStatus

_LOCAL = "local[*,4]"  # all cores; a task whose Python worker dies is tried again, as often as on a cluster


def run_locally(
    settings: ConnectorSettings,
    *,
    master: str | None = None,
    run_id: str | None = None,
    snapshot_id: str | None = None,
    secrets: str | None = None,
    mounted_secrets: str | None = None,
    ship_secrets_unprotected: bool = False,
    allowed_kafka_options: tuple[str, ...] = (),
    stop: threading.Event | None = None,
) -> RunStatus:
    """Run a connector.

    :param master: Spark's master; without one, what Spark's own configuration says, else ``local[*,4]``.
    :param ship_secrets_unprotected: ship ``secrets`` to executors although Spark does not authenticate.
    :param allowed_kafka_options: properties in the secrets file that may act on the host, each ``name=value``.
    :param stop: set to have a run that streams end after the batch in hand.
    :param run_id: name of the status record; made from the time without one.
    :raises SettingsError: there is no Java.
    :raises IgniteKafkaError: what ended the run.
    """
    require_java()
    run_id = run_id or _run_id()
    arguments = Arguments("", secrets, mounted_secrets, ship_secrets_unprotected)
    preflight(settings, arguments.read_secrets(allowed_kafka_options), run_id, snapshot_id)
    if master is None or master.startswith("local"):
        # Python workers and the driver must be one Python: Spark takes `python3` from the path otherwise
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    spark = _session(settings.name, master)
    try:
        with tempfile.TemporaryDirectory(prefix="ignite-kafka-") as folder:
            if not str(spark.sparkContext.master).startswith("local"):
                spark.sparkContext.addPyFile(str(zip_library(Path(folder))))
            secrets_file = find_secrets(spark, arguments, allowed_kafka_options)
            request = RunRequest(settings, run_id, snapshot_id, secrets_file, show_progress, stop or threading.Event())
            return run_request(spark, request)
    finally:
        spark.stop()


def _session(connector: str, master: str | None) -> SparkSession:
    builder = session_builder(connector).config("spark.ui.showConsoleProgress", "false")
    if master is None:
        os.environ.setdefault("MASTER", _LOCAL)  # spark-submit asks for it after spark-defaults.conf, which Python cannot read before
    os.environ.update(logs.spark_environment())
    try:
        return (builder.master(master) if master else builder).getOrCreate()
    except PySparkRuntimeError as cause:
        if cause.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        remedy = "Its own message is above. Check JAVA_HOME, SPARK_HOME and the files in SPARK_CONF_DIR"
        raise IgniteKafkaError("Spark's Java process ended before it answered", remedy) from cause


def _run_id() -> str:
    return time.strftime("cli-%Y%m%dT%H%M%SZ-", time.gmtime()) + uuid.uuid4().hex[:8]
