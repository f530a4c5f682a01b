"""Spark data sources in Python: ``ignite``, ``kafka-tx`` and ``ignite-backlog``.

Imports source, sink and runtime; only the package's public interface imports it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..runtime.spark_versions import require_data_sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

log = logging.getLogger(__name__)


def register(spark: SparkSession) -> None:
    """Register the data sources ``ignite``, ``kafka-tx`` and ``ignite-backlog`` in a Spark session.

    Their options are in docs/options.md. PySpark before 4.2 cannot read streams as ``ignite-backlog`` needs, so
    there this source is left out.

    :raises UnsupportedVersion: PySpark is older than 4.0.
    """
    require_data_sources()
    from .ignite import IgniteDataSource
    from .kafka_tx import KafkaTxDataSource
    from .spark_api import STREAMS_FROM_START

    spark.dataSource.register(IgniteDataSource)
    spark.dataSource.register(KafkaTxDataSource)
    if not STREAMS_FROM_START:
        log.warning(
            "the data source ignite-backlog is not registered, because it needs PySpark 4.2; ignite and kafka-tx are"
        )
        return
    from .ignite_backlog import IgniteBacklogDataSource

    spark.dataSource.register(IgniteBacklogDataSource)
