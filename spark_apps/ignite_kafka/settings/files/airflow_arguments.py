"""Arguments of a connector's Airflow Dag and task in connector files, with their types.

Airflow itself is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from ...common.python_compat import parse_time
from ...errors import SettingsError
from ..fields import BOOLEAN, LINE, MAPPING, TEXT, TEXTS, SettingType, whole_number
from ..suggestions import did_you_mean


def _parse_time(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise ValueError("it is no text")
    return parse_time(value)


_MOMENT = SettingType("string", "a date, or a time by ISO 8601", _parse_time)
DAG: Mapping[str, SettingType] = MappingProxyType(
    {
        "schedule": LINE,
        "start_date": _MOMENT,
        "catchup": BOOLEAN,
        "description": TEXT,
        "dag_display_name": LINE,
        "tags": TEXTS,
        "max_active_runs": whole_number(1),
    }
)
"""Arguments that a connector file may give to the Airflow Dag, with their types."""
TASK: Mapping[str, SettingType] = MappingProxyType(
    {
        "retries": whole_number(0),
        "retry_delay_s": whole_number(0),
        "execution_timeout_s": whole_number(1),
        "owner": LINE,
        "pool": LINE,
        "pool_slots": whole_number(1),
        "priority_weight": whole_number(0),
        "queue": LINE,
        "ignite_conn_id": LINE,
        "kafka_conn_id": LINE,
        "registry_conn_id": LINE,
        "conn_id": LINE,
        "secrets_file": LINE,
        "ship_secrets_unprotected": BOOLEAN,
        "conf": MAPPING,
        "num_executors": whole_number(1),
        "executor_cores": whole_number(1),
        "executor_memory": LINE,
        "total_executor_cores": whole_number(1),
        "driver_memory": LINE,
        "application": LINE,
        "stop_timeout_ms": whole_number(0),
    }
)
"""Arguments that a connector file may give to the Airflow task; names that end in ``_s`` are in seconds."""


def parse_airflow_arguments(
    part: str, arguments: Mapping[str, Any], types: Mapping[str, SettingType], lines: Mapping[Any, int]
) -> dict[str, Any]:
    """Check and parse the Dag's or task's arguments in a connector file.

    :param part: ``dag`` or ``task``.
    :param lines: lines of the document by path.
    :raises SettingsError: a name is unknown (the error suggests the closest name), or a value is not allowed.
    """
    canonical: dict[str, Any] = {}
    for name, value in arguments.items():
        where: dict[str, Any] = {"setting": f"{part}.{name}", "line": lines.get((part, name))}
        if name not in types:
            raise SettingsError(
                f"{part} has no {name}", did_you_mean(name, types) or f"It has: {', '.join(types)}", **where
            )
        try:
            canonical[name] = None if value is None else types[name].parse(value)
        except ValueError as error:
            raise SettingsError(
                f"{part}.{name} is wrong: {error}", value=value, allowed=types[name].allowed, **where
            ) from error
    return canonical
