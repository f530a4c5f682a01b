"""What Airflow learns of a run of an operator: asset events and lineage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk import Asset, AssetAlias

from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.state.status import COMPLETED, FAILED, STOPPED, RunStatus
from tests.unit.airflow.bench import Bench, context, operator, run_status, sink

ALIAS, TOPIC = AssetAlias("copies"), Asset(uri="kafka://broker:9092/t-flights")


def events(task: Any) -> list[tuple[str, int]]:
    """URI and records of the events of a task that is executed."""
    given = context()
    try:
        task.execute(given)
    finally:
        accessors = given["outlet_events"]
    aliased = [(event.dest_asset_key.uri, event.extra["records"]) for event in accessors[ALIAS].asset_alias_events]
    return aliased + [(asset.uri, accessors[asset].extra["records"]) for asset in accessors if isinstance(asset, Asset)]


def test_copy_emits_events_with_its_counts(bench: Bench) -> None:
    assert events(operator(outlets=[ALIAS, TOPIC])) == [(TOPIC.uri, 10), (TOPIC.uri, 10)]
    given = context()
    operator(outlets=[TOPIC]).execute(given)
    counts = {"cache": "flights", "topic": "t-flights", "records": 10, "bytes": 1000, "skipped": 0}
    assert given["outlet_events"][TOPIC].extra == {"connector": "c", "run_id": "r", "snapshot_id": "s", "state": COMPLETED, **counts}


def test_sink_emits_events_of_caches(bench: Bench) -> None:
    assert events(sink(outlets=[ALIAS])) == [("ignite://node:10800/flights", 10)]


def test_stream_that_was_stopped_emits_events(bench: Bench) -> None:
    bench.status = lambda: run_status(STOPPED)
    assert events(operator(run_mode="continuous", outlets=[ALIAS])) == [(TOPIC.uri, 10)]


def test_task_that_is_cleared_after_its_success_emits_none(bench: Bench) -> None:
    bench.status = lambda: replace(run_status(COMPLETED), already_complete=True)
    assert events(operator(outlets=[ALIAS])) == []


@pytest.mark.parametrize("status", [run_status(FAILED, KafkaUnavailable("gone")), run_status(STOPPED), None])
def test_failed_run_emits_nothing(bench: Bench, status: RunStatus | None) -> None:
    bench.status = lambda: status
    given = context()
    with pytest.raises(AirflowException):
        operator(outlets=[ALIAS, TOPIC]).execute(given)
    assert len(given["outlet_events"]) == 0
