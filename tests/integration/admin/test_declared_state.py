"""`plan` and `apply` of connector files on real servers, beside a run that is held here."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from ignite_kafka.kafka.topics import TopicSpec
from tests.support.connector_run import SLOTS, CommandLine, Run


@pytest.fixture
def folder(tmp_path: Path, run: Run) -> Path:
    folder = tmp_path / "connectors"
    folder.mkdir()
    return folder


def write(folder: Path, run: Run, state: str, *more: str) -> None:
    config = f"config: {{cache_whitelist: [flights], internal_topic_prefix: {run.prefix}}}"
    (folder / "conn.yaml").write_text("\n".join([f"name: {run.connector}", "class: IgniteSource", config, f"state: {state}", *more]))


def command_of(command: CommandLine) -> CommandLine:
    """The prefix is in the files."""
    return CommandLine(command.capture, command.common[:2], ())


def test_states_go_to_kafka_and_drift_is_shown(folder: Path, run: Run, command: CommandLine) -> None:
    call = command_of(command)
    write(folder, run, "running")
    assert call("plan", str(folder)) == 0
    assert "not started" in call.out
    run.begin()
    assert call("plan", str(folder)) == 0
    assert "1 connectors are as declared" in call.out
    assert call("apply", str(folder)) == 0
    assert (call.out, run.target()) == ("every connector is as declared\n", None)
    write(folder, run, "paused")
    [row] = call.json("plan", str(folder))
    assert (row["what"], row["declared"], row["found"]) == ("state", "paused", "running")
    assert run.target() is None, "a plan writes nothing"
    assert call("apply", str(folder)) == 0
    assert run.target() == "PAUSED"
    assert call("stop", run.connector, "--internal-topic-prefix", run.prefix, "--wait-ms", "0") == 0
    [row] = call.json("plan", str(folder))
    assert (row["declared"], row["found"]) == ("paused", "stopped")
    write(folder, run, "stopped")
    assert call.json("plan", str(folder)) == []
    write(folder, run, "running")
    assert call("apply", str(folder)) == 0
    assert run.target() == "RUNNING"
    write(folder, run, "stopped")
    with ThreadPoolExecutor(1) as pool:
        asked = threading.Event()

        def follow() -> None:
            while run.target() != "STOPPED":
                asked.wait(0.05)
            run.end()

        driver = pool.submit(follow)
        assert call("apply", str(folder)) == 0
        driver.result()
    assert "target state stopped, was running  yes" in call.out


def test_broken_files_and_connectors_without_a_file_are_shown(folder: Path, run: Run, command: CommandLine) -> None:
    call = command_of(command)
    run.begin()
    run.end()
    (folder / "other.yaml").write_text(f"name: other\nconfig: {{internal_topic_prefix: {run.prefix}}}\n")
    (folder / "bad.yaml").write_text("name: bad\nconfig: {slots: 0}\n")
    assert call("plan", str(folder)) == 2
    assert "conn       no file" in call.out
    assert "bad.yaml, line 1: bad: slots is wrong" in call.out
    assert call("apply", str(folder)) == 2


def test_offsets_of_a_source_are_altered_while_it_is_stopped(folder: Path, run: Run, command: CommandLine) -> None:
    call = command_of(command)
    run.begin()
    run.send("flights")
    offsets = [{"partition": {"cache": "flights", "partition": 1}, "offset": {"sent": 7}}]
    offsets.append({"partition": {"cache": "flights", "partition": 2}, "offset": None})
    wanted = f"offsets: {json.dumps(offsets)}"
    write(folder, run, "running", wanted)
    assert call("apply", str(folder), "--alter-offsets") == 1
    assert "2 offsets left as they are: its state is running" in call.out
    run.end()
    write(folder, run, "stopped", wanted)
    assert call("apply", str(folder)) == 1
    assert "--alter-offsets is not given" in call.out
    first, _ = call.json("plan", str(folder))
    assert (first["place"], first["declared"], first["found"]) == ("flights, partition 1", 7, 101)
    assert call("apply", str(folder), "--alter-offsets") == 0
    assert call.json("plan", str(folder)) == []
    shown = CommandLine(command.capture, command.common, ()).ranges(run.connector, "flights")
    assert shown[1] == [[0, 7]]
    assert 2 not in shown
    assert shown[3] == [[0, 103]]


def test_offsets_of_a_sink_are_those_of_its_group(folder: Path, run: Run, command: CommandLine) -> None:
    call = command_of(command)
    topic = f"{run.prefix}-data"
    run.begin(settings={"topics": [topic]})
    run.topics.ensure([TopicSpec(topic, 2, 1)])
    text = f"name: {run.connector}\nclass: IgniteSink\nconfig: {{topics: {topic}, internal_topic_prefix: {run.prefix}}}\nstate: stopped\n"
    offset = f"offsets: [{{partition: {{kafka_topic: {topic}, kafka_partition: 1}}, offset: {{kafka_offset: 4}}}}]\n"
    (folder / "conn.yaml").write_text(text + offset)
    assert call("apply", str(folder), "--alter-offsets", "--wait-ms", "100") == 1
    assert "its newest run has not ended" in call.out
    run.end()
    assert call("apply", str(folder), "--alter-offsets") == 0
    consumer = run.clients.reader(**{"group.id": f"connect-{run.connector}"})
    assert [place.offset for place in consumer.committed([TopicPartition(topic, 1)], 30)] == [4]
    consumer.close()
    assert call.json("plan", str(folder)) == []


def test_offsets_are_listed_as_strimzi_lists_them(folder: Path, run: Run, command: CommandLine) -> None:
    call = command_of(command)
    run.begin()
    run.send("flights", SLOTS)
    run.end()
    text = (
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n"
        f"metadata: {{name: {run.connector}, annotations: {{strimzi.io/connector-offsets: ACTION}}}}\nspec:\n"
        "  class: org.gridgain.kafka.source.IgniteSourceConnector\n  state: stopped\n"
        "  listOffsets: {toConfigMap: {name: listed}}\n  alterOffsets: {fromConfigMap: {name: listed}}\n"
        f"  config: {{cacheWhitelist: flights, key_converter: json, value_converter: json, internal_topic_prefix: {run.prefix}}}\n"
    )
    (folder / "conn.yaml").write_text(text.replace("ACTION", "list"))
    assert call("apply", str(folder)) == 0
    assert "offsets listed in" in call.out
    (folder / "conn.yaml").write_text(text.replace("ACTION", "alter"))
    assert call.json("plan", str(folder)) == []
    listed = folder / "listed.yaml"
    listed.write_text(listed.read_text().replace("101", "55"))
    [row] = call.json("plan", str(folder))
    assert (row["declared"], row["found"]) == (55, 101)
