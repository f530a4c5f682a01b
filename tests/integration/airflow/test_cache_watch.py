"""Sensor, trigger and asset watcher on a real cluster, run by Airflow's own processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

from airflow_provider_ignite_kafka.triggers.cache_watch import IgniteCacheWatchTrigger
from ignite_kafka.common.python_compat import UTC
from tests.integration.airflow.conftest import Secured
from tests.support.airflow_home import AirflowHome
from tests.support.oracle import read_committed
from tests.support.processes import ManagedProcess, output_tail
from tests.support.waiting import wait_until

DAG_ID = "watch_caches"
ASSET_DAG = "ignite_cache_watch_asset"
BOTH = 2  # assets of the tests' Dag, which share one trigger


def make(secured: Secured, *names: str) -> None:
    with secured.ignite.client() as client:
        for name in names:
            client.create_cache(name).put_all({key: f"{name} {key}" for key in range(10)})


def destroy(secured: Secured, *names: str) -> None:
    with secured.ignite.client() as client:
        for name in names:
            client.get_cache(name).destroy()


def test_trigger_sees_what_a_cluster_does(secured: Secured, monkeypatch: pytest.MonkeyPatch, unique: Callable[[str], str]) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SECURED", json.dumps(secured.connections()["ignite_default"]))
    stem = unique("seen")
    table = f"TABLE_{stem[-8:]}".upper()

    def fired_by(known: dict[str, Any] | None) -> dict[str, Any]:
        lists = {"cache_whitelist": [f"{stem}.*", f"SQL_PUBLIC_{table}"], "poll_interval": 0.1}
        trigger = IgniteCacheWatchTrigger(ignite_conn_id="secured", known=known, once=True, **lists)  # type: ignore[arg-type]

        async def first() -> dict[str, Any]:
            return (await asyncio.wait_for(anext(aiter(trigger.run())), 120)).payload

        return asyncio.run(first())

    first = fired_by(None)
    assert (first["created"], first["state"]) == ([], {})
    make(secured, stem)
    with secured.ignite.client() as client:
        client.sql(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, city VARCHAR)")
    came = fired_by(first["state"])
    assert came["created"] == sorted([stem, f"SQL_PUBLIC_{table}"])
    with secured.ignite.client() as client:
        client.sql(f"DROP TABLE {table}")
        client.sql(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, city VARCHAR)")
    again = fired_by(came["state"])
    assert (again["created"], again["destroyed"], again["changed"]) == ([f"SQL_PUBLIC_{table}"], [f"SQL_PUBLIC_{table}"], {})
    destroy(secured, stem)
    assert fired_by(again["state"])["destroyed"] == [stem]


def test_new_cache_is_copied_and_the_next_run_begins_where_this_one_ended(
    secured: Secured, airflow: AirflowHome, unique: Callable[[str], str]
) -> None:
    old, new, later = "watched-old", "watched-n.w", "watched-later"
    prefix = unique("watched")
    make(secured, old)
    process = airflow.start(DAG_ID, {"topic_prefix": prefix})
    try:
        wait_until(lambda: "running trigger in line" in process.output(), "deferral of the sensor")
        make(secured, new)
        process.wait()
    finally:
        process.stop()
    seen, copied = (airflow.results(DAG_ID)[index] for index in (0, -1))
    assert (seen["created"], seen["cache_whitelist"]) == ([new], [r"watched\-n\.w"]), process.output_tail()
    assert copied["caches"].keys() == {new}
    assert len(read_committed(secured.kafka.client_config, prefix + new).counts()) == 10

    make(secured, later)
    output = airflow.run(DAG_ID, {"topic_prefix": prefix, "copy": False})
    assert "running trigger in line" not in output
    assert f"Caches created: {later}" in output, output_tail(output)


def test_asset_dag_copies_what_events_left_over_once_and_skips_a_run_by_hand(secured: Secured, airflow: AirflowHome) -> None:
    """Events that no run got, because Airflow drops those that are fired while a run is queued."""
    made = ["left-one", "left-two"]
    make(secured, *made)
    command(airflow, "dags", "reserialize")
    output = airflow.run(ASSET_DAG)
    assert states_of_newest_run(airflow) == {"new_caches": "skipped", "copy": "skipped", "copied": "skipped"}, output_tail(output)

    for name in made:
        payload = json.dumps({"from_trigger": True, "payload": {"cache_whitelist": [name]}})
        event = "insert into asset_event (asset_id, extra, source_map_index, timestamp) select id, ?, -1, ? from asset where name = ?"
        airflow.query(event, payload, datetime.now(UTC).isoformat(sep=" "), "ignite_new_caches")
    output = airflow.run(ASSET_DAG)
    assert states_of_newest_run(airflow) == {"new_caches": "success", "copy": "success", "copied": "success"}, output_tail(output)
    assert {name: len(read_committed(secured.kafka.client_config, f"new-{name}").counts()) for name in made} == dict.fromkeys(made, 10)

    output = airflow.run(ASSET_DAG)
    assert states_of_newest_run(airflow)["copy"] == "skipped", output_tail(output)


def states_of_newest_run(airflow: AirflowHome) -> dict[str, str]:
    newest = "select run_id from dag_run where dag_id = ? order by id desc limit 1"
    return dict(airflow.query(f"select task_id, state from task_instance where dag_id = ? and run_id = ({newest})", ASSET_DAG, ASSET_DAG))


@pytest.mark.long("test_new_cache_is_copied_and_the_next_run_begins_where_this_one_ended")
def test_killed_triggerer_loses_no_event_and_repeats_none(secured: Secured, airflow: AirflowHome) -> None:
    make(secured, "asset-old")
    command(airflow, "dags", "reserialize")
    command(airflow, "scheduler", "--num-runs", "2")
    command(airflow, "dags", "reserialize")  # gives the asset, which the scheduler has activated, its trigger
    with triggerer(airflow):
        wait_until(lambda: len(stored(airflow)) == BOTH, "first poll")
        make(secured, "asset-one")
        wait_until(lambda: len(events(airflow)) == 1, "first event")
        wait_until(lambda: str(stored(airflow)).count("asset-one") >= BOTH, "state after the first event")
    make(secured, "asset-two")
    destroy(secured, "asset-old")
    with triggerer(airflow):
        wait_until(lambda: len(events(airflow)) > 1, "second event")
        make(secured, "asset-three")
        wait_until(lambda: len(events(airflow)) > 2, "third event")
    fired = [(event["created"], event["destroyed"]) for event in events(airflow)]
    assert events(airflow, "watched-too") == events(airflow)
    assert fired == [(["asset-one"], []), (["asset-two"], ["asset-old"]), (["asset-three"], [])]
    assert secured.passwords[0] not in str(airflow.query("select * from trigger")) + str(airflow.query("select * from asset_event"))


def command(airflow: AirflowHome, *arguments: str) -> None:
    process = started(airflow, *arguments)
    try:
        assert process.wait() == 0, process.output_tail()
    finally:
        process.stop()


def started(airflow: AirflowHome, *arguments: str) -> ManagedProcess:
    airflow.runs += 1
    quick = {
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "3",
        "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
        "AIRFLOW__CORE__PARALLELISM": "1",
    }
    log = airflow.folder / f"run-{airflow.runs}.log"
    return ManagedProcess([airflow.python, "-m", "airflow", *arguments], log, {**airflow.env(), **quick}, airflow.folder)


@contextmanager
def triggerer(airflow: AirflowHome) -> Iterator[ManagedProcess]:
    """A triggerer, which is killed with its processes by kill -9 at the end."""
    process = started(airflow, "triggerer", "--skip-serve-logs")
    try:
        yield process
    except AssertionError as error:
        raise AssertionError(process.output_tail()) from error
    finally:
        process.kill()
        process.stop()


def stored(airflow: AirflowHome) -> list[Any]:
    return airflow.query("select value from asset_state_store")


def events(airflow: AirflowHome, asset: str = "watched") -> list[dict[str, Any]]:
    of_asset = "select extra from asset_event where asset_id = (select id from asset where name = ?) order by id"
    return [json.loads(extra)["payload"] for (extra,) in airflow.query(of_asset, asset)]
