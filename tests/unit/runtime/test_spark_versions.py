"""Versions of Spark that are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

import ignite_kafka
from ignite_kafka import app, preflight, verify_app
from ignite_kafka.cli import local_run
from ignite_kafka.cli import main as cli
from ignite_kafka.errors import UnsupportedVersion
from ignite_kafka.runtime import spark_versions
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.verification import connector


def test_data_sources_need_pyspark_4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_versions, "VERSION", (3, 5))
    with pytest.raises(UnsupportedVersion, match="has no data sources in Python"):
        ignite_kafka.register(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [(3, 4), (2, 4)])
def test_connectors_need_pyspark_3_5(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]) -> None:
    monkeypatch.setattr(spark_versions, "VERSION", version)
    with pytest.raises(UnsupportedVersion, match=r"need PySpark 3\.5"):
        ignite_kafka.run_connector(SparkSession.__new__(SparkSession), ignite_kafka.SourceSettings(name="n", cache_whitelist=("c",)))


@pytest.mark.parametrize(
    ("master", "variable", "value"),
    [
        ("sc://localhost:15002", "SPARK_LOCAL_IP", "127.0.0.1"),
        ("local[1]", "SPARK_REMOTE", "sc://h"),
        ("local[1]", "SPARK_API_MODE", "connect"),
    ],
)
def test_the_command_refuses_spark_connect_before_it_asks_a_cluster(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    master: str,
    variable: str,
    value: str,
) -> None:
    (tmp_path / "c.json").write_text('{"name": "c"}')
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(local_run, "preflight", lambda *_: pytest.fail("clusters were asked"))
    assert cli.main(["run", str(tmp_path / "c.json"), "--master", master]) == 2
    assert "UnsupportedVersion the session is one of Spark Connect" in capsys.readouterr().err.splitlines()[-1]


def test_the_apps_refuse_spark_connect_before_they_ask_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request = tmp_path / "request.json"
    request.write_text('{"connector": "c", "run_id": "r", "settings": {"cache_whitelist": ["a"]}}')
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    monkeypatch.setattr(preflight, "preflight", lambda *_: pytest.fail("clusters were asked"))
    monkeypatch.setattr(connector, "check_connector", lambda *_: pytest.fail("clusters were asked"))
    assert app.main(["--request", str(request)], SourceSettings, lambda *_: pytest.fail("the run began")) == 2
    assert verify_app.main(["--request", str(request), "--direction", "source"]) == 2
    assert capsys.readouterr().err.count("UnsupportedVersion") >= 2


@pytest.mark.parametrize(("version", "method"), [((3, 5), "getErrorClass"), ((4, 0), "getCondition")])
def test_conditions_of_errors_have_a_method_by_version(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], method: str) -> None:
    class Error:
        """An error of that version, without the method of the other."""

    setattr(Error, method, lambda self: "JAVA_GATEWAY_EXITED")
    monkeypatch.setattr(spark_versions, "VERSION", version)
    assert spark_versions.condition_of(cast(Any, Error())) == "JAVA_GATEWAY_EXITED"
