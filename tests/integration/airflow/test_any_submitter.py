"""A packaged app, submitted by a plain spark-submit with nothing but the written files, and followed by the sensor on a real Airflow."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.settings import secrets
from ignite_kafka.settings.secrets import Secrets
from tests.integration.airflow.conftest import CACHES, ENTRIES, Secured
from tests.support.airflow_home import AirflowHome
from tests.support.oracle import read_committed
from tests.support.processes import output_tail
from tests.support.waiting import wait_until

_SECRET = ("sasl.password",)


@pytest.mark.parametrize(
    ("dag", "url"),
    [
        pytest.param("submitted_elsewhere", "", marks=pytest.mark.long("object storage, deferred"), id="folder"),
        pytest.param("submitted_elsewhere_deferred", "file://", id="object storage, deferred"),
    ],
)
def test_a_packaged_app_runs_by_its_files_alone_and_the_sensor_returns_its_result(
    secured: Secured, airflow: AirflowHome, unique: Callable[[str], str], tmp_path: Path, dag: str, url: str
) -> None:
    name, home = unique("elsewhere"), tmp_path / "driver"
    home.mkdir()
    secrets_file = tmp_path / "secrets.json"
    client = secured.kafka.client_config
    secrets.dump(Secrets(IgniteCredentials("ignite", secured.passwords[0]), {key: client[key] for key in _SECRET}), secrets_file)
    conf = {"name": name, "cache": CACHES[0], "folder": f"{url}{tmp_path / 'apps'}", "secrets_file": str(secrets_file), "home": str(home)}
    try:
        output = airflow.run(dag, conf)
    finally:
        _end(home)
    driver = (home / "driver.log").read_text() if (home / "driver.log").exists() else ""
    assert airflow.states(dag) == ["success"] * 3, output_tail(output) + output_tail(driver)
    packaged, result = (one for one in airflow.results(dag) if one)
    assert result["state"] == "COMPLETED"
    assert result["run_id"] == packaged["run"]["run_id"]
    assert result["caches"][CACHES[0]]["records"] == ENTRIES == len(read_committed(client, f"{name}-{CACHES[0]}").records)
    written = [path for path in (tmp_path / "apps").rglob("*") if path.is_file()]
    assert sorted(path.name for path in written) == ["ignite_kafka.zip", "ignite_to_kafka.py", "request.json"]
    assert not any(password.encode() in path.read_bytes() for path in written for password in secured.passwords)
    assert not any(password in text for password in secured.passwords for text in (json.dumps(packaged), output, driver))


def _end(home: Path) -> None:
    """Wait for the end of the driver, which outlives its task; kill it if it does not end."""
    if not (home / "pid").exists():
        return
    pid = int((home / "pid").read_text())
    try:
        wait_until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, "the driver has ended")
    finally:
        if psutil.pid_exists(pid):
            os.killpg(pid, signal.SIGKILL)
