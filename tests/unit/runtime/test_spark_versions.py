"""Versions of Spark that are refused by name."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import ignite_kafka
from ignite_kafka.errors import UnsupportedVersion
from ignite_kafka.runtime import spark_versions


def test_data_sources_need_pyspark_4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_versions, "VERSION", (3, 5))
    with pytest.raises(UnsupportedVersion, match="has no data sources in Python"):
        ignite_kafka.register(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [(3, 4), (2, 4)])
def test_connectors_need_pyspark_3_5(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]) -> None:
    monkeypatch.setattr(spark_versions, "VERSION", version)
    with pytest.raises(UnsupportedVersion, match=r"need PySpark 3\.5"):
        ignite_kafka.run_connector(SparkSession.__new__(SparkSession), ignite_kafka.SourceSettings(name="n", cache_whitelist=("c",)))
