"""Copies Apache Ignite caches to Kafka topics and topics to caches, on Spark.

A PySpark user needs this module alone:

>>> import ignite_kafka
>>> settings = ignite_kafka.SourceSettings(name="nightly", cache_whitelist=("trades",), topic_prefix="ignite.")
>>> status = ignite_kafka.run_connector(spark, settings)  # doctest: +SKIP
>>> status.state  # doctest: +SKIP
'COMPLETED'
>>> ignite_kafka.register(spark)  # doctest: +SKIP
>>> trades = spark.read.format("ignite").option("cache", "trades").load()  # doctest: +SKIP

Names are imported when they are first used: a Dag file that imports :mod:`ignite_kafka.settings` loads neither PySpark
nor Arrow.

Each folder imports only folders below it; docs/house.md shows them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .common.user_functions import filter_function, transform_function
    from .datasources import register
    from .errors import Fenced, IgniteKafkaError, OutcomeUnknown, SettingsError
    from .run import run_connector
    from .settings.sink import SinkSettings
    from .settings.source import SourceSettings
    from .state.status import RunStatus

__all__ = [
    "Fenced",
    "IgniteKafkaError",
    "OutcomeUnknown",
    "RunStatus",
    "SettingsError",
    "SinkSettings",
    "SourceSettings",
    "filter_function",
    "register",
    "run_connector",
    "transform_function",
]

_MODULES = {
    "Fenced": ".errors",
    "IgniteKafkaError": ".errors",
    "OutcomeUnknown": ".errors",
    "RunStatus": ".state.status",
    "SettingsError": ".errors",
    "SinkSettings": ".settings.sink",
    "SourceSettings": ".settings.source",
    "filter_function": ".common.user_functions",
    "register": ".datasources",
    "run_connector": ".run",
    "transform_function": ".common.user_functions",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
