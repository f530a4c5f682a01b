"""Writing and reading of the status topic: status and events of runs, progress of tasks, comparisons.

Compacted, one partition, written without transactions.

============================================= ======================================================
key (JSON)                                    value (JSON)
============================================= ======================================================
``["run","<connector>","<run id>"]``          :class:`RunStatus`
``["progress","<connector>",<slot>]``         :class:`TaskProgress` of the task with this first slot
``["verify","<connector>","<run id>"]``       :class:`.comparisons.ComparisonStatus`
``["events","<connector>","<run id>"]``       :class:`.event_records.RunEvents`
``["signal","<connector>","<signal id>"]``    :class:`.signal_records.SignalStatus`
============================================= ======================================================
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, TypeVar

from confluent_kafka import KafkaError, Message

from ..common.event_log import EventCount
from ..common.measurements import Measurements
from ..common.typed_json import Milliseconds, Range, dumps, read_as
from ..errors import IgniteKafkaError, KafkaUnavailable
from ..kafka.clients import REQUEST_TIMEOUT_S, KafkaClients
from ..kafka.topics import COMPACTED, Topics, TopicSpec, read_to
from .internal_names import status_topic
from .internal_records import FORMAT_HEADERS, InternalRecord, read_internal_topic, report_skipped, written_ms
from .signal_records import SignalReport

RUNNING = "RUNNING"  # fmt: skip
PAUSED = "PAUSED"
COMPLETED = "COMPLETED"
FAILED = "FAILED"
FENCED = "FENCED"
STOPPED = "STOPPED"
UNKNOWN = "UNKNOWN"

_QUEUED = 10_000  # records; librdkafka's queue holds ten times as many
_FIRST_PART = 1_000  # parts of a topic read backwards, in offsets: size of the first, and growth per part
_LARGER = 8
K = TypeVar("K")
T = TypeVar("T")

# sums of reports are written into a status, whose numbers have 64 bits
Count = Annotated[int, Range(0, 1 << 53)]
Seconds = Annotated[float, Range(0, 1e12)]


@dataclass(frozen=True)
class CacheStatus:
    """Counts of one cache in a run's status record.

    :param entries: entries read; of a sink, stored or removed.
    :param records: records sent; of a sink, read.
    :param bytes: size of keys and values.
    :param units: partitions of the cache; of a sink, of the topic.
    :param bad: entries or records that were skipped or became dead letters.
    :param filtered: entries or records that the filter left out.
    :param dead_letters: records of the dead-letter topic.
    """

    topic: str
    entries: int = 0
    records: int = 0
    bytes: int = 0
    units: int = 0
    units_done: int = 0
    seconds: float = 0.0
    bad: int = 0
    filtered: int = 0
    dead_letters: int = 0


@dataclass
class CacheCount:
    """Counts of one cache in one slot, summed up by the driver.

    ``entries``, ``units`` and ``bad`` of a snapshot include those committed by an earlier attempt; of a stream, counts
    are of one epoch.

    :param entries: entries read; of a sink, stored or removed.
    :param records: records sent; of a sink, read.
    :param bytes: size of keys and values.
    :param started: time of the first read, in seconds since 1970; 0.0 if there was nothing to do.
    :param ended: time of the last commit, likewise.
    :param bad: entries or records that were skipped or became dead letters.
    :param filtered: entries or records that the filter left out, of this run; `entries` does not include them.
    :param dead_letters: records of the dead-letter topic.
    """

    entries: Count = 0
    records: Count = 0
    bytes: Count = 0
    units: Count = 0
    started: Seconds = 0.0
    ended: Seconds = 0.0
    bad: Count = 0
    filtered: Count = 0
    dead_letters: Count = 0

    def add(self, more: CacheCount) -> None:
        """Add the counts of another slot or batch to these."""
        self.entries += more.entries
        self.records += more.records
        self.bytes += more.bytes
        self.units += more.units
        self.bad += more.bad
        self.filtered += more.filtered
        self.dead_letters += more.dead_letters
        self.started = (
            min(self.started, more.started) if self.started and more.started else self.started or more.started
        )
        self.ended = max(self.ended, more.ended)


@dataclass(frozen=True)
class RunStatus:
    """Status record of a run. Times are in milliseconds since 1970.

    :param application_id: id of the Spark application.
    :param spark_ui: URL of its web UI, which ends with it; empty if that is off.
    :param events: number of health events by id; those of tasks are added when a task ends.
    :param versions: of the library, Python, Spark, the packages of the driver, and the Ignite nodes where they report
        it.
    """

    state: str
    connector: str
    run_id: str
    snapshot_id: str = ""
    generation: int = 0
    worker: str = field(default_factory=socket.gethostname)
    started_ms: Milliseconds = 0
    ended_ms: Milliseconds | None = None
    caches: Mapping[str, CacheStatus] = field(default_factory=dict)
    error: Mapping[str, Any] | None = None
    already_complete: bool = False
    application_id: str = ""
    spark_ui: str = ""
    events: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the value of the record."""
        return dumps(asdict(self))

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> RunStatus:
        """Read what :meth:`to_json` wrote; fields of newer versions are ignored.

        :raises ValueError: the value has another form.
        """
        status = read_as(RunStatus, value)
        if status.error is not None:
            IgniteKafkaError.from_dict(dict(status.error))
        return status


