"""A snapshot without Spark, in one process: one slot of it, then the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.runtime.clients import kafka_clients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, KafkaBroker

ENTRIES = 400


def test_one_slot_is_copied_then_the_others(
    ignite: IgniteCluster, kafka: KafkaBroker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("one-process")
    with ignite.client() as client:
        client.get_or_create_cache(name).put_all({number: f"value {number}" for number in range(ENTRIES)})
    settings = {
        "name": name, "ignite_addresses": list(ignite.addresses), "bootstrap_servers": kafka.bootstrap, "cache_whitelist": [name],
        "internal_topic_prefix": f"in-{name}", "slots": 4, "topic_partitions": 1,
    }  # fmt: skip
    file = tmp_path / "source.json"
    file.write_text(json.dumps(settings))
    clients = kafka_clients(SourceSettings.from_dict(settings), Secrets())

    def keys() -> list[bytes | None]:
        return [message.key() for message in read_to_end(clients, Topics(clients), name, [0])]

    copied = _copy(file, "--slot", "1")
    assert "slot 1 was copied alone" in copied
    first = keys()
    assert 0 < len(first) < ENTRIES
    assert "there is no slot 4: the connector has slots 0 to 3" in _copy(file, "--slot", "4", code=1)
    assert json.loads(_copy(file).splitlines()[-1])["state"] == "COMPLETED"
    assert len(keys()) == len(set(keys())) == ENTRIES
    assert keys()[: len(first)] == first


def _copy(file: Path, *arguments: str, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JAVA_HOME": str(file.parent / "none")}
    command = [sys.executable, "-m", "tools.one_process", str(file), *arguments]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert ran.returncode == code, ran.stderr[-3000:]
    return ran.stdout + ran.stderr
