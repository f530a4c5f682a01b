"""An exception of Airflow that its compatibility module lacks."""

from __future__ import annotations

try:
    from airflow.sdk.exceptions import AirflowRescheduleException
except ImportError:  # before Airflow 3.2
    from airflow.exceptions import AirflowRescheduleException  # type: ignore[no-redef, attr-defined]

__all__ = ["AirflowRescheduleException"]
