"""Names of a task's run."""

from __future__ import annotations

from airflow_provider_ignite_kafka.runs.names import RunNames
from tests.unit.airflow.bench import context


def test_tries_share_connector_and_snapshot_and_each_has_a_run_of_its_own() -> None:
    first, second = RunNames.of(context()), RunNames.of(context(try_number=2))
    assert (
        (first.connector, first.snapshot_id)
        == (second.connector, second.snapshot_id)
        == ("nightly.copy", "nightly/copy/manual__2025-01-01")
    )
    assert first.run_id != second.run_id
    assert all(names.run_id.startswith(f"{names.snapshot_id}/") for names in (first, second))


def test_a_mapped_task_has_names_of_its_own() -> None:
    assert RunNames.of(context(map_index=3)).connector == "nightly.copy.3"
