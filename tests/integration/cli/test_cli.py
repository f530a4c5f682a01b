"""The command line on a real node and a real broker: dry run, run, comparison, status, offsets."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyignite.datatypes import LongObject

from ignite_kafka import events
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec
from ignite_kafka.settings.source import SourceSettings
from tests.integration.cli.conftest import Command
from tests.support import PARTITIONS
from tests.support.kept_events import assert_kept
from tests.support.processes import ManagedProcess
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker


def test_a_file_of_the_reference_from_dry_run_to_offsets(
    command: Command, ignite: IgniteCluster, kafka: KafkaBroker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("cli")
    file = tmp_path / "connector.properties"
    file.write_text(
        f"name={name}\nconnector.class=org.gridgain.kafka.source.IgniteSourceConnector\ntasks.max=2\nigniteCfg=server.xml\n"
        f"topicPrefix=to-\ncacheWhitelist={name}-.*,gone-{name}\nerrors.log.enable=true\ncacheBlacklist=.*-not\nslots=4\ninternal_topic_prefix={name}\n"
    )
    with ignite.client() as client:
        for suffix, count in (("many", 2_000), ("empty", 0), ("not", 5)):
            cache = client.get_or_create_cache(f"{name}-{suffix}")
            cache.put_all({(key, LongObject): f"value {key}" for key in range(count)})

    planned = command("plan", str(file), "--json")
    assert planned.returncode == 0, planned.stderr
    plan = json.loads(planned.stdout)
    assert [(cache["cache"], cache["topic"], cache["units_done"]) for cache in plan["caches"]] == [
        (f"{name}-empty", f"to-{name}-empty", 0),
        (f"{name}-many", f"to-{name}-many", 0),
    ]
    assert (plan["state"], plan["slots"], plan["tasks"]) == ("new", 4, 2)
    topics = Topics(KafkaClients(kafka.client_config))
    assert not [topic for topic in topics.existing() if name in topic], "a dry run writes nothing"

    early = command("verify", str(file))
    assert (early.returncode, early.stdout) == (1, ""), "a comparison that failed is no difference"
    assert "no topic of the connector exists" in early.stderr
    ran = command("run", str(file), "--master", "local[2]", "--snapshot-id", "s1", "--run-id", "r1")
    assert ran.returncode == 0, ran.stderr
    assert "snapshot s1 is complete" in ran.stdout
    recorded = SourceSettings(name=name, bootstrap_servers=kafka.bootstrap, internal_topic_prefix=name)
    assert_kept(recorded, events.CONFIG_CHANGED, events.NAME_MATCHES_NOTHING)

    done = json.loads(command("plan", str(file), "--json", "--snapshot-id", "s1").stdout)
    assert done["state"] == "complete"
    assert {cache["cache"]: (cache["units_done"], cache["records_done"]) for cache in done["caches"]} == {
        f"{name}-empty": (PARTITIONS, 0),
        f"{name}-many": (PARTITIONS, 2_000),
    }

    assert command("verify", str(file)).returncode == 0
    shown = json.loads(command("status", name, "--json", "--internal-topic-prefix", name).stdout)
    assert shown["snapshot"] == {"id": "s1", "complete": True}
    assert (shown["runs"]["r1"]["state"], shown["runs"]["r1"]["caches"][f"{name}-many"]["records"]) == ("COMPLETED", 2_000)

    (listed,) = json.loads(command("status", "--json", "--internal-topic-prefix", name).stdout)["connectors"]
    assert (listed["name"], listed["state"], listed["run_id"], listed["records"]) == (name, "COMPLETED", "r1", 2_000)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = ["status", name, "--watch", "--internal-topic-prefix", name, "--kafka", kafka.bootstrap]
    watch = ManagedProcess([sys.executable, "-m", "ignite_kafka.cli", *line], tmp_path / "watch.log", environment)
    try:
        wait_until(lambda: f"{name} COMPLETED: run r1, 2,000 records" in watch.output(), "the connector's line")
        os.killpg(watch.pid, signal.SIGINT)
        assert watch.wait() == 130, watch.output_tail()
    finally:
        watch.stop()

    offsets = command("offsets", "show", name, "--json", "--internal-topic-prefix", name)
    units = [json.loads(line) for line in offsets.stdout.splitlines()]
    assert len(units) == 2 * PARTITIONS
    assert sum(unit["offset"]["snapshot"]["records"] for unit in units) == 2_000
    table = command("offsets", "show", name, "--internal-topic-prefix", name).stdout
    assert [line.split()[0] for line in table.splitlines()[2:]] == [f"{name}-empty", f"{name}-many"]

    with ignite.client() as client:
        client.get_cache(f"{name}-many").put(5, "another value", key_hint=LongObject)
    differs = command("verify", str(file))
    assert (differs.returncode, "another value" in differs.stdout) == (5, True), differs.stderr
    repaired = command("verify", str(file), "--repair", "--json")
    assert repaired.returncode == 0, repaired.stderr
    assert {one["cache"]: one["repaired"] for one in json.loads(repaired.stdout)["caches"]} == {f"{name}-empty": 0, f"{name}-many": 1}
    by_name = command("verify", "--name", name, "--internal-topic-prefix", name, "--sample", "50")
    assert by_name.returncode == 0, by_name.stderr


@pytest.mark.long("test_a_file_of_the_reference_from_dry_run_to_offsets")
def test_a_sink_s_file_of_the_reference_from_dry_run_to_offsets(
    command: Command, ignite: IgniteCluster, kafka: KafkaBroker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("cli")
    file = tmp_path / "sink.properties"
    file.write_text(
        f"name={name}\nconnector.class=org.gridgain.kafka.sink.IgniteSinkConnector\ntasks.max=2\nigniteCfg=server.xml\ntopics=ignite-{name}\n"
        f"shallProcessUpdates=true\nslots=2\ninternal_topic_prefix={name}\n"
    )
    topics = Topics(KafkaClients(kafka.client_config))
    topics.ensure([TopicSpec(f"ignite-{name}", 2)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(100):
        producer.produce(f"ignite-{name}", b'{"id":%d}' % number, b"%d" % number, number % 2)
    assert producer.flush(REQUEST_S) == 0

    assert f"connector {name}" in command("validate", str(file)).stdout
    shown = command("plan", str(file), "--json")
    assert shown.returncode == 0, shown.stderr
    (topic,) = json.loads(shown.stdout)["topics"]
    assert topic == {"topic": f"ignite-{name}", "cache": name, "cache_exists": False, "partitions": 2, "records": 100}
    with ignite.client() as client:
        assert name not in client.get_cache_names(), "a dry run makes no cache"

    ran = command("run", str(file), "--master", "local[2]", "--run-id", "r1")
    assert ran.returncode == 0, ran.stderr
    assert "the run is complete" in ran.stdout
    compared = command("verify", str(file))
    assert compared.returncode == 0, compared.stderr
    with ignite.client() as client:
        assert client.get_cache(name).get_size() == 100
        client.get_cache(name).destroy()

    status = json.loads(command("status", name, "--json", "--internal-topic-prefix", name).stdout)
    assert (status["runs"]["r1"]["state"], status["runs"]["r1"]["caches"][name]["records"]) == ("COMPLETED", 100)
    offsets = command("offsets", "show", name, "--json", "--internal-topic-prefix", name).stdout.splitlines()
    assert [json.loads(line)["offset"]["kafka_offset"] for line in offsets] == [50, 50]
    assert "next offset" in command("offsets", "show", name, "--internal-topic-prefix", name).stdout
    assert json.loads(command("plan", str(file), "--json").stdout)["topics"][0]["records"] == 0
    reset = command("offsets", "reset", name, "--internal-topic-prefix", name)
    assert reset.returncode == 2, reset.stderr
    assert f"offsets reset {name} --to earliest" in reset.stderr
    reset = command("offsets", "reset", name, "--to", "earliest", "--internal-topic-prefix", name)
    assert reset.returncode == 0, reset.stderr
    assert json.loads(command("plan", str(file), "--json").stdout)["topics"][0]["records"] == 100
    assert command("stop", name, "--internal-topic-prefix", name).returncode == 0


def test_errors_name_what_and_where(command: Command, unique: Callable[[str], str], tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": unique("cli"), "cache_whitelist": ["no-such-cache"]}))
    cases = [
        (command("plan", str(file)), "CacheNotFound", "no-such-cache"),
        (command("plan", str(file), ignite="127.0.0.1:1"), "IgniteUnreachable", "127.0.0.1:1"),
        (command("plan", str(file), kafka="127.0.0.1:1"), "KafkaUnavailable", "127.0.0.1:1"),
        (command("run", str(file), "--run-id", "r"), "CacheNotFound", "no-such-cache"),
        (command("status", "nobody"), "SettingsError", "nobody"),
        (command("offsets", "show", "nobody"), "SettingsError", "nobody"),
    ]
    for done, error, place in cases:
        last = done.stderr.rstrip().splitlines()[-1]
        assert done.returncode == (2 if error == "SettingsError" else 1), done.stderr
        assert last.startswith(f"ignite-kafka: {error} ")
        assert place in last
    shown = json.loads(command("status", json.loads(file.read_text())["name"], "--json").stdout)
    assert (shown["runs"]["r"]["state"], shown["runs"]["r"]["error"]["type"]) == ("FAILED", "CacheNotFound")


def test_ctrl_c_names_the_command_that_goes_on_and_status_says_what_happened(
    command: Command, ignite: IgniteCluster, kafka: KafkaBroker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = unique("cli")
    Topics(KafkaClients(kafka.client_config)).ensure([TopicSpec(name, 1)])
    file = tmp_path / "sink.json"
    places = {"ignite_addresses": list(ignite.addresses), "bootstrap_servers": kafka.bootstrap}
    file.write_text(json.dumps({"name": name, "topics": [name], "run_mode": "continuous", "slots": 1, **places}))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
    line = [sys.executable, "-m", "ignite_kafka.cli.main", "run", str(file), "--master", "local[1]", "--run-id", "r1"]
    run = ManagedProcess(line, tmp_path / "run.log", environment)
    try:
        wait_until(lambda: "15100 # run r1 " in run.output() or not run.running(), "the run's start")
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to Spark's JVM and the Python workers too
        assert run.wait() == 130, run.output_tail()
    finally:
        run.stop()
    (told,) = [line for line in run.output().splitlines() if line.startswith("ignite-kafka: ")]
    assert told.startswith("ignite-kafka: Interrupted "), run.output_tail()
    assert told.endswith(f"To continue: ignite-kafka run {file} --master 'local[1]'")
    assert "the run was ended by Ctrl-C (SIGINT)" in command("status", name).stdout
