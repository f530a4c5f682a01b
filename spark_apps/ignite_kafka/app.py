"""Common part of the Spark apps: arguments, request, and the way of secrets to executors.

The request holds no secret. Secrets are in a separate file (:mod:`~ignite_kafka.settings.secrets`), either shipped or
mounted:

- shipped (``--secrets FILE``): the driver reads it at once, so that the caller may delete it, and Spark sends it to
  executors with their tasks; refused if the master is not local and Spark does not authenticate, unless
  ``--ship-secrets-unprotected`` is given;
- mounted (``--mounted-secrets FILE``): a path that exists on the driver and on every executor; nothing is copied.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import events
from .common.event_log import EventCount, EventCounts, EventLog, parse_counts
from .common.local_disk import disk_errors
from .common.redaction import register_hidden_values, set_log_values
from .common.typed_json import read_as
from .errors import IgniteKafkaError, SettingsError
from .runtime import logs
from .runtime.library_zip import packaged_text
from .settings import secrets
from .settings.connector import ConnectorSettings
from .settings.permissions import NONE, Permissions
from .settings.secrets import Secrets
from .settings.secrets_file import SecretsFile, SecretsSource, ShippedSecrets
from .settings.topic_names import reserve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .runtime.connector_run import RunRequest
    from .state.status import RunStatus

log = logging.getLogger(__name__)
S = TypeVar("S", bound=ConnectorSettings)


def main(
    argv: Sequence[str] | None, direction: type[S], run: Callable[[SparkSession, RunRequest[S]], RunStatus]
) -> int:
    """Read the request and run it.

    :returns: the exit code: 0 after success, else the error's; the last line on stderr is then the error with its
        remedy.
    """
    from .preflight import preflight
    from .runtime.connector_run import RunRequest
    from .runtime.spark_versions import require_spark
    from .runtime.yarn_attempt import events_of_earlier_attempts, run_has_ended

    def work(log_of_run: EventLog) -> None:
        arguments = Arguments.parse(argv)
        request = AppRequest.load(arguments.request, direction)
        set_log_values(request.settings.log_values)
        stop = stop_on_sigterm(request.settings)
        require_spark()
        loaded_secrets = arguments.read_secrets(request.permissions)
        if run_has_ended(request.settings, loaded_secrets, request.run_id):
            return
        log_of_run.recorded = events_of_earlier_attempts(request.settings, loaded_secrets, request.run_id)
        log_of_run.merge(log_of_run.recorded or request.events)
        preflight(request.settings, loaded_secrets, request.run_id, request.snapshot_id, log_of_run)
        with app_session(request.settings.name) as spark:
            secrets_file = find_secrets(spark, arguments, request.permissions)
            names = request.run_id, request.snapshot_id
            run(spark, RunRequest(request.settings, *names, secrets_file, show_progress, stop, log_of_run))

    return exit_code_of(work)


def exit_code_of(work: Callable[[EventLog], None]) -> int:
    """Do an app's work, with its log; the exit code of :func:`main`.

    :param work: called with the events of the process so far, which grow.
    """
    logs.configure(logging.INFO, "%(asctime)s %(levelname)s %(message)s")
    with events.collect() as log_of_run:
        try:
            with disk_errors():
                work(log_of_run)
        except IgniteKafkaError as error:
            if error.exit_code == 2 and events.MISCONFIGURED.id not in log_of_run.counts():
                events.emit(events.MISCONFIGURED, reason=str(error))
            logs.show_error(error)
            return error.exit_code
    return 0


@contextmanager
def app_session(connector: str) -> Iterator[SparkSession]:
    """Return the Spark session of an app, which is stopped at the end.

    :raises UnsupportedVersion: the session is one of Spark Connect.
    """
    from .runtime.spark_versions import require_session

    spark = session_builder(connector).getOrCreate()
    try:
        require_session(spark)
        log.info(
            "Spark application %s, web UI %s", spark.sparkContext.applicationId, spark.sparkContext.uiWebUrl or "off"
        )
        yield spark
    finally:
        spark.stop()


def session_builder(connector: str) -> SparkSession.Builder:
    """Return a builder of a Spark session, in which a crashing Python worker dumps its stack."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.appName(f"ignite-kafka {connector}").config(
        "spark.python.worker.faulthandler.enabled", "true"
    )


@dataclass(frozen=True)
class Arguments:
    """Command line of an app."""

    request: str
    secrets: str | None = None
    mounted_secrets: str | None = None
    unprotected: bool = False

    @staticmethod
    def parse(argv: Sequence[str] | None) -> Arguments:
        """Parse the command line; exits with code 2 if it is wrong."""
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--request", required=True, help="JSON file: connector, run_id, snapshot_id, settings")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--secrets", help="secrets file that is sent to executors")
        where.add_argument("--mounted-secrets", help="secrets file that exists on the driver and every executor")
        parser.add_argument(
            "--ship-secrets-unprotected", action="store_true", help="send secrets although Spark does not authenticate"
        )
        options = parser.parse_args(argv)
        return Arguments(options.request, options.secrets, options.mounted_secrets, options.ship_secrets_unprotected)

    def read_secrets(self, permissions: Permissions = NONE) -> Secrets:
        """Read the secrets before the Spark session exists.

        :param permissions: see :class:`AppRequest`.
        :raises SettingsError: see :func:`~ignite_kafka.settings.secrets.load`.
        """
        if self.mounted_secrets:
            return secrets.load(self.mounted_secrets, permissions)
        return _given_secrets(self.secrets, permissions) if self.secrets else Secrets()


