"""Arguments and environment of spark-submit, by master and deploy mode."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException

from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator
from airflow_provider_ignite_kafka.runs.names import RunNames
from airflow_provider_ignite_kafka.spark.app_paths import app_path
from airflow_provider_ignite_kafka.spark.submission import SparkMaster, build_submission
from ignite_kafka.errors import SettingsError
from tests.unit.airflow.bench import Bench, context, operator


def test_app_is_submitted_with_its_library_and_its_python(bench: Bench) -> None:
    operator(num_executors=3, executor_memory="2g", conf={"spark.ui.enabled": "false"}).execute(context())
    argv = bench.seen["argv"]
    assert argv[argv.index("--master") + 1] == "local[2]"
    assert argv[argv.index("--num-executors") + 1] == "3"
    assert argv[argv.index("--executor-memory") + 1] == "2g"
    assert "spark.ui.enabled=false" in argv
    assert str(app_path("ignite_to_kafka.py")) in argv
    assert bench.seen["shipped"] == ["ignite_kafka.zip"]
    environment = bench.seen["environment"]
    assert environment.pop("SPARK_SUBMIT_OPTS").endswith("/ignite_kafka/runtime/log4j2.properties"), (
        "the task's log is not Spark's INFO lines"
    )
    assert environment == {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


@pytest.mark.parametrize(("master", "remedy"), [("spark://m:7077", "deploy-mode .* to client"), ("k8s://https://m", "cncf-kubernetes")])
def test_masters_that_cannot_run_the_app_are_refused(bench: Bench, connect: Any, master: str, remedy: str) -> None:
    connect("spark_default", conn_type="spark", host=master, extra={"deploy-mode": "cluster"})
    with pytest.raises(AirflowFailException, match=remedy):
        operator().execute(context())


def test_kubernetes_gets_no_secrets_by_upload(bench: Bench) -> None:
    request = operator()._request(RunNames.of(context()))
    with pytest.raises(SettingsError, match="secrets_file"):
        build_submission(request, bench.folder, SparkMaster("k8s://https://m", cluster_mode=True), {})
    mounted = replace(request, secrets_file=Path("/mnt/secrets.json"))
    given = build_submission(mounted, bench.folder, SparkMaster("k8s://https://m", cluster_mode=True), {"env_vars": {"MY_ZONE": "a"}})
    assert given.application_args == ("--request", "request.json", "--mounted-secrets", "/mnt/secrets.json")
    assert [Path(path).name for path in given.files] == ["request.json"]
    assert given.conf == {"spark.kubernetes.driverEnv.MY_ZONE": "a", "spark.kubernetes.submission.waitAppCompletion": "false"}


def test_a_missing_spark_connection_is_an_error(bench: Bench) -> None:
    with pytest.raises(AirflowNotFoundException):
        operator(conn_id="nowhere").execute(context())


@pytest.mark.parametrize(
    ("master", "name"),
    [("yarn", "spark.yarn.submit.waitAppCompletion"), ("k8s://https://m", "spark.kubernetes.submission.waitAppCompletion")],
)
def test_spark_submit_never_waits_for_an_app_in_a_cluster(bench: Bench, master: str, name: str) -> None:
    request = replace(operator()._request(RunNames.of(context())), secrets_file=Path("/mnt/secrets.json"))
    given = {"conf": {name: "true"}}
    assert build_submission(request, bench.folder, SparkMaster(master, cluster_mode=True), given).conf[name] == "false"
    assert build_submission(request, bench.folder, SparkMaster(master), given).conf[name] == "true"


@pytest.mark.parametrize("name", ["numexecutors", "application_args", "conf", "yarn_track_via_rm_api"])
def test_unknown_arguments_of_spark_submit_are_refused_when_the_dag_is_parsed(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        operator(spark_submit={name: "x"})


@pytest.mark.parametrize(
    ("rendered", "message"),
    [
        ({"application_args": ["--x"]}, "has 'application_args'"),
        ({"conn_id": "other"}, "has 'conn_id'"),
        ("--conf spark.jars=x", "must be a mapping"),
    ],
)
def test_arguments_of_spark_submit_are_checked_again_when_rendered(bench: Bench, rendered: Any, message: str) -> None:
    task = operator(spark_submit="{{ params.spark_submit }}")
    rendering: Any = {**context(), "params": {"spark_submit": "x"}}
    task.render_template_fields(rendering)
    task.spark_submit = rendered  # as a Dag with render_template_as_native_obj has it
    with pytest.raises(AirflowFailException, match=f"spark_submit {message}"):
        task.execute(context())
    assert not (bench.folder / "seen.json").exists()


def test_shipping_unprotected_secrets_is_an_argument_of_the_dag(bench: Bench) -> None:
    operator().execute(context())
    assert "--ship-secrets-unprotected" not in bench.seen["argv"]
    operator(ship_secrets_unprotected=True).execute(context())
    assert "--ship-secrets-unprotected" in bench.seen["argv"]
    assert "ship_secrets_unprotected" not in IgniteToKafkaOperator.template_fields  # a parameter of a run cannot set it


def test_yarn_cluster_mode_ships_request_and_secrets(bench: Bench, connect: Any) -> None:
    connect("spark_default", conn_type="spark", host="yarn", extra={"deploy-mode": "cluster"})
    operator(spark_submit={"files": "/etc/krb5.conf", "archives": "env.tar.gz#env", "env_vars": {"MY_ZONE": "a"}}).execute(context())
    argv = bench.seen["argv"]
    assert argv[argv.index("--request") + 1] == "request.json"
    assert argv[argv.index("--secrets") + 1] == "secrets.json"
    assert bench.seen["shipped"] == ["ignite_kafka.zip", "krb5.conf", "request.json", "secrets.json"]
    assert bench.seen["environment"] == {"MY_ZONE": "a"}
    assert "spark.yarn.appMasterEnv.MY_ZONE=a" in argv


def test_variables_of_airflow_are_not_passed_to_the_app(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://user:sesame@db/airflow")
    operator(spark_submit={"env_vars": {"MY_ZONE": "a"}}).execute(context())
    assert sorted(bench.seen["environment"]) == ["MY_ZONE", "PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON", "SPARK_SUBMIT_OPTS"]


@pytest.mark.parametrize(
    ("master", "conf", "expected"),
    [
        ("local[2]", {}, (sys.executable, sys.executable)),
        ("spark://m:7077", {}, (sys.executable, None)),
        ("spark://m:7077", {"spark.pyspark.python": "/opt/bin/python"}, (sys.executable, "/opt/bin/python")),
        (
            "yarn",
            {"spark.pyspark.python": "./env/bin/python", "spark.pyspark.driver.python": "/usr/bin/p"},
            ("/usr/bin/p", "./env/bin/python"),
        ),
    ],
)
def test_a_driver_on_the_worker_has_the_worker_s_python(
    bench: Bench, connect: Any, master: str, conf: dict[str, str], expected: tuple[str, str | None]
) -> None:
    connect("spark_default", conn_type="spark", host=master)
    operator(conf=conf).execute(context())
    driver, workers = expected
    environment, argv = bench.seen["environment"], bench.seen["argv"]
    assert (environment["PYSPARK_DRIVER_PYTHON"], environment.get("PYSPARK_PYTHON")) == (driver, workers)
    assert f"spark.pyspark.driver.python={driver}" in argv
