"""The reference's tutorial: its worker's and connectors' files run as they are, and converted, on real servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from pyignite import Client
from pyignite.datatypes import IntObject

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from tests.support.connect_files import copied, node_file
from tests.support.waiting import DEADLINE_S, REQUEST_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker

FILES = ("standalone.properties", "tutorial-source.properties", "tutorial-sink.properties")
MORE = "internal_topic_prefix={name}\nslots=2\nprogress_interval_ms=1000\n"
PEOPLE = {1: "Ada", 2: "Bo", 3: "Cy"}


@pytest.fixture
def tutorial(kafka: KafkaBroker, tmp_path: Path, unique: Callable[[str], str]) -> Callable[[IgniteCluster], list[str]]:
    """Copies of the tutorial's files, of which only addresses and names are the test's."""

    def files(ignite: IgniteCluster) -> list[str]:
        folder, name = copied(tmp_path, stores=False), unique("tutorial")
        (folder / "ignite-client.xml").write_text(node_file(ignite.addresses[0]))
        for file in FILES:
            text = (folder / file).read_text().replace("localhost:9092", kafka.bootstrap).replace("quickstart", name)
            (folder / file).write_text(text + (MORE.format(name=name) if "tutorial" in file else ""))
        return [str(folder / file) for file in FILES]

    return files


def environment() -> dict[str, str]:
    return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(sys.path)}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ignite_kafka.cli", *arguments]


def call(*arguments: str) -> str:
    done = subprocess.run(command(*arguments), capture_output=True, text=True, env=environment(), timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def entries(client: Client, cache: str) -> dict[Any, Any]:
    """Entries of a cache; empty if there is none."""
    if cache not in client.get_cache_names():
        return {}
    with client.get_cache(cache).scan(page_size=100) as found:
        return dict(found)


def records(kafka: KafkaBroker, topic: str) -> list[tuple[Any, Any]]:
    """Keys and values of a topic, as JSON."""
    count = Topics(KafkaClients(kafka.client_config)).partitions(topic)
    consumer = Consumer({**kafka.client_config, "group.id": "test", "enable.partition.eof": True, "auto.offset.reset": "earliest"})
    consumer.assign([Place(topic, number, 0) for number in range(count)])
    found, ended = [], 0
    while ended < count:
        message = consumer.poll(REQUEST_S)
        assert message is not None, f"no record and no end of {topic}"
        if message.error() is not None:
            ended += 1
        else:
            found.append((json.loads(message.key() or b"null"), json.loads(message.value() or b"null")))
    consumer.close()
    return found


@pytest.mark.long("test_what_migrate_writes_gives_the_topic_that_the_file_asks_for")
def test_the_tutorial_s_files_run_as_they_are(
    tutorial: Callable[[IgniteCluster], list[str]], ignite_cluster: Callable[..., IgniteCluster], tmp_path: Path
) -> None:
    ignite, log = ignite_cluster(), tmp_path / "log"
    files = tutorial(ignite)
    with ignite.client() as client, log.open("wb") as output:
        people = client.get_or_create_cache("Person")
        people.put_all({(key, IntObject): name for key, name in PEOPLE.items()})
        with subprocess.Popen(command("run", *files), stdout=output, stderr=output, env=environment()) as process:
            try:

                def follows() -> bool:
                    assert process.poll() is None, log.read_text()
                    return entries(client, "copy-Person") == entries(client, "Person")

                wait_until(follows, "the copies of the entries")
                people.put(4, "Di", key_hint=IntObject)
                people.put(1, "Ann", key_hint=IntObject)
                wait_until(follows, "the copies of the changes")
                process.send_signal(signal.SIGINT)
                assert process.wait(DEADLINE_S) == 0, log.read_text()
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
    text = log.read_text()
    assert "run_mode continuous" in text
    assert text.count("as requested") == 2, "both ended after their batch"


def test_what_migrate_writes_gives_the_topic_that_the_file_asks_for(
    tutorial: Callable[[IgniteCluster], list[str]], ignite_cluster: Callable[..., IgniteCluster], kafka: KafkaBroker, tmp_path: Path
) -> None:
    ignite = ignite_cluster()
    files = tutorial(ignite)
    with ignite.client() as client:
        client.get_or_create_cache("Person").put_all({(key, IntObject): name for key, name in PEOPLE.items()})
        call("migrate", *files, "--output", str(tmp_path / "out"))
        source, sink = (next((tmp_path / "out").glob(f"*-{kind}.properties")) for kind in ("source", "sink"))
        for path in (source, sink):
            path.write_text(path.read_text().replace("run_mode=continuous", "run_mode=once"))
        call("run", str(source), "--master", "local[2]")
        prefix = next(line for line in source.read_text().splitlines() if line.startswith("topic_prefix=")).partition("=")[2]
        found = records(kafka, f"{prefix}Person")
        # schemas.enable of the worker: the envelopes of Kafka's JsonConverter
        assert {(key["payload"], value["payload"]) for key, value in found} == set(PEOPLE.items())
        assert {(key["schema"]["type"], value["schema"]["type"]) for key, value in found} == {("int32", "string")}
        call("run", str(sink), "--master", "local[2]")
        assert entries(client, "copy-Person") == PEOPLE
