"""The reader of records on a broker that goes away. What it reads is tested with the pipeline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.waiting import DEADLINE_S, REQUEST_S
from tools.servers import Jars, KafkaBroker
from tools.servers.jars import CHECKOUT

_READ = """
import sys
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.consumer import BatchLimits, RecordReader

places = {("t", 0): 0}
reader = RecordReader(KafkaClients({"bootstrap.servers": sys.argv[1]}, patience_s=3), "g", places, {("t", 0): 1}, BatchLimits(10, 1000))
reader.read(1)
print("reads", flush=True)
try:
    while True:
        reader.read(1)
except KafkaUnavailable as error:
    print(f"unavailable: {error}")
reader.close()
"""


@pytest.mark.slow
def test_a_broker_that_goes_away_ends_in_an_error(tmp_path: Path, jars: Jars) -> None:
    """In a process of its own: a callback inside the native queue aborted it."""
    with KafkaBroker(tmp_path / "kafka", jars=jars) as kafka:
        admin = AdminClient({**kafka.client_config})
        admin.create_topics([NewTopic("t", 1)])["t"].result(REQUEST_S)
        command = [sys.executable, "-c", _READ, kafka.bootstrap]
        environment = {"PYTHONPATH": f"{CHECKOUT / 'spark_apps'}"}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as reading:
            assert reading.stdout is not None
            assert reading.stdout.readline() == "reads\n"
            kafka.kill()
            out = reading.stdout.read()
            assert reading.wait(DEADLINE_S) == 0, out
        assert out.startswith("unavailable: "), out
        assert kafka.bootstrap in out
