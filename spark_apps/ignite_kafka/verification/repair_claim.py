"""Claim that a repair has on an idle connector; a new run ends the claim before it sends anything.

A repair records itself with the transactional ids of its producers. A new run publishes its generation, then fences
these ids: an older producer is fenced, and a later one sees the generation. So a late record of the repair, such as
that of a suspended task, never follows a newer record of the run (docs/operations.md).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext

from ..admin.target_state import newest_run
from ..errors import Fenced, NotStopped
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..settings.connector import ConnectorSettings
from ..settings.sink import SinkSettings
from ..sink.fence import fence_name
from ..state.configs import RepairRecord, read_connector
from ..state.configs_writer import ConfigsWriter
from ..state.internal_names import repair_transactional_id


@dataclass(frozen=True)
class RepairClaim:
    """Claim of a running repair, which its tasks check before they write.

    :param slots: number of the connector's slots.
    :param fence: name of a strict sink's fence, by which nodes compare the repair's writes; empty for other connectors.
    :param began_s: time of the claim in seconds since 1970; a later repair of the same generation has a later one.
    """

    connector: str
    prefix: str
    record: RepairRecord
    slots: int = 0
    fence: str = ""
    began_s: int = 0

    @property
    def transactional_id(self) -> str:
        """Transactional id that the current Spark task's producer uses."""
        context = TaskContext.get()
        number = context.partitionId() if context else 0
        assert number < self.record.producers
        return repair_transactional_id(self.connector, number)

    def check(self, clients: KafkaClients) -> None:
        """Check that no run and no other repair has begun since the claim.

        :raises Fenced: a run or another repair has begun.
        """
        state = read_connector(clients, Topics(clients), self.prefix, self.connector)
        # the generation, too: a run publishes it before it fences the producers, and removes the record after that
        if state.repair != self.record or state.generation > self.record.generation:
            raise self.superseded_error()

    def superseded_error(self, **where: Any) -> Fenced:
        """Make the error of a repair that must end because a run or another repair began."""
        return Fenced(
            "a run or another repair of the connector began during the repair, which ends",
            "Stop the run, or wait for the end of the other repair; then verify with --repair again.",
            connector=self.connector,
            **where,
        )


@dataclass(frozen=True)
class Idle:
    """Connector whose newest run has ended, as a repair requires.

    A run could write newer values before the repair's older ones.

    :param generation: generation of the newest run; 0: no run has begun yet.
    :param slots: number of the connector's slots.
    """

    clients: KafkaClients
    settings: ConnectorSettings
    generation: int
    slots: int = 0

    @staticmethod
    def check(clients: KafkaClients, settings: ConnectorSettings, *, force: bool) -> Idle:
        """Check that the connector's newest run has ended, before a repair.

        :param force: proceed although the newest run's status record shows no end.
        :raises NotStopped: the newest run has not ended.
        :raises SettingsError: a field orders the sink's entries, and a repair does not compare it at the entry.
        """
        if isinstance(settings, SinkSettings) and settings.order_field:
            reason = "a repair would replace entries whose field is greater than that of any record"
            remedy = (
                f"Read all records once more: ignite-kafka offsets reset {settings.name} --to earliest, then run the "
                "sink; nodes keep the greatest"
            )
            raise settings.wrong("order_field", reason, remedy)
        newest = newest_run(clients, Topics(clients), settings.internal_topic_prefix, settings.name)
        if not newest.unknown and not newest.ended and not force:
            raise NotStopped(
                "a repair needs a connector without an active run, and its newest run has not ended",
                f"Stop it: ignite-kafka stop {settings.name}. If its driver is dead and will write nothing more: "
                "--force.",
                connector=settings.name,
                run_id=newest.run_id,
                state=newest.state,
            )
        generation, slots = (newest.connector.generation, newest.connector.slots) if newest.connector else (0, 0)
        return Idle(clients, settings, generation, slots)

    @contextmanager
    def claim(self, producers: int) -> Iterator[RepairClaim]:
        """Context in which a repair owns the connector, until a new run begins.

        If the repair fails or its driver dies, its record stays: the next run fences its producers.

        :param producers: number of producers that may send.
        :raises Fenced: a run or another repair began meanwhile; entries put by a sink's repair may be older than those
            put by the run.
        """
        settings = self.settings
        prefix = self.settings.internal_topic_prefix
        record = RepairRecord(self.generation, uuid.uuid4().hex, producers)
        topics = Topics(self.clients)
        strict = isinstance(settings, SinkSettings) and settings.strict
        fence = fence_name(topics, prefix, settings.name) if strict else ""
        claim = RepairClaim(settings.name, prefix, record, self.slots, fence, int(time.time()))
        with closing(ConfigsWriter(self.clients, topics, prefix, settings.name)) as control:
            try:
                control.begin_repair(claim.record, settings.replication_factor)
                yield claim
                control.end_repair()
            except Fenced as cause:
                raise claim.superseded_error() from cause
