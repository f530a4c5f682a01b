"""Copy operators: names of their runs, checks before the start, private files."""

from __future__ import annotations

import re
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ignite_kafka.runs.names import RunNames, connector_name
from airflow_provider_ignite_kafka.spark.hook import SparkAppHook
from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, SettingsError
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import RUNNING, RunStatus
from tests.unit.airflow.bench import Bench, context, operator, run_status


def test_secrets_are_removed_even_if_the_app_cannot_be_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class StillAlive(Exception):
        pass

    def close(hook: SparkAppHook) -> None:
        close_really(hook)
        raise StillAlive

    close_really = SparkAppHook.close
    monkeypatch.setattr(SparkAppHook, "close", close)
    with pytest.raises(StillAlive):
        operator().execute(context())
    assert list((bench.folder / "tmp").iterdir()) == []


def test_snapshot_id_is_the_same_for_every_try_and_new_for_every_run() -> None:
    first, again = RunNames.of(context(1)), RunNames.of(context(2))
    assert first.snapshot_id == again.snapshot_id
    assert first.connector == again.connector
    assert first.run_id != again.run_id
    assert RunNames.of(context(run_id="manual__2025-01-02")).snapshot_id != first.snapshot_id


def test_each_mapped_task_has_its_snapshot_and_connector() -> None:
    names = [RunNames.of(context(map_index=index)) for index in (-1, 0, 1)]
    assert len({name.snapshot_id for name in names}) == len({name.connector for name in names}) == 3


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({}, 1),
        ({"name": "nightly"}, 1),
        ("nightly.properties", 1),
        ({"name": "{{ params.name }}"}, None),
        ("{{ params.file }}", None),
    ],
)
def test_runs_of_one_connector_wait_for_each_other(settings: Any, limit: int | None) -> None:
    assert operator(settings).max_active_tis_per_dag == limit
    assert operator(settings, max_active_tis_per_dag=4).max_active_tis_per_dag == 4
    assert operator(settings, default_args={"max_active_tis_per_dag": 3}).max_active_tis_per_dag == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nightly.copy", "nightly.copy"),
        ("größe.kopie", r"gro_e\.kopie-[0-9a-f]{8}"),
        ("größe.kopié", r"gro_e\.kopie-[0-9a-f]{8}"),
        ("数据.复制", r"__\.__-[0-9a-f]{8}"),
        ("a" * 250 + ".copy", r"a{160}-[0-9a-f]{8}"),
    ],
)
def test_default_name_of_any_dag_and_task_is_one_that_a_connector_may_have(name: str, expected: str) -> None:
    found = connector_name(name)
    assert re.fullmatch(expected, found)
    assert SourceSettings.from_dict({"name": found}).name == found


def test_default_names_of_different_tasks_differ() -> None:
    names = ["größe.kopie", "große.kopie", "gro_e.kopie", "größe.kopie"]  # the last in other code points, another Dag to Airflow
    assert len({connector_name(name) for name in names}) == len(set(names))


def test_a_dag_with_letters_beyond_ascii_has_a_connector(bench: Bench) -> None:
    given = context()
    given["ti"].dag_id = "größe"
    operator().execute(given)
    assert re.fullmatch(r"gro_e\.copy-[0-9a-f]{8}", bench.seen["request"]["connector"])


@pytest.mark.parametrize(
    ("error", "kind"), [(KafkaUnavailable("nobody answers"), AirflowException), (SettingsError("no"), AirflowFailException)]
)
def test_clusters_are_checked_before_spark_starts(bench: Bench, connect: Any, error: IgniteKafkaError, kind: type[Exception]) -> None:
    asked: list[bool] = []

    def check(ignite: bool) -> None:
        asked.append(ignite)
        raise error

    bench.check_clusters = check
    for extra in ({}, {"deploy-mode": "cluster"}):
        connect("spark_default", conn_type="spark", host="yarn", extra=extra)
        with pytest.raises(AirflowException, match=type(error).__name__) as failed:
            operator().execute(context())
        assert failed.type is kind
    assert asked == [True, False]  # in cluster mode the driver, not this worker, must reach Ignite
    assert not (bench.folder / "seen.json").exists()
    assert list((bench.folder / "tmp").iterdir()) == []


def test_a_retry_does_not_end_a_newer_run(bench: Bench) -> None:
    asked: list[str] = []

    def superseding(own: str) -> RunStatus:
        asked.append(own)
        return run_status(RUNNING)

    bench.superseded_by = superseding
    operator().execute(context())
    assert asked == []  # a first try takes the connector over
    with pytest.raises(AirflowException, match="has taken the connector c since this task's last try") as failed:
        operator().execute(context(try_number=2))
    assert failed.type is AirflowException
    assert asked == ["nightly/copy/manual__2025-01-01/"]
