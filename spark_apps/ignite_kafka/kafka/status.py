"""The status topic: one record a run, one a task of a stream. Compacted, one partition, written without a transaction.

============================================= =====================================================================================
key (JSON)                                    value (JSON)
============================================= =====================================================================================
``["run","<connector>","<run id>"]``          :class:`RunStatus`
``["progress","<connector>",<slot>]``         :class:`TaskProgress` of the task whose first slot that is
============================================= =====================================================================================
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from confluent_kafka import KafkaError, Message

from ..errors import KafkaUnavailable
from .clients import REQUEST_TIMEOUT_S, KafkaClients
from .topics import COMPACTED, Topics, TopicSpec, read_to_end

RUNNING, PAUSED, COMPLETED, FAILED, FENCED, STOPPED, UNKNOWN = (
    "RUNNING", "PAUSED", "COMPLETED", "FAILED", "FENCED", "STOPPED", "UNKNOWN"
)  # fmt: skip


@dataclass(frozen=True)
class CacheStatus:
    """Counts of one cache. ``entries`` were read, ``records`` sent, ``bytes`` of keys and values, ``units_done`` of ``units`` partitions;
    ``bad`` were passed over, or are dead letters.

    Of a sink ``records`` were read, ``entries`` stored or removed; units are partitions of the topic.
    """

    topic: str
    entries: int = 0
    records: int = 0
    bytes: int = 0
    units: int = 0
    units_done: int = 0
    seconds: float = 0.0
    bad: int = 0


@dataclass(frozen=True)
class RunStatus:
    """One run of a connector, as the status topic holds it. Times in milliseconds since 1970."""

    state: str
    connector: str
    run_id: str
    snapshot_id: str = ""
    generation: int = 0
    worker: str = field(default_factory=socket.gethostname)
    started_ms: int = 0
    ended_ms: int | None = None
    caches: Mapping[str, CacheStatus] = field(default_factory=dict)
    error: Mapping[str, Any] | None = None
    already_complete: bool = False

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @staticmethod
    def from_json(data: bytes) -> RunStatus:
        value = json.loads(data)
        value["caches"] = {name: CacheStatus(**cache) for name, cache in value["caches"].items()}
        return RunStatus(**value)


@dataclass(frozen=True)
class TaskProgress:
    """How far a task of a stream is in an epoch: ``caches`` has its counts by name; ``loaded``: all that was there before is sent."""

    generation: int
    epoch: int
    loaded: bool
    caches: Mapping[str, Mapping[str, Any]]

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @staticmethod
    def from_json(data: bytes) -> TaskProgress:
        return TaskProgress(**json.loads(data))


def status_topic(prefix: str) -> str:
    return f"{prefix}-status"


class StatusWriter:
    """Writes status records; each call but that of progress waits until the broker has the record, or raises KafkaUnavailable: it may still
    be written then."""

    def __init__(self, clients: KafkaClients, prefix: str) -> None:
        self._producer = clients.writer()
        self._topic = status_topic(prefix)
        self._refused: KafkaError | None = None

    @staticmethod
    def ensure_topic(topics: Topics, prefix: str, replication_factor: int) -> None:
        topics.ensure([TopicSpec(status_topic(prefix), 1, replication_factor, COMPACTED)])

    def run(self, status: RunStatus, wait_s: float = REQUEST_TIMEOUT_S) -> None:
        self._send(["run", status.connector, status.run_id], status.to_json(), wait_s)

    def progress(self, connector: str, slot: int, progress: TaskProgress) -> None:
        """Does not wait: a later record tells more."""
        self._queue(["progress", connector, slot], progress.to_json())
        self._producer.poll(0)

    def _queue(self, key: list[Any], value: bytes) -> None:
        record = json.dumps(key, separators=(",", ":")).encode()
        self._producer.produce(self._topic, value, record, 0, on_delivery=self._on_delivery)

    def _on_delivery(self, error: KafkaError | None, _: Message) -> None:
        self._refused = error or self._refused

    def _send(self, key: list[Any], value: bytes, wait_s: float) -> None:
        self._refused = None
        self._queue(key, value)
        if self._producer.flush(wait_s):
            raise KafkaUnavailable("a status record was not taken by the broker", topic=self._topic)
        if self._refused is not None:
            raise KafkaUnavailable(f"a status record was not taken by the broker: {self._refused.str()}", topic=self._topic)


def read_runs(clients: KafkaClients, prefix: str, connector: str) -> dict[str, RunStatus]:
    """Every run of a connector that the topic still holds, by run id, oldest first."""
    topics = Topics(clients)
    runs: dict[str, RunStatus] = {}
    if not topics.exists(status_topic(prefix)):
        return runs
    for message in read_to_end(clients, topics, status_topic(prefix), [0]):
        kind, name, *rest = json.loads(message.key() or b"")
        if kind == "run" and name == connector:
            runs.pop(rest[0], None)
            value = message.value()
            if value is not None:
                runs[rest[0]] = RunStatus.from_json(value)
    return runs


def read_run(clients: KafkaClients, prefix: str, connector: str, run_id: str) -> RunStatus | None:
    """One run's record, or None where it never wrote one."""
    return read_runs(clients, prefix, connector).get(run_id)


def written_ms(clients: KafkaClients, prefix: str, connector: str, run_id: str) -> int:
    """When a run wrote its record last, in milliseconds since 1970 by the topic's timestamps; 0 where it wrote none."""
    topics, key, last = Topics(clients), ["run", connector, run_id], 0
    if not topics.exists(status_topic(prefix)):
        return 0
    for message in read_to_end(clients, topics, status_topic(prefix), [0]):
        if json.loads(message.key() or b"") == key:
            last = message.timestamp()[1]
    return last


def now_ms() -> int:
    return int(time.time() * 1000)
