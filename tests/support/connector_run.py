"""A run of a connector as Kafka sees one, and the command line beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.plan.slots import Owner, UnitOffset, slot_of
from ignite_kafka.source.stream.capture import owner_of
from ignite_kafka.state import status
from ignite_kafka.state.configs_writer import ConfigsWriter
from ignite_kafka.state.open_transaction import TransactionLimits
from ignite_kafka.state.slot_claim import SlotClaim
from ignite_kafka.state.slot_writer import SlotWriter
from ignite_kafka.state.status import RunStatus, StatusWriter, now_ms
from ignite_kafka.state.target_state import read_target
from tests.support.json_output import check_json_output

SLOTS, PARTITIONS = 4, 16


@dataclass
class Run:
    """A run of a connector as Kafka sees one: it takes the connector, claims its slots and writes its status."""

    clients: KafkaClients
    topics: Topics
    prefix: str
    connector: str
    record: RunStatus = field(init=False)

    def begin(self, run_id: str = "r1", settings: Mapping[str, Any] | None = None) -> Run:
        """Take the connector.

        :param settings: settings that the run records; with ``topics`` they are a sink's.
        """
        StatusWriter.ensure_topic(self.topics, self.prefix, -1)
        self.control = ConfigsWriter(self.clients, self.topics, self.prefix, self.connector)
        self.control.take(SLOTS, run_id, dict(settings or {}), -1)
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
        return check_json_output([*arguments, "--json", *self.common], self.out)

    def ranges(self, connector: str, cache: str) -> dict[int, list[list[int]]]:
        """What `offsets show` tells of a cache: partition -> ranges."""
        assert self("offsets", "show", connector, "--json") == 0, self.error
        lines = [check_json_output(["offsets", "show", connector], line) for line in self.out.splitlines()]
        return {line["partition"]["partition"]: line["offset"]["ranges"] for line in lines if line["partition"]["cache"] == cache}
