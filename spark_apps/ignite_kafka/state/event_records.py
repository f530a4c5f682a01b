"""Records of events in the status topic: ``["events","<connector>","<run id>"]`` to :class:`RunEvents`.

The driver writes the record while it runs, with the events of its tasks, and at the end. It is kept as long as the
record of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..common.event_log import EventCount, EventCounts, parse_counts
from ..common.typed_json import dumps, read_as
from ..kafka.clients import KafkaClients
from .internal_records import InternalRecord
from .status import StatusWriter, keep_newest, newest_record, parsed_record, read_records, run_id_of

KIND = "events"


@dataclass(frozen=True)
class RunEvents:
    """Events of a run: of its driver, and of its tasks as far as they have reported.

    :param events: counts and newest texts, by id.
    """

    connector: str
    run_id: str
    events: Mapping[str, EventCount] = field(default_factory=dict)

    @property
    def counts(self) -> EventCounts:
        """The counts, by id as a number."""
        return parse_counts(self.events)

    def to_json(self) -> bytes:
        """Return the value of the record."""
        return dumps(asdict(self))

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> RunEvents:
        """Read what :meth:`to_json` wrote; fields of newer versions are ignored.

        :raises ValueError: the value has another form.
        """
        return read_as(RunEvents, value)


def queue_events(writer: StatusWriter, record: RunEvents) -> None:
    """Write a run's events; the writer's next record waits for the broker's confirmation of them, too."""
    writer.queue([KIND, record.connector, record.run_id], record.to_json())


def read_events(clients: KafkaClients, prefix: str, connector: str) -> dict[str, EventCounts]:
    """Read the events of every run kept of a connector, by run id, oldest record first."""
    runs: dict[str, EventCounts] = {}
    for record in read_records(clients, prefix, connector):
        if (run_id := run_id_of(record, KIND)) is not None:
            events = events_of(record)
            keep_newest(runs, run_id, record, None if events is None else events.counts)
    return runs


def read_run_events(clients: KafkaClients, prefix: str, connector: str, run_id: str) -> EventCounts:
    """Read the events of one run; empty if the run has kept none."""
    record, _ = newest_record(clients, prefix, (KIND, connector, run_id), events_of)
    return {} if record is None else record.counts


def events_of(record: InternalRecord) -> RunEvents | None:
    """Return the events in a record; None for a tombstone and, with an event, for an unreadable record."""
    return parsed_record(record, RunEvents.from_dict, "it has no events of a run")
