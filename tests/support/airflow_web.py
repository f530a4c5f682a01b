"""Airflow with its web UI: API server, scheduler, Dag processor and triggerer of a test's own, with a user for each role."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from tests.support.airflow_home import AirflowHome
from tests.support.waiting import DEADLINE_S
from tools.airflow_home import BIN
from tools.servers import ServerProcess, free_ports
from tools.stack_airflow import healthy, port_settings

USERS = {"alice": "ADMIN", "olga": "OP", "victor": "VIEWER"}


@dataclass(frozen=True)
class AirflowWeb:
    """A running Airflow. The password of each user is the user's name."""

    home: AirflowHome
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def token(self, user: str) -> str:
        """A token for the API, as a user of it gets one."""
        status, body = self.request("POST", "/auth/token", {"Content-Type": "application/json"}, json.dumps(login(user)))
        assert status == 201, body
        return str(json.loads(body)["access_token"])

    def request(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: str | None = None) -> tuple[int, str]:
        """Status and body of a reply."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        try:
            connection.request(method, path, body, dict(headers or {}))
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()


def login(user: str) -> dict[str, str]:
    """What the login form of a user has."""
    return {"username": user, "password": user}


@contextmanager
def airflow_web(home: AirflowHome, settings: Mapping[str, Any], command: str = "standalone") -> Iterator[AirflowWeb]:
    """Start Airflow on a migrated home.

    :param settings: environment variables beside those of the home.
    """
    [port] = free_ports(1)
    passwords = home.folder / "passwords.json"
    passwords.write_text(json.dumps({user: user for user in USERS}))
    environment = {
        **home.env(),
        "PATH": f"{BIN}:{os.environ['PATH']}",  # `airflow standalone` starts the other parts by name
        **port_settings(port),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in USERS.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
        **settings,
    }
    airflow = ServerProcess("Airflow", [str(BIN / "airflow"), command], home.folder / "airflow.log", env=environment, cwd=home.folder)
    web = AirflowWeb(home, port)
    try:
        airflow.await_ready(lambda: healthy(port) if command == "standalone" else _answers(web))
        yield web
    finally:
        airflow.stop()


def _answers(web: AirflowWeb) -> bool:
    try:
        return web.request("GET", "/api/v2/version")[0] == 200
    except OSError:
        return False
