"""The list of Kafka Connect's keys, each of which has a verdict, is that of the definitions in Kafka's jars."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tools.pages.connect_keys import KEYS
from tools.servers import Jars

SOURCE = Path(__file__).parents[2] / "java" / "ConfigKeys.java"


def test_no_key_of_kafka_connect_is_missing(jars: Jars, tmp_path: Path) -> None:
    path = f"{jars.kafka}/*"
    subprocess.run(["javac", "-encoding", "UTF-8", "-cp", path, "-d", str(tmp_path), str(SOURCE)], check=True)
    command = ["java", "-Xmx256m", "-cp", f"{tmp_path}:{path}", "ConfigKeys"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert sorted(KEYS.read_text().splitlines()) == sorted(done.stdout.splitlines())
    assert len(done.stdout.splitlines()) > 500
