"""Topics get the partitions, replicas and configuration that Kafka Connect's own classes give them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.files.load import from_json
from ignite_kafka.settings.source import SourceSettings
from tools.servers import Jars

SOURCE = Path(__file__).parents[2] / "java" / "TopicGroups.java"
TOPICS = ["a", "a1", "ab", "b", "c", "z", "z1", "x", "default"]
DEFAULT = {"default.partitions": "3", "default.replication.factor": "1"}
ONE = {"groups": "a", "a.include": "a.*"}

CASES: list[dict[str, str]] = [
    {},
    {"default.cleanup.policy": "compact", "default.include": "x", "default.exclude": "y"},
    {"groups": "a,b", "a.include": "a.*,c", "a.partitions": "7", "b.include": ".*", "b.exclude": "z.*", "b.replication.factor": "-1"},
    {"groups": "b,a", "a.include": "a.*,c", "a.partitions": "7", "b.include": ".*", "b.exclude": "z.*", "b.retention.ms": "5"},
    {"groups": "a", "a.partitions": "9"},
    {"groups": "a", "a.include": "", "a.partitions": "9"},
    {"groups": "a", "a.include": ".*", "a.exclude": "a,b|c", "a.partitions": "-1", "default.retention.ms": "5"},
    {"groups": "", "a.include": ".*", "a.partitions": "9"},
    {"groups": "default,a", "a.include": "a", "a.partitions": "9"},
    {"groups": "a", "a.include": "a", "b.include": ".*", "b.partitions": "9"},
    {**ONE, "a.cleanup.policy": "compact", "default.retention.ms": "5"},
    {**ONE, "a.partitions": "0"},
    {**ONE, "a.partitions": "-2"},
    {**ONE, "a.replication.factor": "0"},
    {**ONE, "default.partitions": "0"},
    {"groups": "a", "a.include": "(a"},
    {"groups": "a,a", "a.include": "a"},
]


def connect(jars: Jars, classes: Path, requests: list[tuple[dict[str, str], list[str]]]) -> list[Any]:
    """The answers of Kafka Connect's classes."""
    path = f"{jars.kafka}/*"
    subprocess.run(["javac", "-encoding", "UTF-8", "-cp", path, "-d", str(classes), str(SOURCE)], check=True)
    lines = "\n".join(map(json.dumps, requests))
    command = ["java", "-Xmx256m", "-cp", f"{classes}:{path}", "TopicGroups"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(properties: dict[str, str]) -> Any:
    """Partitions, replication factor and configuration of each topic, or None if the settings are refused."""
    try:
        settings = from_json(json.dumps({"name": "c", **properties}).encode(), "c.json").settings_of(SourceSettings)
    except SettingsError:
        return None
    new = [settings.new_topic(topic) for topic in TOPICS]
    return [[one.partitions, one.replication_factor, dict(one.config)] for one in new]


def test_groups_are_those_of_kafka_connect(jars: Jars, tmp_path: Path) -> None:
    given = [{f"topic.creation.{name}": value for name, value in {**DEFAULT, **case}.items()} for case in CASES]
    answers = connect(jars, tmp_path, [(properties, TOPICS) for properties in given])
    expected = [None if isinstance(answer, dict) else answer for answer in answers]
    assert [ours(properties) for properties in given] == expected
    assert sum(answer is None for answer in expected) == 6
