"""Arguments and environment of spark-submit for a run, depending on master and deploy mode."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airflow_provider_ignite_kafka.runs.request import Request
from ignite_kafka.errors import SettingsError
from ignite_kafka.runtime import logs
from ignite_kafka.runtime.library_zip import zip_library

# the task, or a trigger, follows the app by the status topic: spark-submit need not hold a JVM until the app ends
_WAIT_YARN = "spark.yarn.submit.waitAppCompletion"
_WAIT_KUBERNETES = "spark.kubernetes.submission.waitAppCompletion"


@dataclass(frozen=True)
class SparkMaster:
    """Master and deploy mode of a Spark connection.

    :param url: such as ``local[*]``, ``spark://host:7077``, ``yarn`` or ``k8s://https://host``.
    :param cluster_mode: the driver runs in the cluster, not on the worker.
    :param connection: the Airflow connection with these values, which is looked up once.
    """

    url: str
    cluster_mode: bool = False
    connection: Any = field(default=None, compare=False, repr=False)

    @property
    def local(self) -> bool:
        """Whether Spark runs in local mode: driver and executors are one process on the worker."""
        return self.url.startswith("local")

    @property
    def kubernetes(self) -> bool:
        """Whether the master is Kubernetes."""
        return self.url.startswith("k8s")


@dataclass(frozen=True)
class Submission:
    """Arguments and environment of a spark-submit call, without secrets.

    :param files: files to upload for the driver in the cluster; empty in client mode, where the driver reads them from
        the worker's disk.
    :param conf: Spark properties.
    :param environment: the complete environment of spark-submit.
    """

    application_args: tuple[str, ...]
    py_files: tuple[str, ...]
    files: tuple[str, ...]
    conf: Mapping[str, Any]
    environment: Mapping[str, str]
    name: str


def build_submission(
    request: Request,
    folder: Path,
    master: SparkMaster,
    hook_arguments: Mapping[str, Any],
    *app_arguments: str,
    ship_secrets_unprotected: bool = False,
) -> Submission:
    """Write a run's files to the task's private folder, and build the spark-submit call that uses them.

    :param hook_arguments: arguments of SparkSubmitHook that the user gave; they override ours.
    :param app_arguments: the app's own arguments, after those common to all apps.
    :param ship_secrets_unprotected: see :class:`.SparkAppOperator`.
    :raises SettingsError: the master cannot run a Python app, or would store the secrets where others may read them.
    """
    _refuse(request, master)
    request_file = request.write(folder)
    secrets_file = request.write_secrets(folder) if request.ships_secrets else None
    shipped = [str(path) for path in (request_file, secrets_file) if path] if master.cluster_mode else []
    arguments = ["--request", request_file.name if master.cluster_mode else str(request_file)]
    if request.secrets_file is not None:
        arguments += ["--mounted-secrets", str(request.secrets_file)]
    elif secrets_file is not None:
        arguments += ["--secrets", secrets_file.name if master.cluster_mode else str(secrets_file)]
        arguments += ["--ship-secrets-unprotected"] * ship_secrets_unprotected
    python = _python(master, hook_arguments)
    return Submission(
        (*arguments, *app_arguments),
        (*_listed(hook_arguments, "py_files"), str(zip_library(folder))),
        (*_listed(hook_arguments, "files"), *shipped),
        {**_driver_conf(master, hook_arguments, python), **(hook_arguments.get("conf") or {}), **_no_wait(master)},
        # TMPDIR is our folder, so the app's copy of the secrets is removed with it even if the app is killed
        _environment(folder, master, hook_arguments, python),
        hook_arguments.get("name") or f"ignite-kafka:{request.settings.name}",
    )


def _refuse(request: Request, master: SparkMaster) -> None:
    if master.cluster_mode and master.url.startswith("spark://"):
        raise SettingsError(
            "Spark standalone runs no Python app in cluster deploy mode",
            "Set deploy-mode of the Spark connection to client.",
            master=master.url,
        )
    if master.cluster_mode and master.kubernetes and request.ships_secrets:
        raise SettingsError(
            "on Kubernetes --files would leave the secrets in the upload folder",
            "Mount a Kubernetes secret in driver and executors and name its file in `secrets_file`.",
            master=master.url,
        )


def _environment(
    folder: Path, master: SparkMaster, hook_arguments: Mapping[str, Any], python: Mapping[str, str]
) -> dict[str, str]:
    """Build the environment of spark-submit: the worker's and the user's variables, and paths.

    In cluster mode Spark's log is unchanged, because the Spark provider reads the app's id from it.
    """
    environment = {
        **_inherited(os.environ),
        **_spark_home(),
        "TMPDIR": str(folder),
        **(hook_arguments.get("env_vars") or {}),
        **python,
    }
    return environment if master.cluster_mode else {**environment, **logs.spark_environment(environment)}


def _inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Copy the worker's environment without Airflow's variables, which may hold connections and keys."""
    return {name: value for name, value in environment.items() if not name.startswith(("AIRFLOW_", "_AIRFLOW_"))}


def _driver_conf(master: SparkMaster, hook_arguments: Mapping[str, Any], python: Mapping[str, str]) -> dict[str, str]:
    """Build Spark properties: the driver's Python in client mode, its environment variables in cluster mode."""
    if not master.cluster_mode:
        return {"spark.pyspark.driver.python": python["PYSPARK_DRIVER_PYTHON"]}
    prefix = "spark.kubernetes.driverEnv." if master.kubernetes else "spark.yarn.appMasterEnv."
    variables: Mapping[str, Any] = hook_arguments.get("env_vars") or {}
    return {prefix + name: str(value) for name, value in variables.items()}


def _no_wait(master: SparkMaster) -> dict[str, str]:
    """Build the Spark property that lets spark-submit end once the cluster has accepted the app."""
    if not master.cluster_mode:
        return {}
    return {_WAIT_KUBERNETES if master.kubernetes else _WAIT_YARN: "false"}


def _python(master: SparkMaster, hook_arguments: Mapping[str, Any]) -> dict[str, str]:
    """Choose the Python of driver and executors, as environment variables; empty in cluster mode.

    Driver and local executors use this Python unless the user names another; Spark's default is the first `python3` on
    the PATH. The planning worker of a data source uses PYSPARK_DRIVER_PYTHON, other workers use PYSPARK_PYTHON.
    """
    if master.cluster_mode:
        return {}
    chosen: Mapping[str, Any] = {**os.environ, **(hook_arguments.get("env_vars") or {})}
    conf = hook_arguments.get("conf") or {}
    driver = conf.get("spark.pyspark.driver.python") or chosen.get("PYSPARK_DRIVER_PYTHON") or sys.executable
    workers = (
        conf.get("spark.pyspark.python") or chosen.get("PYSPARK_PYTHON") or (sys.executable if master.local else None)
    )
    return {"PYSPARK_DRIVER_PYTHON": driver, **({"PYSPARK_PYTHON": workers} if workers else {})}


def _spark_home() -> dict[str, str]:
    """Set SPARK_HOME to the installed PySpark if spark-submit is pip's script beside this Python.

    Without it, the script would ask the first `python3` on the PATH.
    """
    package = importlib.util.find_spec("pyspark")
    submit = shutil.which("spark-submit")
    if "SPARK_HOME" in os.environ or package is None or package.origin is None or submit is None:
        return {}
    return (
        {"SPARK_HOME": str(Path(package.origin).parent)} if Path(submit).parent == Path(sys.executable).parent else {}
    )


def _listed(hook_arguments: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(part for part in (hook_arguments.get(name) or "").split(",") if part)
