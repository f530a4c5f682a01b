"""Clients that log in by OAUTHBEARER with tokens of a named function, on a real broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from ignite_kafka.errors import AuthenticationFailed, KafkaUnavailable
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.producer import TransactionalProducer
from ignite_kafka.kafka.topics import Topics, TopicSpec
from tests.support import oauth_tokens
from tests.support.waiting import DEADLINE_S, REQUEST_S
from tools.servers import IgniteCluster, Jars, KafkaBroker
from tools.servers.jars import CHECKOUT

ALLOWED = f"oauth_cb={oauth_tokens.NAME}"


@pytest.fixture(scope="module")
def broker(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path_factory.mktemp("oauth"), jars=jars, oauth=True) as started:
        yield started


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "notes"
    monkeypatch.setenv(oauth_tokens.NOTES, str(path))
    return path


def login(broker: KafkaBroker, **others: str) -> dict[str, str]:
    secured = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", "oauth_cb": oauth_tokens.NAME}
    return {"bootstrap.servers": broker.bootstrap, **secured, **others}


def test_every_kind_of_client_logs_in(broker: KafkaBroker, notes: Path, unique: Callable[[str], str]) -> None:
    topic = unique("tokens")
    clients = KafkaClients(login(broker, **{"sasl.oauthbearer.config": "ann"}))
    clients.check(REQUEST_S)
    Topics(clients).ensure([TopicSpec(topic, 1)])
    producer = TransactionalProducer(clients, unique("id"), 60_000)
    producer.init()
    producer.begin()
    producer.produce(topic, b"k", b"v")
    producer.commit()
    producer.close()
    reader = clients.reader()
    reader.assign([TopicPartition(topic, 0, 0)])
    message = reader.poll(REQUEST_S)
    assert message is not None
    assert message.value() == b"v"
    reader.close()
    assert oauth_tokens.makers(notes) == {os.getpid()}


def test_a_token_that_the_broker_refuses(broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth_tokens, "token", lambda _: ("no.token.", 4e9))
    with pytest.raises((AuthenticationFailed, KafkaUnavailable)):
        KafkaClients(login(broker)).check(5)


def test_executors_make_tokens_of_their_own(
    broker: KafkaBroker, ignite: IgniteCluster, notes: Path, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    cache = unique("tokens")
    with ignite.client() as client:
        client.create_cache(cache).put_all(dict.fromkeys(range(100), "x"))
    settings, secrets = tmp_path / "settings.json", tmp_path / "secrets.json"
    addresses = {"bootstrap_servers": broker.bootstrap, "ignite_addresses": list(ignite.addresses)}
    settings.write_text(json.dumps({"name": cache, "cache_whitelist": [cache], **addresses}))
    secrets.touch(0o600)
    secrets.write_text(json.dumps({"kafka": {name: value for name, value in login(broker).items() if name != "bootstrap.servers"}}))
    command = [sys.executable, "-m", "ignite_kafka.cli", "run", str(settings), "--secrets", str(secrets), "--allow-kafka-option", ALLOWED]
    path = os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "spark_apps")))
    environment = {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1", "MASTER": "local[2]"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(oauth_tokens.makers(notes)) > 1, "the driver and the workers of the executors are processes of their own"
