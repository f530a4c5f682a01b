"""A distributed worker of Kafka Connect from Kafka's own jars, and the server of `ignite-kafka serve`, both asked by HTTP."""

from __future__ import annotations

import json
import os
import signal
import ssl
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import QUICK_JVM
from tests.support.connect_standalone import JSON, write_properties
from tests.support.processes import ManagedProcess, spark_env
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import Jars, KafkaBroker, free_ports
from tools.servers.jars import java_command

STATE_S = 300.0


@dataclass(frozen=True)
class Reply:
    status: int
    content_type: str
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True)
class RestServer:
    """A server of Kafka Connect's REST interface.

    :param headers: of every request, such as a login.
    """

    url: str
    process: ManagedProcess
    headers: Mapping[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None

    def call(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a request, and return its reply, whatever its status; bytes are sent as they are."""
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = {**self.headers, **({"Content-Type": "application/json"} if data is not None else {}), **(headers or {})}
        request = urllib.request.Request(self.url + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_S, context=self.tls) as response:
                return _reply(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return _reply(error.code, error.headers, error.read())

    def await_ready(self) -> RestServer:
        def ready() -> bool:
            assert self.process.running(), self.process.output_tail()
            try:
                return self.call("GET", "/connectors").status in (200, 401)
            except OSError:
                return False

        wait_until(ready, lambda: f"answers of {self.url}:\n{self.process.output_tail()}")
        return self

    def await_state(self, name: str, state: str) -> None:
        """Wait until the connector has a state, and a running one has running tasks.

        Tasks of Kafka's file connectors may be shown as running while they are paused.
        """
        seen: list[Reply] = []

        def reached() -> bool:
            seen[:] = [self.call("GET", f"/connectors/{name}/status")]
            body = seen[0].body
            if seen[0].status != 200 or body["connector"]["state"] != state:
                return False
            return state != "RUNNING" or {task["state"] for task in body["tasks"]} == {"RUNNING"}

        wait_until(reached, lambda: f"{name} is {state}, last {seen}:\n{self.process.output_tail()}", deadline_s=STATE_S, poll_s=0.2)


def _reply(status: int, headers: Any, content: bytes) -> Reply:
    content_type = (headers.get("Content-Type") or "").partition(";")[0]
    # a worker answers in HTML before it has started; its errors without a type are JSON
    is_page = content_type == "text/html"
    return Reply(
        status,
        content_type,
        content.decode() if is_page else json.loads(content) if content else None,
        {name.lower(): value for name, value in headers.items()},
    )


@contextmanager
def connect_distributed(jars: Jars, kafka: KafkaBroker, place: Path) -> Iterator[RestServer]:
    """Run a worker that is ready."""
    (port,) = free_ports(1)
    group = f"connect-{uuid.uuid4().hex[:8]}"
    parts = (("topic", "{}"), ("replication.factor", "1"))
    kinds = ("config", "offset", "status")
    topics = {f"{kind}.storage.{key}": value.format(f"{group}-{kind}") for kind in kinds for key, value in parts}
    settings = {
        "key.converter": JSON, "value.converter": JSON, "bootstrap.servers": kafka.bootstrap, "listeners": f"http://127.0.0.1:{port}",
        "group.id": group, **topics, "offset.storage.partitions": "1", "status.storage.partitions": "1", "plugin.discovery": "hybrid_warn",
        "offset.flush.interval.ms": "1000", "scheduled.rebalance.max.delay.ms": "0",
    }  # fmt: skip
    file = write_properties(place / "worker.properties", settings)
    options = [*QUICK_JVM, "-Xmx256m", "-Duser.timezone=UTC"]
    command = java_command("org.apache.kafka.connect.cli.ConnectDistributed", [str(file)], [jars.kafka], options)
    process = ManagedProcess(command, place / "connect.log")
    try:
        yield RestServer(f"http://127.0.0.1:{port}", process).await_ready()
    finally:
        process.stop()


@contextmanager
def started_serve(
    place: Path,
    arguments: Sequence[str],
    *,
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[RestServer]:
    """Run `ignite-kafka serve` that is ready; at the end it and all runs that it was seen with are killed.

    :param environment: variables beside those of :func:`spark_env`.
    """
    (port,) = free_ports(1)
    line = [sys.executable, "-m", "ignite_kafka.cli", "serve", "--port", str(port), *arguments]
    process = ManagedProcess(line, place / "serve.log", {**spark_env(), **(environment or {})})
    try:
        yield RestServer(f"http{'s' if tls else ''}://127.0.0.1:{port}", process, headers or {}, tls).await_ready()
    finally:
        process.stop()


@contextmanager
def ignite_kafka_serve(place: Path, arguments: Sequence[str], **options: Any) -> Iterator[RestServer]:
    """Run `ignite-kafka serve` that is ready; at the end SIGTERM must end it and its runs in good order.

    :param options: those of :func:`started_serve`.
    """
    with started_serve(place, arguments, **options) as server:
        yield server
        process = server.process
        process.family()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait() == 0, process.output_tail()
        wait_until(lambda: process.family() == [], "the end of the runs, whose JVMs end after their drivers")
