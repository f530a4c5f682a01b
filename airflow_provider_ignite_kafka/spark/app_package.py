"""Package of a run's Spark app: files in a folder, for submitters other than this provider.

Such submitters are EMR, Dataproc, Databricks, Livy or a pod.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk import ObjectStoragePath, get_current_context

from airflow_provider_ignite_kafka.allowed_caches import check_allowed_caches
from airflow_provider_ignite_kafka.hooks.ignite_connection import DEFAULT_CONN_ID
from airflow_provider_ignite_kafka.runs import duration as periods
from airflow_provider_ignite_kafka.runs import result as run_result
from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.names import RunNames
from airflow_provider_ignite_kafka.runs.request import Connections, Request, build_request
from airflow_provider_ignite_kafka.spark.app_paths import app_path
from ignite_kafka.common.local_disk import disk_errors
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.runtime.library_zip import zip_library
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import now_ms

_APPS: Mapping[str, tuple[type[ConnectorSettings], str]] = {
    "source": (SourceSettings, "ignite_to_kafka.py"),
    "sink": (SinkSettings, "kafka_to_ignite.py"),
}
_NO_SECRETS_FILE = (
    "Put them into a file on driver and executors, readable only by Spark's user, and name it in secrets_file; "
    "see docs/security.md for its form."
)


@dataclass(frozen=True)
class SparkAppFiles:
    """Paths or URLs of a packaged app's files, as the cluster reads them, and the names of its run.

    No field and no file holds a secret.

    :param folder: the run's own folder.
    :param application: the app, a Python file.
    :param library: the library as a zip file, for ``--py-files``. It also holds the request.
    :param request: settings and ids of the run, a JSON file.
    :param arguments: arguments of the app.
    :param conf: Spark properties that name the library, for a submitter without ``--py-files``.
    :param run: the run, for :class:`.ConnectorRunSensor`.
    """

    folder: str
    application: str
    library: str
    request: str
    arguments: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Convert the addresses to JSON values, so that a task can return them."""
        return {**asdict(self), "arguments": list(self.arguments)}


@dataclass(frozen=True, kw_only=True)
class PackageOptions:
    """Options of :func:`package_app`.

    :param direction: ``source`` (Ignite to Kafka) or ``sink`` (Kafka to Ignite).
    :param secrets_file: path of the secrets file on driver and executors; required if the connections have secrets.
    :param cluster_folder: path or URL of the folder on the cluster, if it differs (a mounted volume, ``s3a://``,
        ``abfss://``); the addresses are then below it.
    :param object_conn_id: Airflow connection of the object storage. Default: the credentials in the worker's
        environment.
    :param run_mode, failover_policy, metrics_host, allowed_caches: see :class:`.CopyArguments`.
    :param ignite_conn_id, kafka_conn_id, registry_conn_id: see :class:`.SparkAppOperator`.
    :param run_for: see :class:`.CopyArguments`; the time begins with the call.
    :param start_timeout_ms: milliseconds from the call to the app's first record.
    :param names: connector, snapshot and run. Default: those of the running task.
    """

    direction: str
    secrets_file: str | None = None
    cluster_folder: str | None = None
    object_conn_id: str | None = None
    run_mode: str | None = None
    failover_policy: str | None = None
    metrics_host: str | None = None
    allowed_caches: Sequence[str] | None = None
    ignite_conn_id: str = DEFAULT_CONN_ID
    kafka_conn_id: str = "kafka_default"
    registry_conn_id: str | None = None
    run_for: timedelta | float | str | None = None
    start_timeout_ms: int = 1_800_000
    names: RunNames | None = None


def package_app(settings: Mapping[str, Any] | str, folder: str, **options: Any) -> SparkAppFiles:
    """Write a new run's app, library and request to a new folder, to be submitted by another operator.

    Call it in a task. Each call is a new run; the same task of the same Dag run continues its snapshot.

    :param settings: settings of the connector by name, or the path of a ``.properties`` file on the worker.
    :param folder: an absolute path, or a URL such as ``s3://bucket/apps``, ``gs://bucket/apps``,
        ``abfs://container/apps``.
    :param options: see :class:`PackageOptions`; `direction` is required.
    :raises AirflowFailException: a setting or an option is wrong; nothing was written.
    :raises AirflowException: the folder cannot be written; a retry may help.
    """
    package_options = PackageOptions(**options)
    try:
        _check_folders(folder, package_options.cluster_folder)
        request = _request(settings, package_options)
        duration_ms = periods.duration_ms(package_options.run_for, request.settings)
        at_ms = now_ms()
        run = FollowedRun.of(
            request,
            package_options.kafka_conn_id,
            "",
            package_options.start_timeout_ms / 1000,
            package_options.ignite_conn_id,
        )
        run = replace(run, submitted_ms=at_ms, until_ms=None if duration_ms is None else at_ms + duration_ms)
        return replace(_written(request, folder.rstrip("/"), package_options), run=run.to_dict())
    except IgniteKafkaError as error:
        raise run_result.error_to_exception(error) from error


