"""Links from runs to the Airflow tasks that started them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LEAST_PARTS = 4  # Dag, task, Dag run, UUID


@dataclass(frozen=True)
class TaskOfRun:
    """Airflow task instance that started a run, parsed from the run id; it may have been deleted."""

    dag_id: str
    task_id: str
    dag_run_id: str
    map_index: int = -1

    @staticmethod
    def of(run_id: str) -> TaskOfRun | None:
        """Parse the task from a run id made by :class:`~airflow_provider_ignite_kafka.runs.names.RunNames`.

        Return None for any other id.
        """
        parts = run_id.split("/")
        if len(parts) < _LEAST_PARTS or not _UUID.fullmatch(parts[-1]) or not all(parts):
            return None
        dag_id, task_id, *rest = parts[:-1]
        mapped = len(rest) > 1 and rest[-1].isdecimal()
        return TaskOfRun(dag_id, task_id, "/".join(rest[:-1] if mapped else rest), int(rest[-1]) if mapped else -1)

    @property
    def path(self) -> str:
        """Path of the task instance in Airflow's web UI, below the UI's base URL."""
        dag_id, dag_run_id, task_id = (quote(part, safe="") for part in (self.dag_id, self.dag_run_id, self.task_id))
        mapped = f"/mapped/{self.map_index}" if self.map_index >= 0 else ""
        return f"/dags/{dag_id}/runs/{dag_run_id}/tasks/{task_id}{mapped}"
