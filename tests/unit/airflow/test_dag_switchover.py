"""The example Dags of role transitions: a dry run unless the form says otherwise, and commands that exist."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.cli.arguments import CommandArguments
from ignite_kafka.cli.commands import parse
from ignite_kafka.cli.role_transitions import _print
from ignite_kafka.role_transitions.steps import TransitionResult
from ignite_kafka.state.role_transitions import DONE, RoleTransition
from tests.unit.airflow.test_dags import read

DAGS = {"dag": "switchover", "failover_dag": "failover", "failback_dag": "failback"}


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("attribute", DAGS)
def test_the_command_of_each_dag_exists(attribute: str, dry_run: bool, tmp_path: Path) -> None:
    """The shell runs the task's command line with a program in the place of ignite-kafka, which shows its words."""
    dag = read("ignite_switchover", attribute)
    task: Any = dag.get_task("run_steps")
    params = {name: param.value if hasattr(param, "value") else param for name, param in dag.params.items()}
    assert params["dry_run"] is True
    environment = {}
    for name, text in task.env.items():
        template = task.get_template_env(dag).from_string(text)
        environment[name] = template.render(params={**params, "dry_run": dry_run})
    program = tmp_path / "ignite-kafka"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    folder = tmp_path / "pair of a"
    shell = {**os.environ, **environment, "PATH": f"{tmp_path}:{os.environ['PATH']}", "IGNITE_KAFKA_PAIR": str(folder)}
    shell["IGNITE_KAFKA_PAIR_OPTIONS"] = "--secrets /run/secrets/pair.json --wait 5min"
    done = subprocess.run(["bash", "-c", task.bash_command], env=shell, check=True, capture_output=True, text=True, timeout=60)
    call = parse(done.stdout.splitlines())
    assert call.row.path == f"replicate {DAGS[attribute]}"
    assert call.arguments.dry_run is dry_run
    assert (call.arguments.secrets, call.arguments.wait) == ("/run/secrets/pair.json", 300_000)
    assert (call.arguments.source, call.arguments.sink) == (f"{folder}/source.properties", f"{folder}/sink.properties")
    if attribute != "dag":
        assert task.retries == 2
    if attribute == "failback_dag":
        assert (call.arguments.drop, call.arguments.send, call.arguments.report) == (True, False, False)


def test_the_result_of_a_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Airflow keeps the last line that a command prints as the result of its task."""
    result = TransitionResult("a", "b", RoleTransition("t", "switchover", DONE, figures={"behind": {"records": 3}}))
    assert _print(cast(CommandArguments, SimpleNamespace(json=True)), result) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["transition"]["figures"] == {"behind": {"records": 3}}
