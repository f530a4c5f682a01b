"""Copies by an app that another program than the provider submits: only files of `package_app`, in a process that outlives its task."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, get_current_context, task

from airflow_provider_ignite_kafka.sensors.connector_run import ConnectorRunSensor
from airflow_provider_ignite_kafka.spark.app_package import package_app

PARAMS = {name: Param("", type="string") for name in ("name", "cache", "folder", "secrets_file", "home")}


@task
def package() -> dict[str, Any]:
    """Write the app's files."""
    params = get_current_context()["params"]
    settings = {"name": params["name"], "cache_whitelist": [params["cache"]], "topic_prefix": f"{params['name']}-", "slots": 2}
    return package_app(settings, params["folder"], direction="source", secrets_file=params["secrets_file"]).to_dict()


@task
def submit(app: dict[str, Any]) -> None:
    """Start spark-submit as a cluster does: without the checkout on the path, in a folder of its own, in a session of its own."""
    import pyspark

    home = Path(get_current_context()["params"]["home"])
    program = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    conf = [part for name, value in app["conf"].items() for part in ("--conf", f"{name}={value}")]
    command = [program, "--master", "local[2]", "--driver-memory", "512m", *conf, app["application"], *app["arguments"]]
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME") and "AIRFLOW" not in name}
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    with (home / "driver.log").open("ab") as log:
        driver = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=home, env={**kept, **python}, start_new_session=True
        )
    (home / "pid").write_text(str(driver.pid))


for dag_id, deferrable in (("submitted_elsewhere", False), ("submitted_elsewhere_deferred", True)):
    with DAG(dag_id, schedule=None, params=PARAMS) as dag:
        packaged = package()
        submit(packaged) >> ConnectorRunSensor(  # type: ignore[arg-type]  # the task gets its value
            task_id="follow", run="{{ ti.xcom_pull('package')['run'] | tojson }}", deferrable=deferrable, poke_interval=1
        )
    globals()[dag_id] = dag
