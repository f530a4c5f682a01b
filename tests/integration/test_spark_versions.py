"""Sessions of Spark that cannot run connectors."""

from __future__ import annotations

import os
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
    free_port = {**os.environ, "SPARK_TESTING": "1"}  # PySpark's server of Spark Connect takes port 15002 otherwise
    ended = subprocess.run([sys.executable, "-c", CONNECT], capture_output=True, text=True, timeout=DEADLINE_S, env=free_port)
    assert "UnsupportedVersion: the session is one of Spark Connect" in ended.stderr
