"""Form of a run in Airflow's database."""

from __future__ import annotations

import json
from dataclasses import fields, replace

from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.names import RunNames
from tests.unit.airflow.bench import CONFIG, PASSWORDS, Bench, context, operator, sink

RUN = FollowedRun("c", "dag/task/run/1", silence_s=60.0, start_s=600.0, submitted_ms=1_000_000)


def test_stored_run_is_read_by_older_and_newer_versions() -> None:
    stored = json.loads(json.dumps(RUN.to_dict()))
    assert FollowedRun.from_dict({**stored, "of_a_newer_version": 1}) == RUN
    assert FollowedRun.from_dict({"connector": "c", "run_id": "r"}) == FollowedRun("c", "r")
    without_default = [field.name for field in fields(FollowedRun) if field.default is field.default_factory]
    assert without_default == ["connector", "run_id"], "a field that is added needs a default"


def test_run_of_a_request_holds_no_secret(bench: Bench) -> None:
    operator().execute(context())  # the bench's connections
    task = sink(run_mode="continuous")
    run = FollowedRun.of(task._request(RunNames.of(context())), "kafka_default", "spark_default", 60.0)
    assert (run.streams, run.continuous, run.sink, run.silence_s, run.poll_s) == (True, True, True, 300.0, 10.0)
    assert run.kafka_config["bootstrap.servers"] == CONFIG["bootstrap.servers"]
    assert not any(password in json.dumps(run.to_dict()) for password in PASSWORDS)
    assert replace(run, until_ms=5).time_is_up(5)
    assert not run.time_is_up(5)
