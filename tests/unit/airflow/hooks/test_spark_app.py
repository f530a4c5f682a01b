"""SparkAppHook on top of the Spark provider's hook: masters of connections, and no state of the base class written."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_provider_ignite_kafka.hooks import spark_app
from airflow_provider_ignite_kafka.hooks.spark_app import spark_master
from airflow_provider_ignite_kafka.spark.submission import SparkMaster


@pytest.mark.parametrize(
    ("connection", "arguments", "master"),
    [
        ({"conn_type": "spark", "host": "local[2]"}, {}, SparkMaster("local[2]")),
        ({"conn_type": "spark", "host": "spark://m", "port": 7077}, {}, SparkMaster("spark://m:7077")),
        ({"conn_type": "spark", "host": "yarn"}, {}, SparkMaster("yarn")),
        ({"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}, {}, SparkMaster("yarn", cluster_mode=True)),
        ({"conn_type": "spark", "host": "yarn"}, {"deploy_mode": "cluster"}, SparkMaster("yarn", cluster_mode=True)),
    ],
)
def test_master_of_a_connection(connect: Any, connection: dict[str, Any], arguments: dict[str, Any], master: SparkMaster) -> None:
    connect("spark_default", **connection)
    assert spark_master({"conn_id": "spark_default", **arguments}) == master


def test_a_missing_connection_is_an_error_and_not_yarn() -> None:
    with pytest.raises(AirflowNotFoundException):
        spark_master({"conn_id": "nowhere"})


def test_no_attribute_of_the_base_class_is_assigned(connect: Any) -> None:
    connect("spark_default", conn_type="spark", host="local[2]")
    of_base = set(vars(SparkSubmitHook(conn_id="spark_default"))) | set(dir(SparkSubmitHook))
    tree = ast.parse(Path(spark_app.__file__).read_text())
    assigned = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    assert assigned
    assert assigned & of_base == set()
