"""Number of tasks and slots of a run, from Spark's cores."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ..settings.connector import ConnectorSettings
from ..state.configs import ConnectorState

_SLOTS_A_CORE = 2  # evens out slots of unequal size
_FEWEST_SLOTS = 4
_MOST_SLOTS = 64
_ALL_EXECUTORS = 2_147_483_647  # Spark's default of the most executors


def cores(spark: SparkSession) -> int:
    """Return the cores that the Spark app has or may get by dynamic allocation."""
    context = spark.sparkContext
    conf = context.getConf()
    now = context.defaultParallelism
    if conf.get("spark.dynamicAllocation.enabled", "false") != "true":
        return now
    executors = int(conf.get("spark.dynamicAllocation.maxExecutors", str(_ALL_EXECUTORS)) or _ALL_EXECUTORS)
    of_each = int(conf.get("spark.executor.cores", "1") or 1)
    return max(now, _MOST_SLOTS if executors == _ALL_EXECUTORS else executors * of_each)


def slots(settings: ConnectorSettings, state: ConnectorState, spark_cores: int) -> int:
    """Return a connector's number of slots: the setting, else the present number, else two per core (4 to 64).

    A small machine gets few, because each slot costs a transaction (docs/decisions/0010-slots-by-cores.md). A setting
    that differs from the connector's slots is refused when the driver takes the connector.
    """
    if settings.slots is not None:
        return settings.slots
    if state.connector is not None:
        return state.connector.slots
    return min(max(_SLOTS_A_CORE * spark_cores, _FEWEST_SLOTS), _MOST_SLOTS)


def tasks(settings: ConnectorSettings, spark_cores: int) -> int:
    """Return how many Spark tasks a run may have at once: `tasks_max`, else one per core."""
    return settings.tasks_max or spark_cores
