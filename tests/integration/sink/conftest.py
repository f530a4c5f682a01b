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
    ignite.destroy_caches(made.cache)
