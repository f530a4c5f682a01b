"""A password is in the connection and in private files, and in nothing else that a run writes."""

from __future__ import annotations

import http.client
import json
import re
import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from ignite_kafka import events
from tests.integration.airflow.conftest import DAGS, ENTRIES, Secured
from tests.support.airflow_home import AirflowHome
from tests.support.oracle import read_committed
from tests.support.processes import SparkCluster, output_tail
from tests.support.waiting import wait_until
from tools.servers import free_ports

CLUSTER_DAG, MANUAL = "copy_on_cluster", "ignite_to_kafka_manual"
_UI_PAGES = ("environment", "jobs", "stages", "allexecutors")


@dataclass
class Watch:
    """Polls every process and the Spark UI until it is stopped."""

    secrets: tuple[str, ...]
    ui_port: int
    found: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    urls: set[str] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            for place in Path("/proc").glob("[0-9]*"):
                self._look(f"{place.name} arguments", _content(place / "cmdline"))
                self._look(f"{place.name} environment", _content(place / "environ"))
            for page in self._ui_pages():
                content = _get(page)
                self._look(f"Spark UI {page.rstrip('/').rsplit('/', 1)[1]}", content)
                self.urls |= {found.decode() for found in re.findall(rb"spark://[^\s\"<>]*/files/[^\s\"<>]*secret[^\s\"<>]*", content)}

    def _look(self, where: str, content: bytes) -> None:
        self.found |= {f"{where}: {content[:200]!r}" for secret in self.secrets if secret.encode() in content}
        kinds = ("SparkSubmit", "CoarseGrainedExecutorBackend", "pyspark.daemon", "ignite_to_kafka.py", "Spark UI environment")
        self.seen |= {kind for kind in kinds if kind.encode() in content or (kind in where and content)}

    def _ui_pages(self) -> Iterator[str]:
        base = f"http://127.0.0.1:{self.ui_port}"
        listed = _get(f"{base}/api/v1/applications")
        for application in json.loads(listed) if listed.startswith(b"[") else []:  # a UI that is starting replies with text
            yield from (f"{base}/api/v1/applications/{application['id']}/{page}" for page in _UI_PAGES)
            yield f"{base}/environment/"


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended
        return b""


def _get(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            content: bytes = answer.read()
            return content
    except (OSError, http.client.HTTPException):  # not started yet, or ended
        return b""


def holders(folder: Path, secrets: tuple[str, ...]) -> list[Path]:
    """Files under a folder that hold one of the secrets."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(secret.encode() in _content(path) for secret in secrets)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SparkCluster, Path]]:
    """A standalone cluster that authenticates and encrypts: it ships secrets without a permission to do so unprotected."""
    folder = tmp_path_factory.mktemp("spark-cluster")
    conf = {"spark.authenticate": "true", "spark.authenticate.secret": uuid.uuid4().hex, "spark.network.crypto.enabled": "true"}
    with SparkCluster(folder, conf=conf) as started:
        yield started.await_ready(), folder


def test_password_is_nowhere_to_be_seen(
    secured: Secured, cluster: tuple[SparkCluster, Path], tmp_path: Path, unique: Callable[[str], str]
) -> None:
    spark, spark_folder = cluster
    variables = {"SPARK_CONF_DIR": str(spark.conf_folder)}
    home = AirflowHome(tmp_path / "airflow", DAGS, secured.connections(spark.master), variables=variables).migrate()
    name, event_log = unique("hidden"), tmp_path / "events"
    event_log.mkdir()
    with Watch(secured.passwords, free_ports(1)[0]) as watch:
        output = home.run(CLUSTER_DAG, {"name": name, "ui_port": watch.ui_port, "event_log": str(event_log)})
    assert home.states(CLUSTER_DAG) == ["success"], output_tail(output)
    assert home.results(CLUSTER_DAG)[0]["records"] == 2 * ENTRIES

    assert f" {events.SECRETS_EXPOSED.id} # " not in output
    assert watch.found == set()
    assert watch.seen == {"SparkSubmit", "CoarseGrainedExecutorBackend", "pyspark.daemon", "ignite_to_kafka.py", "Spark UI environment"}
    assert holders(home.folder, secured.passwords) == [home.connections_file]  # logs, rendered fields and XCom are under it
    assert home.query("select count(*) from rendered_task_instance_fields") == [(1,)]
    assert [path for path in event_log.rglob("*") if path.is_file()]
    assert holders(event_log, secured.passwords) == []
    assert holders(spark_folder, secured.passwords) == []  # Spark keeps files of its file server in the workers' folders
    assert watch.urls == set()  # no URL of a secrets file is shown
    assert not [secret for secret in secured.passwords if secret in output]
    assert holders_in_topics(secured, ["ignite-kafka-configs", "ignite-kafka-status", f"ignite-kafka-offsets-{name}"]) == []


def holders_in_topics(secured: Secured, topics: list[str]) -> list[str]:
    def content(topic: str) -> bytes:
        records = read_committed(secured.kafka.client_config, topic).records
        assert records
        return b"".join((record.key or b"") + (record.value or b"") for record in records)

    return [topic for topic in topics for secret in secured.passwords if secret.encode() in content(topic)]


@pytest.mark.long("test_password_is_nowhere_to_be_seen")
def test_run_continues_without_the_operator_s_copy(secured: Secured, airflow: AirflowHome, unique: Callable[[str], str]) -> None:
    form: dict[str, Any] = {"name": unique("own-copy"), "cache_whitelist": ["people"], "topic_prefix": f"{unique('own-copy')}-"}
    process = airflow.start(MANUAL, form)
    try:
        wait_until(lambda: "15100 #" in process.output(), "the app's start")
        [operators] = airflow.private.glob("ignite-kafka-*/secrets.json")
        operators.unlink()
        process.wait()
    finally:
        process.stop()
    assert airflow.states(MANUAL)[-1] == "success", process.output_tail()
    assert airflow.results(MANUAL)[-1]["records"] == ENTRIES
    assert "FileNotFoundError" not in process.output()
    assert not [member for member in psutil.process_iter() if member.pid == process.pid]
