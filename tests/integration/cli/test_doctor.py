"""`ignite-kafka doctor` on real servers and real executors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from tests.integration.cli.conftest import Command
from tools.servers import IgniteCluster, KafkaBroker, free_ports


def test_doctor_asks_every_server_from_here_and_from_the_executors(
    command: Command, ignite: IgniteCluster, kafka: KafkaBroker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("doctor")
    file = tmp_path / "connector.json"
    file.write_text(json.dumps({"name": name, "cache_whitelist": [f"{name}-.*"], "topic_prefix": "to-", "internal_topic_prefix": name}))
    with ignite.client() as client:
        client.get_or_create_cache(f"{name}-c")
    before = set(Topics(KafkaClients(kafka.client_config)).existing())

    well = command("doctor", str(file), "--master", "local[2]")
    assert well.returncode == 0, well.stdout + well.stderr
    lines = well.stdout.splitlines()
    assert lines[-1] == "a run will find what it needs"
    assert [line for line in lines if line.startswith("ok") and "Executor" in line and "reaches every server" in line]
    assert [line for line in lines if f"Ignite address {ignite.address} " in line and "thin protocol 1.7" in line]
    assert [line for line in lines if "Ignite node" in line and f"answers at {ignite.address}" in line]
    assert [line for line in lines if "Kafka broker" in line and f"answers at {kafka.bootstrap}" in line]
    assert [line for line in lines if line.startswith("ok") and "5 besides those of data may be used" in line]
    assert [line for line in lines if "Dry run" in line and f"1 caches would be sent: {name}-c" in line]
    assert set(Topics(KafkaClients(kafka.client_config)).existing()) == before, "it writes nothing"

    settings = json.loads(file.read_text())
    file.write_text(json.dumps(settings | {"run_mode": "continuous", "failover_policy": "BACKLOG"}))
    streams = command("doctor", str(file), "--no-spark")
    assert streams.returncode == 0, streams.stdout + streams.stderr
    assert [line for line in streams.stdout.splitlines() if line.startswith("ok") and "follow them for failover_policy BACKLOG" in line]

    (closed,) = free_ports(1)
    ill = command("doctor", str(file), "--no-spark", "--json", ignite=f"127.0.0.1:{closed}")
    assert ill.returncode == 1
    findings = json.loads(ill.stdout)["findings"]
    assert {found["subject"]: found["state"] for found in findings if found["state"] == "FAILED"} == {
        f"Ignite address 127.0.0.1:{closed}": "FAILED", "Ignite": "FAILED",
    }  # fmt: skip
    assert all(found["remedy"] for found in findings if found["state"] == "FAILED")
