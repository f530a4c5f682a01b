"""Names of PySpark's API of data sources that its older versions lack.

========== ====================================================================================================
PySpark    what it lacks
========== ====================================================================================================
4.1        streams whose reader is told where a batch begins (``latestOffset(start, limit)``): no source
           ``ignite-backlog``
4.0        that, and filters that a reader takes: Spark evaluates all conditions on the rows of the whole cache
3.5        data sources in Python
========== ====================================================================================================

Source: ``pyspark/sql/datasource.py``, ``pyspark/sql/streaming/datasource.py`` and ``pyspark/sql/pandas/types.py`` of
these versions.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ..runtime.spark_versions import VERSION

__all__ = ["STREAMS_FROM_START", "EqualTo", "Filter", "In", "arrow_schema", "push_filters"]

STREAMS_FROM_START = VERSION >= (4, 2)
"""Whether readers of streams are told where a batch begins."""

push_filters: Any = getattr(DataSourceReader, "pushFilters", None)
"""The method of the base class that takes filters; None: this version has none."""

if push_filters is not None:
    from pyspark.sql.datasource import EqualTo, Filter, In
else:
    EqualTo = Filter = In = object  # type: ignore[misc, assignment]  # no reader is given any


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of rows of a Spark schema; timestamps are in UTC.

    :raises PySparkTypeError: a type has no Arrow type.
    """
    if VERSION >= (4, 2):
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)  # UTC is its default
