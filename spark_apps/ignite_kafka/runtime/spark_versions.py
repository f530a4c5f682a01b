"""Checks that refuse unsupported Spark versions and sessions before anything is read."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ..errors import UnsupportedVersion

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
"""Major and minor version of the installed PySpark."""

_OLDEST = (3, 5)
_WITH_DATA_SOURCES = (4, 0)
_NO_CONNECT = "the session is one of Spark Connect, which has no RDDs and accumulators, and connectors need both"
_INSTEAD = (
    "Make the session without a remote address, or submit the app with spark-submit; serverless Spark offers neither."
)


def require_spark(master: str | None = None, environment: Mapping[str, str] = os.environ) -> None:
    """Check, before a session exists, that the installed PySpark would start a supported session.

    :param master: Spark master; None: the master in Spark's configuration.
    :raises UnsupportedVersion: PySpark is older than 3.5, or would make a session of Spark Connect.
    """
    if VERSION < _OLDEST:
        raise UnsupportedVersion(f"this is PySpark {pyspark.__version__}", "Connectors need PySpark 3.5 or newer.")
    if (master or "").startswith("sc://"):
        raise UnsupportedVersion(f"{_NO_CONNECT}, by the master {master}", _INSTEAD)
    remote = {
        "SPARK_REMOTE": bool(environment.get("SPARK_REMOTE")),
        "SPARK_API_MODE": environment.get("SPARK_API_MODE") == "connect",
    }
    for name, connects in remote.items():
        if connects:
            raise UnsupportedVersion(f"{_NO_CONNECT}, by the environment variable {name}", f"Unset it. {_INSTEAD}")


def require_session(spark: SparkSession) -> None:
    """Check that an existing Spark session can run connectors and comparisons.

    :raises UnsupportedVersion: PySpark is too old, or the session is one of Spark Connect.
    """
    require_spark(environment={})
    try:
        spark.sparkContext  # noqa: B018  # PySpark 3.5 raises a NotImplementedError, 4.0 and later an AttributeError
    except (AttributeError, NotImplementedError) as error:
        raise UnsupportedVersion(_NO_CONNECT, _INSTEAD) from error


def require_data_sources() -> None:
    """Check that PySpark is new enough for data sources in Python.

    :raises UnsupportedVersion: it has none.
    """
    if VERSION < _WITH_DATA_SOURCES:
        raise UnsupportedVersion(
            f"PySpark {pyspark.__version__} has no data sources in Python",
            "Use PySpark 4.0 or newer for them; run_connector, the apps and the operators work with 3.5, too.",
        )


def condition_of(error: PySparkException) -> str | None:
    """Return the name of a PySpark error's condition, such as JAVA_GATEWAY_EXITED, in all PySpark versions."""
    return error.getCondition() if VERSION >= (4, 0) else error.getErrorClass()
