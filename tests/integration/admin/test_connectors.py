"""Connectors listed, restarted and deleted by the command line on a real broker, beside a run that is held here."""

from __future__ import annotations

from ignite_kafka.admin.overview import OverviewReader
from ignite_kafka.admin.target_state import list_connectors
from ignite_kafka.state import status
from ignite_kafka.state.declared_connectors import write_declaration
from ignite_kafka.state.target_state import read_stopped_generation
from tests.support.connector_run import CommandLine, Run

CONFIG = {"name": "declared", "connector.class": "IgniteSinkConnector", "topics": "t"}


def test_connectors_are_listed_restarted_and_deleted(run: Run, command: CommandLine) -> None:
    assert command("list") == 0
    assert "no connectors" in command.out
    run.begin()
    write_declaration(run.clients, run.topics, run.prefix, "declared", CONFIG, 1)
    assert command("list") == 0
    rows = {line.split()[0]: line.split()[1:3] for line in command.out.splitlines()[2:]}
    assert rows == {"conn": ["source", "RUNNING"], "declared": ["sink", "UNASSIGNED"]}

    assert command("restart", "conn") == 0
    assert "ends after its current batch" in command.out
    assert read_stopped_generation(run.clients, run.topics, run.prefix, "conn") == run.generation
    connector = OverviewReader(run.prefix).read(run.clients, run.topics)["conn"]
    assert (connector.lasting_target, connector.restart_ms > 0) == ("RUNNING", True), "only this run stops"

    assert command("delete", "conn", "--wait-ms", "0") == 1
    assert "its run has not ended" in command.out
    assert list_connectors(run.clients, run.topics, run.prefix) == ["declared"]
    for words in (("delete", "conn"), ("restart", "conn"), ("pause", "conn")):
        assert command(*words) == 2, "it is deleted"
        assert "no connector of that name" in command.error
    assert command("delete", "declared") == 0
    assert command("list") == 0
    assert "no connectors" in command.out

    run.end(status.STOPPED)
    run.begin()
    assert list_connectors(run.clients, run.topics, run.prefix) == ["conn"], "a new run makes it visible again"
