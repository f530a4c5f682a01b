"""The configs topic: the run that owns a connector, and its snapshot.

Only the driver writes it, under `<connector>-control`.

One compacted topic `<internal_topic_prefix>-configs` of one partition serves all connectors:

====================================== ================================================================================
key (JSON)                             value (JSON)
====================================== ================================================================================
``["connector","<name>"]``             ``{"generation","slots","offsets_topic_id","target_state","run_id","settings"}``
``["snapshot","<name>"]``              ``{"id","plan","complete","superseded_by"}``: the newest snapshot
``["snapshot","<name>","<id>"]``       ``{"complete","superseded_by","caches"}``: the end of each earlier id
``["epoch","<name>"]``                 ``{"generation","epoch","capture_secret"}``: tasks of an earlier epoch of a
                                       stream end after their batch; tasks of this epoch read the secret from it
``["secret","<name>"]``                ``{"capture_secret"}``: of the capture on the nodes, written before its first
                                       start
``["target","<name>"]``                ``{"state","at_ms"}``, ``"generation"``: the target state (:mod:`.target_state`;
                                       anyone writes it)
====================================== ================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, TypeVar

from ..common.typed_json import Range, integer, read_as
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics, read_to
from .internal_names import configs_topic
from .internal_records import InternalRecord, report_skipped, unreadable
from .status import CacheStatus

ENDED: Mapping[str, Any] = {"complete": False, "superseded_by": None, "caches": {}}
R = TypeVar("R")


@dataclass(frozen=True)
class ConnectorRecord:
    """The record of a connector."""

    generation: int = 0
    slots: int = 0
    offsets_topic_id: str = ""
    target_state: str = "RUNNING"
    run_id: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_source(self) -> bool:
        """Whether the connector copies caches to topics; a sink has offsets of topics."""
        return "topics" not in self.settings


@dataclass(frozen=True)
class SnapshotRecord:
    """The newest snapshot; its plan is fixed, so that a retry continues with the same caches and settings."""

    id: str
    plan: Mapping[str, Any]
    complete: bool = False
    superseded_by: str | None = None


MOST_PRODUCERS = 10_000
"""Producers of a repair."""


@dataclass(frozen=True)
class RepairRecord:
    """A repair that may be sending: the next run fences its producers.

    :param generation: of the newest run when it began; 0: there was none.
    :param id: of the repair.
    :param producers: number of the transactional ids that it may use.
    """

    generation: int
    id: str
    producers: Annotated[int, Range(0, MOST_PRODUCERS)]


@dataclass(frozen=True)
class _SnapshotEnd:
    """The end of an earlier snapshot, as :data:`ENDED`."""

    complete: bool = False
    superseded_by: str | None = None
    caches: Mapping[str, CacheStatus] = field(default_factory=dict)


@dataclass(frozen=True)
class ConnectorState:
    """A connector's state, folded from its records.

    :param ended: ended snapshots by id, oldest first.
    :param end: end offset of the configs topic when it was read.
    :param capture_secret: see :meth:`.ConfigsWriter.ensure_capture_secret`; None: there is none yet.
    :param repair: one that has not ended; None: there is none.
    """

    connector: ConnectorRecord | None = None
    snapshot: SnapshotRecord | None = None
    ended: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    end: int = 0
    capture_secret: str | None = field(default=None, repr=False)
    repair: RepairRecord | None = None

    @property
    def generation(self) -> int:
        """Generation of the newest run; 0: there was none."""
        return self.connector.generation if self.connector else 0


def read_connector(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> ConnectorState:
    """Read a connector's state; empty if the connector was never started.

    :raises NewerFormat, OffsetsLost: a record of the connector cannot be read.
    """
    if not topics.exists(configs_topic(prefix)):
        return ConnectorState()
    ends = topics.ends(configs_topic(prefix), [0])
    fold = ConnectorFold(connector)
    for message in read_to(clients, configs_topic(prefix), ends):
        record = InternalRecord.of(message)
        if record is not None:
            fold.add(record)
    return fold.state(ends[0])


def connector_generation(connector: str, record: InternalRecord) -> int:
    """Return the generation in a connector's record; 0 for any other record.

    :raises NewerFormat, OffsetsLost: the connector's record cannot be read.
    """
    if (record.kind, record.name) != ("connector", connector):
        return 0
    recorded = _built(ConnectorRecord, record)
    return recorded.generation if recorded is not None else 0


def epoch_of(connector: str, record: InternalRecord) -> tuple[int, int]:
    """Return generation and epoch in a connector's epoch record; (0, 0) for any other record."""
    value = record.optional_value() if (record.kind, record.name) == ("epoch", connector) else None
    try:
        return (0, 0) if value is None else (integer(value.get("generation")), integer(value.get("epoch")))
    except ValueError as error:
        report_skipped(f"it is no epoch: {error}", record.where)
        return 0, 0


def capture_secret_of(connector: str, record: InternalRecord) -> str | None:
    """Return the secret of the connector's capture in a record; None without one."""
    about = record.kind in ("epoch", "secret") and record.name == connector
    secret = ((record.optional_value() if about else None) or {}).get("capture_secret")
    return secret if isinstance(secret, str) else None


class ConnectorFold:
    """Folds a connector's records, in the order of the topic."""

    def __init__(self, connector: str) -> None:
        self._name = connector
        self._connector: ConnectorRecord | None = None
        self._snapshot: SnapshotRecord | None = None
        self._secret: str | None = None
        self._repair: RepairRecord | None = None
        self._ended: dict[str, Mapping[str, Any]] = {}

    def add(self, record: InternalRecord) -> None:
        """Add a record; records of other connectors and of other kinds are ignored."""
        if record.name != self._name or record.kind not in ("connector", "snapshot", "secret", "repair"):
            return
        if record.kind == "secret":
            self._secret = capture_secret_of(self._name, record)
            return
        match record.kind, record.rest:
            case "repair", _:
                self._repair = _built(RepairRecord, record)
            case "connector", _:
                self._connector = _built(ConnectorRecord, record)
            case "snapshot", ():
                self._snapshot = _built(SnapshotRecord, record)
            case "snapshot", (str(snapshot_id),):
                end = _built(_SnapshotEnd, record)
                self._ended.pop(snapshot_id, None)  # the newest end comes last
                if end is not None:
                    self._ended[snapshot_id] = asdict(end)
            case _:
                report_skipped("its key is that of no snapshot", record.where)

    def state(self, end: int) -> ConnectorState:
        """Return the state after the records added so far.

        :param end: end offset of the configs topic.
        """
        return ConnectorState(self._connector, self._snapshot, self._ended, end, self._secret, self._repair)


def _built(kind: type[R], record: InternalRecord) -> R | None:
    """Return the content of a record that delivery depends on.

    None for a tombstone; raises as :meth:`.InternalRecord.required_value`.
    """
    value = record.required_value()
    try:
        return None if value is None else read_as(kind, value)
    except ValueError as cause:
        raise unreadable(f"the {record.kind} record of connector {record.name!r}", record.where) from cause