@dataclass(frozen=True)
class Waiting:
    """Changes of one cache that are captured and not sent.

    :param changes: number of changes; 0: none is left.
    :param oldest_ms: time of the oldest one in milliseconds since 1970; 0: none, or unknown.
    """

    changes: Count = 0
    oldest_ms: Milliseconds = 0


@dataclass(frozen=True)
class TaskProgress:
    """Progress record of a task in an epoch, by which the driver sees counts and signs of life.

    :param loaded: whether the initial data is sent.
    :param caches: counts by cache.
    :param events: events of the task so far, by id.
    :param attempt: number of the task's attempt; each counts from 0.
    :param measured: measurements of the task so far.
    :param waiting: changes that the task has read and not sent, by cache; of continuous queries only.
    :param signal: progress of the epoch's ad-hoc snapshot; None without one.
    """

    generation: int
    epoch: int
    loaded: bool
    caches: Mapping[str, CacheCount]
    events: Mapping[str, EventCount] = field(default_factory=dict)
    attempt: Count = 0
    measured: Measurements = field(default_factory=Measurements)
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    signal: SignalReport | None = None

    def to_json(self) -> bytes:
        """Return the value of the record."""
        return dumps(asdict(self))

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> TaskProgress:
        """Read what :meth:`to_json` wrote; fields of newer versions are ignored.

        :raises ValueError: the value has another form.
        """
        return read_as(TaskProgress, value)


class StatusWriter:
    """Producer of records for the status topic, or another compacted topic.

    :param topic: the topic; None: the status topic of the prefix.
    :raises KafkaUnavailable: from :meth:`run`, :meth:`flush` and :meth:`forget`: the broker did not confirm a record,
        which may still be written.
    """

    def __init__(self, clients: KafkaClients, prefix: str, topic: str | None = None) -> None:
        self._producer = clients.writer()
        self._topic = topic or status_topic(prefix)
        self._refused: KafkaError | None = None

    @staticmethod
    def ensure_topic(topics: Topics, prefix: str, replication_factor: int, topic: str | None = None) -> None:
        """Create the compacted status topic, or another topic, if it is missing."""
        topics.ensure([TopicSpec(topic or status_topic(prefix), 1, replication_factor, COMPACTED)])

    def run(self, status: RunStatus, wait_s: float = REQUEST_TIMEOUT_S) -> None:
        """Write a run's status record, and wait for the broker's confirmation."""
        self.send(["run", status.connector, status.run_id], status.to_json(), wait_s)

    def progress(self, connector: str, slot: int, progress: TaskProgress) -> None:
        """Write a task's progress record without waiting, because a later one replaces it."""
        self._queue(["progress", connector, slot], progress.to_json())
        self._producer.poll(0)

    def queue(self, key: list[Any], value: bytes) -> None:
        """Queue a record; the next :meth:`send` waits for its confirmation, too."""
        self._queue(key, value)

    def forget(self, connector: str, run_ids: Sequence[str], kind: str = "run") -> None:
        """Write tombstones for records of old runs, comparisons or events, to remove them."""
        for at in range(0, len(run_ids), _QUEUED):
            for run_id in run_ids[at : at + _QUEUED]:
                self._queue([kind, connector, run_id], None)
            if self._producer.flush(REQUEST_TIMEOUT_S):
                raise KafkaUnavailable("the broker did not confirm the removal of old runs", topic=self._topic)

    def _queue(self, key: list[Any], value: bytes | None) -> None:
        self._producer.produce(
            self._topic, value, dumps(key), 0, on_delivery=self._on_delivery, headers=[*FORMAT_HEADERS]
        )

    def _on_delivery(self, error: KafkaError | None, _: Message) -> None:
        self._refused = error or self._refused

    def send(self, key: list[Any], value: bytes, wait_s: float = REQUEST_TIMEOUT_S) -> None:
        """Write a record of any kind, and wait for the broker's confirmation."""
        self._refused = None
        self._queue(key, value)
        self.flush(wait_s)

    def flush(self, wait_s: float = REQUEST_TIMEOUT_S) -> None:
        """Wait for the broker's confirmation of all queued records."""
        if self._producer.flush(wait_s):
            raise KafkaUnavailable("the broker did not confirm a status record", topic=self._topic)
        if self._refused is not None:
            raise KafkaUnavailable(f"the broker refused a status record: {self._refused.str()}", topic=self._topic)


