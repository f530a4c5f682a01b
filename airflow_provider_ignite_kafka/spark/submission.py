"""What is handed to spark-submit, by where the driver runs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_provider_ignite_kafka.spark.request import Request
from ignite_kafka.errors import SettingsError
from ignite_kafka.runtime import logs
from ignite_kafka.runtime.library_zip import zip_library

_WAIT = ("spark.yarn.submit.waitAppCompletion", "spark.kubernetes.submission.waitAppCompletion")


@dataclass(frozen=True)
class Place:
    """Where a Spark connection runs an app.

    :param master: such as ``local[*]``, ``spark://host:7077``, ``yarn`` or ``k8s://https://host``.
    :param cluster_mode: the driver runs in the cluster, not beside the task.
    """

    master: str
    cluster_mode: bool = False

    @property
    def local(self) -> bool:
        return self.master.startswith("local")

    @property
    def kubernetes(self) -> bool:
        return self.master.startswith("k8s")


@dataclass(frozen=True)
class Submission:
    """Arguments of spark-submit; none of them is or holds a secret.

    :param files: files for the driver in the cluster; empty in client mode, where it reads them in place.
    :param conf: Spark properties.
    :param environment: of spark-submit, whole.
    """

    application_args: tuple[str, ...]
    py_files: tuple[str, ...]
    files: tuple[str, ...]
    conf: Mapping[str, Any]
    environment: Mapping[str, str]
    name: str


def submission(
    request: Request, folder: Path, place: Place, given: Mapping[str, Any], *, ship_secrets_unprotected: bool = False
) -> Submission:
    """Write request, secrets and library into the task's private folder and say how spark-submit gets them.

    :param given: arguments of SparkSubmitHook that the user gave; theirs come first.
    :param ship_secrets_unprotected: see :class:`.SparkCopyOperator`.
    :raises SettingsError: the place cannot run a Python app, or would have the secrets stored where others may read them.
    """
    _refuse(request, place, given.get("conf") or {})
    request_file = request.write(folder)
    secrets_file = request.write_secrets(folder) if request.ships_secrets else None
    shipped = [str(path) for path in (request_file, secrets_file) if path] if place.cluster_mode else []
    arguments = ["--request", request_file.name if place.cluster_mode else str(request_file)]
    if request.secrets_file is not None:
        arguments += ["--mounted-secrets", str(request.secrets_file)]
    elif secrets_file is not None:
        arguments += ["--secrets", secrets_file.name if place.cluster_mode else str(secrets_file)]
        arguments += ["--ship-secrets-unprotected"] * ship_secrets_unprotected
    python = _python(place, given)
    return Submission(
        tuple(arguments),
        (*_listed(given, "py_files"), str(zip_library(folder))),
        (*_listed(given, "files"), *shipped),
        {**_driver_conf(place, given, python), **(given.get("conf") or {})},
        # the app's own copy of the secrets is then in our folder too, and goes with it even if the app was killed
        _environment(folder, place, given, python),
        given.get("name") or f"ignite-kafka:{request.settings.name}",
    )


def _refuse(request: Request, place: Place, conf: Mapping[str, Any]) -> None:
    for name in _WAIT:
        if place.cluster_mode and str(conf.get(name, "true")).lower() == "false":
            raise SettingsError("spark-submit must wait for the end of the app", "Leave it out.", setting=name, value="false")
    if place.cluster_mode and place.master.startswith("spark://"):
        raise SettingsError(
            "Spark standalone runs no Python app in cluster deploy mode",
            "Set deploy-mode of the Spark connection to client.",
            master=place.master,
        )
    if place.cluster_mode and place.kubernetes and request.ships_secrets:
        raise SettingsError(
            "on Kubernetes --files would leave the secrets in the upload folder",
            "Mount a Kubernetes secret in driver and executors and name its file in `secrets_file`.",
            master=place.master,
        )


def _environment(folder: Path, place: Place, given: Mapping[str, Any], python: Mapping[str, str]) -> dict[str, str]:
    """The environment of spark-submit. In cluster mode Spark's log stays as it is: the Spark provider reads the app's id from it."""
    made = {**_inherited(os.environ), **_spark_home(), "TMPDIR": str(folder), **(given.get("env_vars") or {}), **python}
    return made if place.cluster_mode else {**made, **logs.spark_environment(made)}


def _inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The worker's environment without Airflow's own: connections, variables and keys in it are no business of a Spark app."""
    return {name: value for name, value in environment.items() if not name.startswith(("AIRFLOW_", "_AIRFLOW_"))}


def _driver_conf(place: Place, given: Mapping[str, Any], python: Mapping[str, str]) -> dict[str, str]:
    """Spark properties of the driver: its Python beside the task, the variables that the user asked for in the cluster."""
    if not place.cluster_mode:
        return {"spark.pyspark.driver.python": python["PYSPARK_DRIVER_PYTHON"]}
    prefix = "spark.kubernetes.driverEnv." if place.kubernetes else "spark.yarn.appMasterEnv."
    wanted: Mapping[str, Any] = given.get("env_vars") or {}
    return {prefix + name: str(value) for name, value in wanted.items()}


def _python(place: Place, given: Mapping[str, Any]) -> dict[str, str]:
    """Interpreters of an app whose driver runs beside the task, by the variables that name them; empty in cluster mode.

    The driver has this Python, and local executors too, unless the user names another: Spark's own default is the first `python3` on
    the PATH. A data source's planning worker starts with PYSPARK_DRIVER_PYTHON, other workers with PYSPARK_PYTHON.
    """
    if place.cluster_mode:
        return {}
    chosen: Mapping[str, Any] = {**os.environ, **(given.get("env_vars") or {})}
    conf = given.get("conf") or {}
    driver = conf.get("spark.pyspark.driver.python") or chosen.get("PYSPARK_DRIVER_PYTHON") or sys.executable
    workers = conf.get("spark.pyspark.python") or chosen.get("PYSPARK_PYTHON") or (sys.executable if place.local else None)
    return {"PYSPARK_DRIVER_PYTHON": driver, **({"PYSPARK_PYTHON": workers} if workers else {})}


def _spark_home() -> dict[str, str]:
    """Home of pip's Spark where its script beside this Python will be run: by itself that asks the first `python3` on the PATH."""
    package, submit = importlib.util.find_spec("pyspark"), shutil.which("spark-submit")
    if "SPARK_HOME" in os.environ or package is None or package.origin is None or submit is None:
        return {}
    return {"SPARK_HOME": str(Path(package.origin).parent)} if Path(submit).parent == Path(sys.executable).parent else {}


def _listed(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(part for part in (given.get(name) or "").split(",") if part)
