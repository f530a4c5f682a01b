"""Backlogs shown, sent again and cleaned up by the command line on real servers, beside a run that is held here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ignite_kafka.errors import CacheDestroyed
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.state import status
from ignite_kafka.state.configs import read_connector
from tests.integration.ignite.nodes import cache_xml, endpoint_of
from tests.support import QUICK_JVM
from tests.support.connector_run import PARTITIONS, CommandLine, Run
from tools.servers import IgniteCluster, Jars


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