@dataclass(frozen=True)
class AppRequest(Generic[S]):
    """Request of a run.

    :param run_id: key of the status record.
    :param snapshot_id: see :class:`~ignite_kafka.runtime.connector_run.RunRequest`.
    :param permissions: of the administrator of Airflow, or of whoever runs the command.
    :param events: events of the operator while it made the request, by id.
    """

    settings: S
    run_id: str
    snapshot_id: str | None
    permissions: Permissions = NONE
    events: EventCounts = field(default_factory=dict)

    @staticmethod
    def load(path: str, direction: type[S]) -> AppRequest[S]:
        """Read a request file; from now on this process hides the values and reserves the prefixes that it names.

        :raises SettingsError: the file is missing, is not JSON, or holds an invalid setting.
        """
        try:
            data: Mapping[str, Any] = json.loads(_request_text(path))
            settings = data["settings"]
            run_id = data["run_id"]
            counts = parse_counts({id: read_as(EventCount, count) for id, count in data.get("events", {}).items()})
        except (OSError, ValueError, KeyError, AttributeError) as cause:
            raise SettingsError(
                f"the request cannot be read: {cause!r}",
                "Give --request a file with the form that the operator writes.",
                file=path,
            ) from cause
        register_hidden_values(data.get("hidden_values", ()))
        reserve(data.get("internal_topic_prefixes", ()))
        named = {"name": data["connector"], **settings} if "connector" in data else settings
        permissions = Permissions(
            tuple(data.get("allowed_kafka_options", ())), data.get("allow_insecure_connections") is True
        )
        return AppRequest(direction.from_dict(named), run_id, data.get("snapshot_id"), permissions, counts)


def _request_text(path: str) -> str:
    """Read the request file; a bare name that is no file here is looked up in the library's zip file."""
    request_path = local_file(path)
    packaged = None if os.path.exists(request_path) or os.path.basename(path) != path else packaged_text(path)
    return Path(request_path).read_text() if packaged is None else packaged


def local_file(path: str) -> str:
    """The path or, if it does not exist, the working directory's file of that name, where ``--files`` puts it."""
    if os.path.exists(path):
        return path
    shipped = Path.cwd() / os.path.basename(path)
    return str(shipped) if shipped.exists() else path


def find_secrets(spark: SparkSession, arguments: Arguments, permissions: Permissions = NONE) -> SecretsSource | None:
    """Return the source of the secrets for driver and executors; None without secrets.

    :param permissions: see :class:`AppRequest`.
    :raises SettingsError: the file cannot be used, or Spark would send it to anyone who reaches the driver's port.
    """
    if arguments.mounted_secrets:
        return SecretsFile(arguments.mounted_secrets, permissions)
    if arguments.secrets:
        _check_shipping(spark, arguments.unprotected)
        return ShippedSecrets(_given_secrets(arguments.secrets, permissions))
    return None


def _check_shipping(spark: SparkSession, unprotected: bool) -> None:
    """Require authentication.

    Without it Spark sends tasks, and the secrets in them, to any client of the driver's port.
    """
    conf = spark.sparkContext.getConf()
    master = str(spark.sparkContext.master)
    if master.startswith("local"):
        return
    if conf.get("spark.authenticate", "false") != "true":
        if not unprotected:
            raise SettingsError(
                "Spark would send the secrets to any client that reaches the driver's port, because it does not "
                "authenticate",
                "Put the secrets file under the same path on driver and executors and name it in secrets_file "
                "(--mounted-secrets), or set spark.authenticate, or accept it with ship_secrets_unprotected "
                "(--ship-secrets-unprotected)",
                master=master,
            )
        events.emit(
            events.SECRETS_EXPOSED, reason="spark.authenticate is not true, and ship_secrets_unprotected is given"
        )
    elif (
        conf.get("spark.network.crypto.enabled", "false") != "true"
        and conf.get("spark.ssl.rpc.enabled", "false") != "true"
    ):
        events.emit(
            events.SECRETS_EXPOSED, reason="neither spark.network.crypto.enabled nor spark.ssl.rpc.enabled is true"
        )


def _given_secrets(path: str, permissions: Permissions) -> Secrets:
    """Read the caller's file, which must be private.

    A copy by a cluster manager, with the mode of its umask, is made private first.
    """
    secrets_path = local_file(path)
    if secrets_path != path and os.stat(secrets_path).st_uid == os.geteuid():
        secrets.restrict(secrets_path)
    return secrets.load(secrets_path, permissions)


def stop_on_sigterm(settings: ConnectorSettings) -> threading.Event:
    """Handle SIGTERM: a stream ends after its current batch, by the event returned.

    Any other run, or a second signal, ends at once.
    """
    stop = threading.Event()

    def handle(*_: object) -> None:
        # no log: the signal may have interrupted a logging call that holds the lock
        if not settings.streams or stop.is_set():
            sys.exit(128 + signal.SIGTERM)
        stop.set()

    signal.signal(signal.SIGTERM, handle)
    return stop


def show_progress(status: RunStatus) -> None:
    """Log the progress so far, one line per cache."""
    for name, cache in status.caches.items():
        log.info(
            "progress %s -> %s: %d of %d partitions, %s records",
            name,
            cache.topic,
            cache.units_done,
            cache.units,
            f"{cache.records:,}",
        )
