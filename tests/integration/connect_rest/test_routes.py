"""The same requests to a worker of Kafka Connect and to `ignite-kafka serve`: same status codes, forms of bodies, and messages."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.admin import backlog
from ignite_kafka.errors import BacklogRefused
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from tests.integration.connect_rest.conftest import PREFIX
from tests.support.connect_distributed import Reply, RestServer
from tests.support.connect_requests import CASES, Case, Side, form_of
from tests.support.connect_standalone import records_of
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, KafkaBroker


@pytest.fixture
def connect(worker: RestServer, kafka: KafkaBroker, tmp_path: Path) -> Side:
    Topics(KafkaClients(kafka.client_config)).ensure([TopicSpec(f"{PREFIX}-lines", 1, 1)])
    lines = tmp_path / "lines.txt"
    lines.write_text("a\nb\n")
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(lines), "topic": f"{PREFIX}-lines"}
    return Side(
        worker, "FileStreamSource", "FileStreamSink", config, {"batch.size": "10"}, {"filename": str(lines)}, {"position": 2},
        {"tasks.max": "many"},
    )  # fmt: skip


@pytest.fixture
def ours(serve: RestServer, cache: str) -> Side:
    config = {"connector.class": "IgniteSourceConnector", "tasks.max": "1", "slots": "1", "cacheWhitelist": cache, "topicPrefix": PREFIX}
    return Side(
        serve, "IgniteSourceConnector", "IgniteSinkConnector", config, {"batchSize": "10"}, {"cache": cache, "partition": 0}, {"sent": 2},
        {"tasks.max": "many"},
    )  # fmt: skip


def test_the_same_requests_get_the_same_answers(connect: Side, ours: Side, kafka: KafkaBroker, ignite: IgniteCluster, cache: str) -> None:
    differences = []
    with ThreadPoolExecutor(2) as pool:
        for case in CASES:
            theirs, own = pool.map(case.send, (connect, ours))
            differences += [f"{case.method} {case.at(ours)}: {what}" for what in _differences(case, theirs, own)]
            if case.state is not None:
                name, state = case.state
                list(pool.map(lambda side, name=name, state=state: side.server.await_state(name, state), (connect, ours)))
    assert differences == [], "\n".join(differences)
    assert len(CASES) > 90
    assert records_of(kafka, f"{PREFIX}{cache}", 1), "the run was real"
    settings = SourceSettings(
        name="x", bootstrap_servers=kafka.bootstrap, ignite_addresses=tuple(ignite.addresses), internal_topic_prefix=PREFIX
    )
    wait_until(lambda: _has_no_capture(settings), "the end of the deleted connector's capture")


def _has_no_capture(settings: SourceSettings) -> bool:
    try:
        backlog.status(settings, Secrets())
    except BacklogRefused:
        return True
    return False


def _differences(case: Case, theirs: Reply, own: Reply) -> list[str]:
    """Differences that no page explains; for `ours`, Kafka Connect reports the sender's error as its own."""
    if case.ours is not None:
        wanted = (500, case.ours)
        return [] if (theirs.status, own.status) == wanted and own.body["error_code"] == case.ours else [f"{theirs} and {own}"]
    pairs: list[tuple[str, Callable[[Reply], Any]]] = [
        ("status", lambda reply: reply.status),
        ("form", lambda reply: form_of(reply.body)),
        ("location", lambda reply: (reply.headers.get("location") or "").rpartition("/connectors")[2]),
    ]
    if case.same_text:
        pairs.append(("text", lambda reply: reply.body))
    return [f"{what} {part(theirs)} and {part(own)}, of {theirs} and {own}" for what, part in pairs if part(theirs) != part(own)]
