"""Names of PySpark's data source API, with substitutes in older versions.

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
"""Whether this PySpark version tells readers of streams where a batch begins."""

push_filters: Any = getattr(DataSourceReader, "pushFilters", None)
"""Method of the base class that takes filters; None if this version lacks it."""

if push_filters is not None:
    from pyspark.sql.datasource import EqualTo, Filter, In
else:
    EqualTo = Filter = In = object  # type: ignore[misc, assignment]  # this version gives readers no filters


def arrow_schema(schema: StructType) -> pa.Schema:
    """Convert a Spark schema to an Arrow schema, with timestamps in UTC, in all PySpark versions.

    :raises PySparkTypeError: a type has no Arrow type.
    """
    if VERSION >= (4, 2):
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)  # UTC is the default of this version
