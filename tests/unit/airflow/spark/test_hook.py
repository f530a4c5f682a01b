"""SparkAppHook on top of the Spark provider's hook: masters of connections, and no state of the base class written."""

from __future__ import annotations

import ast
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_provider_ignite_kafka.spark import hook as spark_app
from airflow_provider_ignite_kafka.spark.hook import spark_master
from airflow_provider_ignite_kafka.spark.submission import SparkMaster
from ignite_kafka.errors import SettingsError


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


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    def version(name: str) -> str:
        try:
            return versions[name.replace("-", "_")]
        except KeyError:
            raise metadata.PackageNotFoundError(name) from None

    monkeypatch.setattr(metadata, "version", version)


def test_two_versions_of_pyspark_are_refused_where_their_spark_submit_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connect: Any
) -> None:
    connect("spark_default", conn_type="spark", host="local[2]")
    own, other = (tmp_path / place / "spark-submit" for place in ("prefix/bin", "spark/bin"))
    for path in (own, other):
        path.parent.mkdir(parents=True)
        path.touch(0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    installed(monkeypatch, pyspark="3.5.9", pyspark_client="4.2.0")
    with pytest.raises(SettingsError, match=r"pyspark 3\.5\.9 and pyspark-client 4\.2\.0 have overwritten"):
        spark_master({"conn_id": "spark_default", "spark_binary": str(own)})
    spark_master({"conn_id": "spark_default", "spark_binary": str(other)})
    for fine in ({"pyspark": "3.5.9"}, {"pyspark": "4.2.0", "pyspark_client": "4.2.0"}):
        installed(monkeypatch, **fine)
        spark_master({"conn_id": "spark_default", "spark_binary": str(own)})
