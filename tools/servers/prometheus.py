"""A real Prometheus on loopback, with rules, which scrapes one endpoint; and promtool, which checks rules.

`make prometheus` unpacks both from Debian's package, without root; those on the path are taken if there are any.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from .jars import WORK
from .process import ServerFailed, ServerProcess, free_ports

_UNPACKED = WORK / "prometheus" / "usr" / "bin"
_REQUEST_S = 30
_CHECK_S = 300.0
_CONFIGURATION = """
global: {{scrape_interval: {interval_s}s, evaluation_interval: {interval_s}s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: ignite-kafka
    static_configs: [{{targets: ["{target}"]}}]
"""


def program(name: str) -> str:
    """Return the path of `prometheus` or `promtool`.

    :raises ServerFailed: neither the path nor the checkout has it.
    """
    path = shutil.which(name) or shutil.which(name, path=str(_UNPACKED))
    if path is None:
        raise ServerFailed(f"{name} is needed: `make prometheus`, or as root `apt-get install prometheus`")
    return path


def check_rules(rules: Path) -> str:
    """Let promtool check a file of rules, and return what it writes.

    :raises ServerFailed: it refuses a rule.
    """
    command = [program("promtool"), "check", "rules", str(rules)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_S, check=False)
    if checked.returncode:
        raise ServerFailed(f"promtool refuses {rules}: {checked.stdout}{checked.stderr}")
    return checked.stdout


class Prometheus:
    """One Prometheus, which scrapes a target every second.

    :param directory: of its configuration, its data and its log.
    :param target: host and port to scrape, at `/metrics`.
    :param rules: file of alert rules.
    """

    def __init__(self, directory: Path, target: str, rules: Path, interval_s: int = 1) -> None:
        self.directory, self.port = directory, free_ports(1)[0]
        self._configuration = _CONFIGURATION.format(target=target, rules=json.dumps(str(rules)), interval_s=interval_s)
        self._process: ServerProcess | None = None

    def start(self) -> Prometheus:
        """Start, and wait until it is ready.

        :raises ServerFailed: it ended, or did not answer in time.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        configuration = self.directory / "prometheus.yml"
        configuration.write_text(self._configuration)
        options = (
            f"--config.file={configuration}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        )
        self._process = ServerProcess(
            "Prometheus", [program("prometheus"), *options], self.directory / "prometheus.log"
        )
        self._process.await_ready(self._ready)
        return self

    def stop(self) -> None:
        """End Prometheus."""
        if self._process is not None:
            self._process.stop()

    def series(self, expression: str) -> list[dict[str, Any]]:
        """Return the series of an expression, each with `metric`, its labels, and `value`.

        :raises ServerFailed: Prometheus cannot evaluate the expression.
        """
        result: list[dict[str, Any]] = self._request("query", query=expression)["result"]
        return result

    def rules(self) -> list[dict[str, Any]]:
        """Return all rules with their state and health."""
        return [rule for group in self._request("rules")["groups"] for rule in group["rules"]]

    def _request(self, what: str, **parameters: str) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_REQUEST_S)
        try:
            connection.request("GET", f"/api/v1/{what}?{urlencode(parameters)}")
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        if answer["status"] != "success":
            raise ServerFailed(f"Prometheus refuses {parameters or what}: {answer['error']}")
        return answer["data"]

    def _ready(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_REQUEST_S)
        try:
            connection.request("GET", "/-/ready")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def __enter__(self) -> Prometheus:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