def read_records(clients: KafkaClients, prefix: str, connector: str) -> Iterator[InternalRecord]:
    """Yield all records of a connector in the status topic, oldest first; none without the topic."""
    for record, _ in read_internal_topic(clients, Topics(clients), status_topic(prefix)):
        if record.name == connector:
            yield record


def keep_newest(values: dict[K, T], key: K, record: InternalRecord, value: T | None) -> None:
    """Update values, for example by run id, with a newer record: its value moves to the end; a tombstone removes it.

    :param value: value of the record; None for a tombstone, and for an unreadable record, which changes nothing.
    """
    if value is not None or record.value is None:
        values.pop(key, None)
    if value is not None:
        values[key] = value


def read_runs(clients: KafkaClients, prefix: str, connector: str) -> dict[str, RunStatus]:
    """Read the status of all recorded runs of a connector, by run id, oldest first."""
    runs: dict[str, RunStatus] = {}
    for record in read_records(clients, prefix, connector):
        if (run_id := run_id_of(record)) is not None:
            keep_newest(runs, run_id, record, run_of(record))
    return runs


def read_progress(clients: KafkaClients, prefix: str, connector: str) -> dict[int, TaskProgress]:
    """Read the newest progress record of each task, by the task's first slot.

    Records of earlier runs are included.
    """
    tasks: dict[int, TaskProgress] = {}
    for record in read_records(clients, prefix, connector):
        slot = slot_of_progress(record)
        if slot is not None and (progress := progress_of(record)) is not None:
            tasks[slot] = progress
    return tasks


def read_run(clients: KafkaClients, prefix: str, connector: str, run_id: str) -> RunStatus | None:
    """Read a run's newest status record; None if the run wrote none or was removed."""
    return read_run_written(clients, prefix, connector, run_id)[0]


def read_run_written(clients: KafkaClients, prefix: str, connector: str, run_id: str) -> tuple[RunStatus | None, int]:
    """Read a run's newest status and its record's timestamp in milliseconds since 1970; (None, 0) without one."""
    return newest_record(clients, prefix, ("run", connector, run_id), run_of)


def newest_record(
    clients: KafkaClients, prefix: str, key: tuple[str, str, str], parse: Callable[[InternalRecord], T | None]
) -> tuple[T | None, int]:
    """Find the newest readable record of a key and its timestamp in milliseconds since 1970; (None, 0) without one.

    The topic is read backwards in parts until the record is found, because most requests are for recent ones.

    :param key: kind, connector and run id.
    :param parse: reads a record; None for a tombstone and for an unreadable record.
    """
    topics = Topics(clients)
    topic = status_topic(prefix)
    if not topics.exists(topic):
        return None, 0
    kind, connector, run_id = key
    end = topics.ends(topic, [0])[0]
    size = _FIRST_PART
    while end > 0:
        start = max(0, end - size)
        newest: tuple[T | None, int] | None = None
        for message in read_to(clients, topic, {0: end}, {0: start}):
            record = InternalRecord.of(message)
            if record is None or (record.kind, record.name, record.rest) != (kind, connector, (run_id,)):
                continue
            value = parse(record)
            if value is not None or record.value is None:
                newest = value, written_ms(message) if value is not None else 0
        if newest is not None:
            return newest
        end = start
        size = size * _LARGER
    return None, 0


def run_id_of(record: InternalRecord, kind: str = "run") -> str | None:
    """Return the run id in the key of a record of kind `kind`; None for any other record."""
    match record.rest:
        case (str(run_id),) if record.kind == kind:
            return run_id
    return None


def slot_of_progress(record: InternalRecord) -> int | None:
    """Return the task's first slot in the key of a progress record; None for any other record."""
    match record.kind, record.rest:
        case "progress", (int(slot),):
            return slot
    return None


def run_of(record: InternalRecord) -> RunStatus | None:
    """Parse the run status in a record; None for a tombstone and, with an event, for an unreadable record."""
    return parsed_record(record, RunStatus.from_dict, "it is no status of a run")


def progress_of(record: InternalRecord) -> TaskProgress | None:
    """Parse the task progress in a record; None for a tombstone and, with an event, for an unreadable record."""
    return parsed_record(record, TaskProgress.from_dict, "it is no progress of a task")


def parsed_record(record: InternalRecord, from_dict: Callable[[Mapping[str, Any]], T], problem: str) -> T | None:
    """Parse a record's value by `from_dict`; None for a tombstone and, with an event, for an unreadable record."""
    value = record.optional_value()
    if value is None:
        return None
    try:
        return from_dict(value)
    except ValueError as error:
        report_skipped(f"{problem}: {error}", record.where)
        return None


def now_ms() -> int:
    """Return the current time in milliseconds since 1970."""
    return int(time.time() * 1000)
