"""A sink with a topic and a cache of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.sink_connector import Sink
from tools.servers import IgniteCluster, KafkaBroker


@pytest.fixture
def sink(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[Sink]:
    made = Sink(spark, ignite, kafka)
    yield made
    with ignite.client() as client:
        for name in client.get_cache_names():
            if name.startswith(made.cache):
                client.get_cache(name).destroy()