def _request(settings: Mapping[str, Any] | str, options: PackageOptions) -> Request:
    """Check settings and options, and build the run's request without secrets.

    :raises SettingsError: a setting or an option is wrong, or secrets have no file.
    """
    if options.direction not in _APPS:
        raise SettingsError(f"direction is {options.direction!r}", f"Allowed: {', '.join(_APPS)}.", setting="direction")
    source = options.direction == "source"
    names = options.names or RunNames.of(get_current_context())
    request = build_request(
        settings,
        _APPS[options.direction][0],
        Connections.of(options.ignite_conn_id, options.kafka_conn_id, options.registry_conn_id),
        default_connector=names.connector,
        run_id=names.run_id,
        snapshot_id=names.snapshot_id if source else None,
        secrets_file=Path(options.secrets_file) if options.secrets_file else None,
        arguments={
            "run_mode": options.run_mode,
            "metrics_host": options.metrics_host,
            **({"failover_policy": options.failover_policy} if source else {}),
        },
    )
    if options.allowed_caches is not None:
        check_allowed_caches(request.settings, options.allowed_caches)
    if request.ships_secrets:
        raise SettingsError(
            "the connections have secrets, and a packaged app holds none", _NO_SECRETS_FILE, setting="secrets_file"
        )
    return request


def _check_folders(folder: str, cluster_folder: str | None) -> None:
    for name, value in (("folder", folder), ("cluster_folder", cluster_folder)):
        if value is not None and "://" not in value and not Path(value).is_absolute():
            raise SettingsError(
                f"{name} is {value!r}", "Give an absolute path, or a URL such as s3://bucket/apps.", setting=name
            )
    if "@" in folder.partition("://")[2].partition("/")[0]:
        raise SettingsError(
            "folder has a part before @, which Airflow takes for a connection",
            "Name the connection in object_conn_id; write abfs://container/apps, and abfss://container@account/apps in "
            "cluster_folder.",
            setting="folder",
        )


def _written(request: Request, folder: str, options: PackageOptions) -> SparkAppFiles:
    """Write app, library and request to a new folder, and return their addresses on the cluster."""
    own = uuid.uuid4().hex
    with disk_errors(), tempfile.TemporaryDirectory(prefix="ignite-kafka-") as temporary:
        request_file = request.write(Path(temporary))
        files = {
            "application": app_path(_APPS[options.direction][1]),
            "library": zip_library(Path(temporary), request_file),
            "request": request_file,
        }
        _store(files.values(), f"{folder}/{own}", options.object_conn_id)
    base = f"{(options.cluster_folder or folder).rstrip('/')}/{own}"
    at = {name: f"{base}/{path.name}" for name, path in files.items()}
    # the driver has no path for a file in an object storage: it finds the request in the library, which every submitter
    # hands to it
    arguments = ["--request", request_file.name if "://" in base else at["request"]]
    if request.secrets_file is not None:
        arguments += ["--mounted-secrets", str(request.secrets_file)]
    return SparkAppFiles(
        base, at["application"], at["library"], at["request"], tuple(arguments), {"spark.submit.pyFiles": at["library"]}
    )


def _store(files: Iterable[Path], folder: str, conn_id: str | None) -> None:
    """Copy files to a new folder on a disk or in an object storage.

    :raises AirflowException: the folder cannot be written.
    """
    try:
        target = ObjectStoragePath(folder, conn_id=conn_id) if "://" in folder else Path(folder)
        if "://" not in folder or folder.startswith("file://"):  # an object storage has no folders
            target.mkdir(parents=True)
        for path in files:
            (target / path.name).write_bytes(path.read_bytes())
    except Exception as error:  # each object storage has errors of its own
        where = f"{folder}, connection {conn_id}" if conn_id else folder
        raise AirflowException(
            f"The Spark app could not be written to {where}: {type(error).__name__}: {error}. Check the folder, the "
            "rights of the worker and the package of the storage (such as s3fs, gcsfs or adlfs)."
        ) from error
