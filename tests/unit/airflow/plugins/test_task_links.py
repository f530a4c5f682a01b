"""Tasks that are found in the run ids that operators make, and in no others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from airflow_provider_ignite_kafka.plugins.task_links import TaskOfRun
from airflow_provider_ignite_kafka.runs.names import RunNames


@pytest.mark.parametrize("map_index", [-1, 0, 12])
@pytest.mark.parametrize("dag_run_id", ["manual__2026-01-01T00:00:00+00:00", "a/b", "7"])
def test_a_run_id_of_an_operator_leads_to_its_task(dag_run_id: str, map_index: int) -> None:
    task = SimpleNamespace(dag_id="nightly", task_id="group.copy", run_id=dag_run_id, map_index=map_index)
    names = RunNames.of(cast(Any, {"ti": task}))
    assert TaskOfRun.of(names.run_id) == TaskOfRun("nightly", "group.copy", dag_run_id, map_index)


@pytest.mark.parametrize("run_id", ["", "r1", "20260101T000000-abc", "a/b/c", "a/b/c/d", "a//c/0f8fad5b-d9cb-469f-a165-70867728950e"])
def test_any_other_run_id_leads_nowhere(run_id: str) -> None:
    assert TaskOfRun.of(run_id) is None


def test_ids_are_quoted_in_the_path() -> None:
    path = TaskOfRun("d", "t", "manual__1+00:00/x?y", 3).path
    assert path == "/dags/d/runs/manual__1%2B00%3A00%2Fx%3Fy/tasks/t/mapped/3"
