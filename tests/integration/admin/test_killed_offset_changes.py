"""`offsets reset` killed (SIGKILL) around its commit: all offsets are changed or none, and the next command completes it."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import pytest
from confluent_kafka import Producer

from ignite_kafka.admin import offset_transaction, offsets
from ignite_kafka.errors import Fenced
from ignite_kafka.kafka.topics import TopicSpec
from ignite_kafka.plan.slots import slot_of
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.support.connector_run import PARTITIONS, SLOTS, CommandLine, Run
from tests.support.waiting import DEADLINE_S, REQUEST_S

KILLED_AT_COMMIT = """
import os, signal, sys
from ignite_kafka.cli import main
from ignite_kafka.kafka.producer import TransactionalProducer

commit = TransactionalProducer.commit

def kill_at_commit(producer):
    if sys.argv[1] == "after":
        commit(producer)
    producer._drain()
    os.kill(os.getpid(), signal.SIGKILL)

TransactionalProducer.commit = kill_at_commit
main.main(sys.argv[2:])
"""


def kill_reset(command: CommandLine, moment: str, *arguments: str) -> None:
    """Kill the command at its first commit: before it, with all records sent, or after it."""
    argv = [sys.executable, "-c", KILLED_AT_COMMIT, moment, "-q", "offsets", "reset", "conn", *arguments, *command.common]
    assert subprocess.run(argv, timeout=DEADLINE_S, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize(("moment", "units_left"), [("before", {"trades": PARTITIONS}), ("after", {})])
def test_offsets_of_a_source(run: Run, command: CommandLine, moment: str, units_left: dict[str, int]) -> None:
    run.begin()
    run.send("trades")
    run.end()
    kill_reset(command, moment)
    assert command.json("offsets", "reset", "conn") == {"units": units_left}
    assert command.ranges("conn", "trades") == {}


def test_offsets_of_a_sink(run: Run, command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_transaction, "OFFSETS_PER_REQUEST", 1)  # all requests are of one transaction
    topic = f"{run.prefix}-data"
    run.topics.ensure([TopicSpec(topic, SLOTS, 1)])
    assert len({slot_of(topic, number, SLOTS) for number in range(SLOTS)}) == SLOTS
    producer = Producer(dict(run.clients.common))
    for number in range(SLOTS):
        producer.produce(topic, b"{}", b"1", number)
    assert producer.flush(REQUEST_S) == 0
    run.begin(settings=SinkSettings(name="conn", topics=(topic,), internal_topic_prefix=run.prefix).to_dict())
    run.end()
    for moment, to, before in (("before", "earliest", None), ("after", "latest", 1)):
        kill_reset(command, moment, "--to", to)
        changed_offsets = command.json("offsets", "reset", "conn", "--to", to)["offsets"]
        assert [offset["before"] for offset in changed_offsets] == [before] * SLOTS, moment


def test_a_run_that_began_meanwhile_keeps_its_connector(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.begin()
    run.end()
    take_connector = offsets.InactiveConnector.take

    def take_then_begin_run(*arguments: Any) -> offsets.InactiveConnector:
        hold = take_connector(*arguments)
        run.begin()
        return hold

    monkeypatch.setattr(offsets.InactiveConnector, "take", take_then_begin_run)
    servers = run.clients.common["bootstrap.servers"]
    settings = SourceSettings(name=run.connector, bootstrap_servers=servers, internal_topic_prefix=run.prefix)
    with pytest.raises(Fenced, match="generation 2"):
        offsets.reset(settings, Secrets())
    run.control.begin_epoch(1)
