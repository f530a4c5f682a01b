"""Sessions of Spark that cannot run connectors."""

from __future__ import annotations

import subprocess
import sys

from tests.support.waiting import DEADLINE_S

CONNECT = """
from pyspark.sql import SparkSession
import ignite_kafka

settings = ignite_kafka.SourceSettings(name="n", cache_whitelist=("c",))
spark = SparkSession.builder.remote("local[1]").getOrCreate()
try:
    ignite_kafka.run_connector(spark, settings)
finally:
    spark.stop()
"""


def test_a_session_of_spark_connect_is_refused() -> None:
    ended = subprocess.run([sys.executable, "-c", CONNECT], capture_output=True, text=True, timeout=DEADLINE_S)
    assert "UnsupportedVersion: the session is one of Spark Connect" in ended.stderr
