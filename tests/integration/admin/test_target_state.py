"""Pause, resume and stop, offsets changed by hand, resend and cleanup: the command line on real servers, beside a run that is held here."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ignite_kafka.admin import offsets as offset_changes
from ignite_kafka.admin.target_state import newest_run
from ignite_kafka.cli import main as cli
from ignite_kafka.errors import CacheDestroyed, Fenced, KafkaUnavailable
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.plan.slots import Owner, UnitOffset, slot_of
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.capture import owner_of
from ignite_kafka.state import status
from ignite_kafka.state.configs import offsets_topic, read_connector
from ignite_kafka.state.configs_writer import ConfigsWriter
from ignite_kafka.state.open_transaction import TransactionLimits
from ignite_kafka.state.slot_claim import SlotClaim
from ignite_kafka.state.slot_writer import SlotWriter
from ignite_kafka.state.status import RunStatus, StatusWriter, now_ms
from ignite_kafka.state.target_state import read_target
from tests.integration.ignite.nodes import cache_xml, endpoint_of
from tests.support import QUICK_JVM
from tools.servers import IgniteCluster, Jars, KafkaBroker

SLOTS, PARTITIONS = 4, 16


@dataclass
class Run:
    """A run of a connector as Kafka sees one: it takes the connector, claims its slots and writes its status."""

    clients: KafkaClients
    topics: Topics
    prefix: str
    connector: str
    record: RunStatus = field(init=False)

    def begin(self, run_id: str = "r1") -> Run:
        StatusWriter.ensure_topic(self.topics, self.prefix, -1)
        self.control = ConfigsWriter(self.clients, self.topics, self.prefix, self.connector)
        self.control.take(SLOTS, run_id, {}, -1)
        self.control.begin()
        self.record = RunStatus(status.RUNNING, self.connector, run_id, generation=self.generation, started_ms=now_ms())
        self.tell(status.RUNNING)
        return self

    @property
    def backlog_settings(self) -> dict[str, str]:
        """As the connector captures."""
        return {"backlogFlushFreq": "50", "backlogOwner": owner_of(self.topics, self.prefix)}

    @property
    def generation(self) -> int:
        return self.control.record.generation

    def tell(self, state: str, error: dict[str, Any] | None = None) -> None:
        ended = None if state == status.RUNNING else now_ms()
        self.record = replace(self.record, state=state, ended_ms=ended, error=error)
        StatusWriter(self.clients, self.prefix).run(self.record)

    def end(self, state: str = status.STOPPED, error: dict[str, Any] | None = None) -> None:
        self.tell(state, error)
        self.control.close()

    def slot(self, slot: int) -> SlotWriter:
        claim = SlotClaim.of(self.connector, slot, Owner(self.generation), self.prefix)
        return SlotWriter(self.clients, claim, TransactionLimits(), 1_000_000, self.topics)

    def send(self, cache: str, partitions: int = PARTITIONS) -> None:
        """Write the offsets of all units of a cache, as a stream does that has sent update numbers up to 100 and the partition."""
        for number in range(SLOTS):
            slot = self.slot(number)
            for partition in range(partitions):
                if slot_of(cache, partition, SLOTS) == number:
                    offset = UnitOffset(self.generation, "7", "s", True, 5, 100 + partition, "packed")
                    slot.unit_offset(cache, partition, offset)
            slot.commit()
            slot.close()

    def target(self) -> str | None:
        return read_target(self.clients, self.topics, self.prefix, self.connector)


@pytest.fixture
def run(kafka: KafkaBroker, unique: Callable[[str], str]) -> Run:
    clients = KafkaClients(kafka.client_config)
    return Run(clients, Topics(clients), unique("life"), "conn")


@pytest.fixture(scope="module")
def nodes(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IgniteCluster]:
    """A node and its caches; `stocks` is for the stream alone."""
    caches = "".join(cache_xml(name, PARTITIONS) for name in ("trades", "quotes", "stocks"))
    properties = (("cacheConfiguration", f"<list>{caches}</list>"),)
    with IgniteCluster(
        tmp_path_factory.mktemp("life"), jars=jars, data_region_mib=128, properties=properties, java_options=QUICK_JVM
    ) as started:
        yield started


@pytest.fixture
def service(nodes: IgniteCluster) -> Iterator[BacklogService]:
    with ThinConnection(endpoint_of(nodes), IgniteCredentials(), nodes.address) as connection:
        opened = BacklogService(connection)
        yield opened
        for connector in opened.connectors():
            opened.force_stop(connector, destroy=True)


@dataclass
class CommandLine:
    """Runs the command in this process. :attr:`out` and :attr:`error`, the last line on stderr, are of the last call."""

    capture: pytest.CaptureFixture[str]
    common: tuple[str, ...]
    ignite: tuple[str, ...]
    out: str = ""
    error: str = ""

    def __call__(self, *arguments: str) -> int:
        places = self.common + (self.ignite if arguments[0] in ("resend", "backlog") else ())
        code = cli.main(["-q", *arguments, *places])
        captured = self.capture.readouterr()
        self.out, self.error = captured.out, (captured.err.rstrip().splitlines() or [""])[-1]
        return code

    def json(self, *arguments: str) -> Any:
        assert self(*arguments, "--json") == 0, self.error
        return json.loads(self.out)

    def ranges(self, connector: str, cache: str) -> dict[int, list[list[int]]]:
        """What `offsets show` tells of a cache: partition -> ranges."""
        assert self("offsets", "show", connector, "--json") == 0, self.error
        lines = [json.loads(line) for line in self.out.splitlines()]
        return {line["partition"]["partition"]: line["offset"]["ranges"] for line in lines if line["partition"]["cache"] == cache}


@pytest.fixture
def command(kafka: KafkaBroker, run: Run, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> CommandLine:
    ignite = request.getfixturevalue("nodes").addresses if "nodes" in request.fixturenames else ()
    common = ("--kafka", kafka.bootstrap, "--internal-topic-prefix", run.prefix)
    return CommandLine(capsys, common, ("--ignite", ",".join(ignite)))


def test_a_running_connector_is_paused_resumed_and_stopped(run: Run, command: CommandLine) -> None:
    run.begin()
    assert run.target() is None
    assert command("pause", "conn") == 0
    assert command.out == "connector conn: target state PAUSED\nrun r1: RUNNING; it follows at its next batch\n"
    assert run.target() == "PAUSED"
    assert command.json("status", "conn")["target"] == "PAUSED"
    assert command("status", "conn") == 0
    assert "generation 1, 4 slots, target state PAUSED" in command.out
    assert command("resume", "conn") == 0
    assert run.target() == "RUNNING"
    with ThreadPoolExecutor(1) as pool:
        asked = threading.Event()

        def follow() -> None:
            while run.target() != "STOPPED":
                asked.wait(0.05)
            run.end()

        driver = pool.submit(follow)
        assert command("stop", "conn") == 0
        driver.result()
    assert command.out == "connector conn: target state STOPPED\nrun r1: ended STOPPED\n"
    assert command("pause", "conn") == 0
    assert "run r1: had ended before (STOPPED); the next start begins paused" in command.out


def test_a_stop_says_what_it_found(run: Run, command: CommandLine) -> None:
    run.begin()
    assert command("stop", "conn", "--wait-ms", "200") == 1
    assert "run r1: RUNNING, has not ended in that time" in command.out
    assert command("stop", "conn", "--wait-ms", "0") == 0
    assert "run r1: RUNNING; it follows at its next batch" in command.out
    with ThreadPoolExecutor(1) as pool:
        failed = pool.submit(run.end, status.FAILED, CacheDestroyed("gone").to_dict())
        assert command("stop", "conn", "--wait-ms", "60000") in (0, 1)  # 0 where it had failed before it was asked
        failed.result()
    assert "FAILED, CacheDestroyed: see ignite-kafka status conn" in command.out
    assert command.json("stop", "conn")["run"]["error"]["type"] == "CacheDestroyed"


@pytest.mark.parametrize("action", ["pause", "resume", "stop", "status"])
def test_a_name_that_nobody_started_lists_the_known_ones(action: str, run: Run, command: CommandLine) -> None:
    assert command(action, "con") == 2
    assert "connector con," in command.error
    assert "None is known there" in command.error
    assert not [topic for topic in run.topics.existing() if run.prefix in topic], "nothing was made"
    run.begin().end()
    assert command(action, "con") == 2
    assert "Did you mean conn? Known are conn;" in command.error


def test_offsets_are_altered_and_reset_while_nothing_runs(run: Run, command: CommandLine) -> None:
    run.begin()
    run.send("trades")
    run.send("quotes")
    run.end()
    assert command("offsets", "show", "conn") == 0
    assert "quotes  s         7                    16       80              16  100 … 115" in command.out
    assert command("offsets", "alter", "conn", "--cache", "trades", "--partition", "3", "--sent", "50") == 0
    assert command.out == "cache trades, partition 3: numbers sent were 0 to 103, are 0 to 50\n"
    expected = {partition: [[0, 100 + partition]] for partition in range(PARTITIONS)}
    assert command.ranges("conn", "trades") == {**expected, 3: [[0, 50]]}
    assert command.out.count("recent") == 2 * PARTITIONS - 1, "what was sent last counts no more, too"
    assert command("offsets", "reset", "conn", "--cache", "trades", "--partition", "5") == 0
    left = {partition: ranges for partition, ranges in {**expected, 3: [[0, 50]]}.items() if partition != 5}
    assert command.ranges("conn", "trades") == left
    assert command.json("offsets", "reset", "conn", "--cache", "trades") == {"units": {"trades": 15}}
    assert command.ranges("conn", "trades") == {}
    assert command.ranges("conn", "quotes") == expected
    assert command.json("offsets", "reset", "conn") == {"units": {"quotes": 16}}
    assert command.json("offsets", "reset", "conn") == {"units": {}}, "repeatable"
    messages = read_to_end(run.clients, run.topics, offsets_topic(run.prefix, "conn"), list(range(SLOTS)))
    assert sum(message.value() is None for message in messages) == 2 * PARTITIONS
    slot = run.begin("r2").slot(0)
    assert slot.state.units == {}, "the next run takes them for never sent"
    slot.close()
    run.end()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("alter", "conn", "--cache", "trades", "--partition", "99", "--sent", "1"), "cache trades, partition 99"),
        (("alter", "conn", "--cache", "trade", "--partition", "1", "--sent", "1"), "Did you mean trades?"),
        (("reset", "conn", "--cache", "trade"), "Did you mean trades?"),
        (("reset", "conn", "--cache", "trades", "--partition", "99"), "cache trades, partition 99"),
        (("reset", "conn", "--partition", "1"), "Give --cache too"),
        (("reset", "nobody"), "Known are conn"),
    ],
)
def test_offsets_that_are_not_there_are_not_changed(arguments: tuple[str, ...], told: str, run: Run, command: CommandLine) -> None:
    run.begin()
    run.send("trades")
    run.end()
    assert command("offsets", *arguments) == 2
    assert told in command.error
    assert len(command.ranges("conn", "trades")) == PARTITIONS


def test_offsets_of_a_run_that_has_not_ended_need_force(run: Run, command: CommandLine) -> None:
    run.begin()
    run.send("trades")
    alter = ("offsets", "alter", "conn", "--cache", "trades", "--partition", "3", "--sent", "50")
    for refused in (alter, ("offsets", "reset", "conn")):
        assert command(*refused) == 1
        assert command.error.startswith("ignite-kafka: NotStopped ")
        assert "run id r1, state RUNNING" in command.error
        assert "ignite-kafka stop conn" in command.error
    number = slot_of("trades", 3, SLOTS)
    slot = run.slot(number)  # the run is alive after all
    slot.unit_done("trades", 3, "7", "s", 9)
    assert command(*alter, "--force") == 0, command.error
    with pytest.raises(KafkaUnavailable, match="was fenced"):
        slot.commit()
    slot.close()
    again = run.slot(number)
    assert again.state.units["trades", 3].high == 50, "it goes on from what was written by hand"
    assert again.state.units["trades", 3].records == 5
    again.close()
    run.end()


def test_a_run_that_starts_meanwhile_keeps_its_slots(run: Run, command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    run.begin()
    run.send("trades")
    run.end()
    look = newest_run

    def start_after_the_look(*arguments: Any) -> Any:
        found = look(*arguments)
        run.begin("r2")
        return found

    monkeypatch.setattr(offset_changes, "newest_run", start_after_the_look)
    settings = SourceSettings(name="conn", bootstrap_servers=run.clients.bootstrap, internal_topic_prefix=run.prefix)
    with pytest.raises(Fenced, match="generation 2"):
        offset_changes.reset(settings, Secrets())
    assert len(command.ranges("conn", "trades")) == PARTITIONS
    run.end()


def test_a_backlog_is_shown(run: Run, command: CommandLine, nodes: IgniteCluster, service: BacklogService) -> None:
    assert command("backlog", "status", "conn") == 1
    assert "BacklogRefused" in command.error
    assert "'conn'" in command.error
    started = service.start("conn", run.backlog_settings, ["trades"])
    with nodes.client() as client:
        client.get_cache("trades").put_all({key: f"value {key}" for key in range(100)})
    service.barrier("conn")
    shown = command.json("backlog", "status", "conn")
    assert (shown["capture_id"], shown["registered"]) == (started["captureId"], 1)
    assert shown["caches"] == [{"cache": "trades", "incarnation": started["incarnation.trades"], "partitions": PARTITIONS}]
    assert sum(unit["changes"] for unit in shown["units"]) == 100
    assert all(unit["cache"] == "trades" and unit["low"] <= unit["high"] and not unit["marks"] for unit in shown["units"])
    assert command("backlog", "status", "conn") == 0
    assert "100 changes of " in command.out
    assert f"node {shown['nodes'][0].split()[0]} entries=" in command.out


def test_units_are_marked_to_be_sent_again(run: Run, command: CommandLine, service: BacklogService) -> None:
    service.start("conn", run.backlog_settings, ["trades"])
    assert command("resend", "trades", "3", "--name", "conn") == 0
    assert "partition 3 will be sent again by connector conn" in command.out
    marked = {unit["partition"]: unit["marks"] for unit in command.json("backlog", "status", "conn")["units"]}
    assert marked == {3: ["asked"]}
    assert command("resend", "trades", "--name", "conn") == 0
    marked = {unit["partition"]: unit["marks"] for unit in command.json("backlog", "status", "conn")["units"]}
    assert marked == {partition: ["asked"] for partition in range(PARTITIONS)}
    for arguments, told in (
        (("quotes", "--name", "conn"), "It captures trades."),
        (("trades", "16", "--name", "conn"), "It has 0 to 15."),
        (("trades",), "name is missing"),
    ):
        assert command("resend", *arguments) == 2
        assert told in command.error
    assert command("resend", "trades", "--name", "nobody") == 1
    assert "BacklogRefused" in command.error


def test_a_backlog_is_cleaned_up_after_a_graceful_stop(
    run: Run, command: CommandLine, nodes: IgniteCluster, service: BacklogService
) -> None:
    assert command("backlog", "cleanup", "conn") == 0
    assert command.out == "connector conn: there was no backlog\n"
    service.start("conn", run.backlog_settings, ["trades"])
    service.start("conn-2", run.backlog_settings, ["trades", "quotes"])
    assert command("backlog", "cleanup", "conn") == 1
    assert "Kafka has no record of the connector" in command.error
    run.begin()
    assert command("backlog", "cleanup", "conn") == 1
    assert command.error.startswith("ignite-kafka: NotStopped the newest run of the connector has not ended")
    assert "run id r1, state RUNNING" in command.error
    assert "ignite-kafka stop conn" in command.error
    run.tell(status.FAILED, CacheDestroyed("gone").to_dict())
    assert command("backlog", "cleanup", "conn") == 1
    assert "run id r1, state FAILED" in command.error
    assert service.connectors() == ["conn", "conn-2"]
    run.end()
    assert command("backlog", "cleanup", "conn") == 0
    assert command.out == "connector conn: removed service kafka-connect-backlog-service-conn and cache kafka-connect-backlog-conn\n"
    assert command.json("backlog", "cleanup", "conn") == {"connector": "conn", "service": None, "cache": None}
    assert service.connectors() == ["conn-2"]
    with nodes.client() as client:
        assert set(client.get_cache_names()) == {"trades", "quotes", "stocks", "kafka-connect-backlog-conn-2"}
        client.get_cache("quotes").put(1, "one")
    service.barrier("conn-2")
    assert service.units("conn-2").count.sum() == 1, "the other connector captures on"


def test_the_backlog_of_another_connector_of_the_name_is_cleaned_up_only_by_force(
    run: Run, command: CommandLine, service: BacklogService
) -> None:
    """Its offsets are under another prefix, or in another Kafka cluster: whether it runs cannot be seen here."""
    service.start("conn", {**run.backlog_settings, "backlogOwner": "elsewhere/connect"}, ["trades"])
    run.begin().end()
    assert command("backlog", "cleanup", "conn") == 1
    assert command.error.startswith("ignite-kafka: BacklogRefused connector 'conn' captures for 'elsewhere/connect', not for ")
    assert "ignite-kafka backlog cleanup --force" in command.error
    assert service.connectors() == ["conn"]
    assert command("backlog", "cleanup", "conn", "--force") == 0
    assert service.connectors() == []


def test_the_command_line_brings_the_secret_that_runs_keep_in_kafka(
    run: Run, command: CommandLine, nodes: IgniteCluster, service: BacklogService
) -> None:
    secret = run.begin().control.ensure_capture_secret(read_connector(run.clients, run.topics, run.prefix, "conn"))
    assert read_connector(run.clients, run.topics, run.prefix, "conn").capture_secret == secret
    with ThinConnection(endpoint_of(nodes), IgniteCredentials(), nodes.address) as connection:
        BacklogService(connection, secret).start("conn", run.backlog_settings, ["trades"])
        BacklogService(connection, "a secret that Kafka does not have").start("lost", run.backlog_settings, ["trades"])
    assert command("resend", "trades", "3", "--name", "conn") == 0
    assert command("resend", "trades", "3", "--name", "lost") == 1
    assert "FORBIDDEN" in command.error
    assert "backlog cleanup --force" in command.error
    run.end()
    assert command("backlog", "cleanup", "conn") == 0
    assert command("backlog", "cleanup", "lost", "--force") == 0
    assert service.connectors() == []


def test_a_dead_connector_is_cleaned_up_by_force(run: Run, command: CommandLine, service: BacklogService) -> None:
    service.start("conn", run.backlog_settings, ["trades"])
    run.begin()
    removed = {"connector": "conn", "service": "kafka-connect-backlog-service-conn", "cache": "kafka-connect-backlog-conn"}
    assert command.json("backlog", "cleanup", "conn", "--force") == removed
    assert service.connectors() == []
    run.end()
