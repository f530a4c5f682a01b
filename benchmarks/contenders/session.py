"""One Spark session, local[2], and the rounds in it: the whole copy, and reads through Spark."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession, functions

from ignite_kafka.datasources import register
from ignite_kafka.run import RunRequest, run_request, run_source
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.verification.connector import verify_connector
from ignite_kafka.verification.result import VerifyOptions
from tools.servers.jars import IGNITE_JAVA_OPTIONS, Jars

from ..tables import SINK_CACHES, SINK_TOPICS

CORES = 2


@cache
def session() -> SparkSession:
    """The Spark session, made in the first round: its start is part of a cold run."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    jars = Jars.of_checkout().ignite
    driver = [next(jars.glob(f"{name}-*.jar")) for name in ("ignite-core", "cache-api", "annotations")]
    place = Path(os.environ["BENCH_WORK"], "spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.jars": ",".join(map(str, driver)),
        "spark.driver.extraJavaOptions": " ".join([*IGNITE_JAVA_OPTIONS, f"-Dderby.system.home={place}"]),
        "spark.local.dir": str(place / "local"),
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.python.filterPushdown.enabled": "true",
    }
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("benchmarks")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def source_settings(request: Mapping[str, Any]) -> SourceSettings:
    """The default settings with the servers, the cache and the settings of the request."""
    settings = SourceSettings(
        name=request["connector"],
        cache_whitelist=(request["cache"],),
        topic_prefix=f"{request['connector']}.",
        ignite_addresses=(request["address"],),
        bootstrap_servers=request["bootstrap"],
        tasks_max=CORES,
        progress_interval_ms=2_000,
    )
    return replace(settings, **_given(request))


def _given(request: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the JSON request, with lists converted to tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in request.get("settings", {}).items()
    }


def copy(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """One run, as by `ignite-kafka run`: a snapshot under a new id, or a stream by the request's settings."""
    snapshot = f"bench-{uuid.uuid4().hex[:12]}"
    status = run_source(session(), RunRequest(source_settings(request), snapshot, snapshot))
    return {
        "entries": sum(cache.records + cache.filtered for cache in status.caches.values()),
        "bytes": sum(cache.bytes for cache in status.caches.values()),
    }


def verify(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """One comparison of a topic with its cache, as by `ignite-kafka verify`: of a sink if the request names the topic.

    :raises ValueError: they differ.
    """
    settings = sink_settings(request) if "topic" in request else source_settings(request)
    found = verify_connector(session(), settings, Secrets(), None, VerifyOptions(limit=1))
    if not found.equal:
        raise ValueError(f"a copy differs from its cache: {found.to_dict()}")
    return {"entries": sum(one.result.entries for one in found.caches)}


def sink_settings(request: Mapping[str, Any]) -> SinkSettings:
    """The default settings with the servers, the topic and the settings of the request."""
    return SinkSettings(
        name=request["connector"],
        topics=(request["topic"],),
        topic_prefix=SINK_TOPICS,
        cache_prefix=SINK_CACHES,
        process_updates=request["overwrite"],
        ignite_addresses=(request["address"],),
        bootstrap_servers=request["bootstrap"],
        tasks_max=CORES,
        progress_interval_ms=2_000,
        **_given(request),
    )


def sink(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """One run: a topic into a cache, from the offsets of the connector's group to the topic's end."""
    status = run_request(session(), RunRequest(sink_settings(request), f"bench-{uuid.uuid4().hex[:12]}"))
    return {"entries": sum(cache.records for cache in status.caches.values())}


def _ignite(request: Mapping[str, Any]) -> DataFrame:
    reader = session().read.format("ignite").option("addresses", request["address"]).option("cache", request["cache"])
    return reader.option("num_partitions", CORES).load()


def _make_every_row(frame: DataFrame) -> Mapping[str, Any]:
    """Compute every column of every row and drop it; return the number of rows."""
    counted = Observation()
    frame.observe(counted, functions.count(functions.lit(1)).alias("entries")).write.format("noop").mode(
        "overwrite"
    ).save()
    return {"entries": counted.get["entries"]}


def read_ignite(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """``spark.read.format("ignite")``, every column, two Spark partitions."""
    return _make_every_row(_ignite(request))


def read_jdbc(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """``spark.read.jdbc`` with Ignite's JDBC thin driver, every column, two Spark partitions by ranges of the column id."""
    cache = request["cache"]
    options = {
        "driver": "org.apache.ignite.IgniteJdbcThinDriver",
        "url": f"jdbc:ignite:thin://{request['address']}",
        "dbtable": f'"{cache}".{cache.upper()}',
        "partitionColumn": request["column"],
        "lowerBound": "0",
        "upperBound": str(request["rows"]),
        "numPartitions": str(CORES),
        "fetchsize": "10000",
    }
    return _make_every_row(session().read.format("jdbc").options(**options).load())


def two_sources(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The copy by the two data sources: typed columns cross the JVM, Spark SQL writes the JSON."""
    frame = _ignite(request).selectExpr("cast(_key as string) as key", "to_json(struct(* except (_key))) as value")
    writer = (
        frame.write.format("kafka-tx")
        .option("bootstrap.servers", request["bootstrap"])
        .option("topic", request["topic"])
    )
    writer.option("name", request["connector"]).mode("append").save()
    return {"entries": request["rows"]}
