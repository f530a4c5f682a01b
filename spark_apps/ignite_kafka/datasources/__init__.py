"""Spark data sources in Python: ``ignite``, ``kafka-tx`` and ``ignite-backlog``.

Imports source, sink and runtime; only the public face imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Register the data sources ``ignite``, ``kafka-tx`` and ``ignite-backlog`` in a Spark session.

    Their options are in docs/options.md.
    """
    from .ignite import IgniteDataSource
    from .ignite_backlog import IgniteBacklogDataSource
    from .kafka_tx import KafkaTxDataSource

    for source in (IgniteDataSource, KafkaTxDataSource, IgniteBacklogDataSource):
        spark.dataSource.register(source)
