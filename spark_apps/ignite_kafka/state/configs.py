"""Reading of the configs topic, which holds each connector's owning run, snapshot, epoch and target state.

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
``["retired","<name>"]``               ``{"transition","reason","at_ms"}``: no run may begin (:class:`Retirement`)
``["transition","<sink>","<source>"]`` a role transition of a pair (:mod:`.role_transitions`)
``["signal","<name>","<id>"]``         a signal, and with one text more what users want of it, or its end
                                       (:mod:`.signals`; anyone writes it)
====================================== ================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, TypeVar

from ..common.typed_json import Milliseconds, Range, integer, read_as
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics, read_to
from .internal_names import configs_topic
from .internal_records import InternalRecord, report_skipped, unreadable
from .status import CacheStatus

RETIRED = "retired"
_KINDS = ("connector", "snapshot", "secret", "repair", RETIRED)
ENDED: Mapping[str, Any] = {"complete": False, "superseded_by": None, "caches": {}}
R = TypeVar("R")


@dataclass(frozen=True)
class ConnectorRecord:
    """Record of a connector: which run owns it, its slots, offsets topic and settings."""

    generation: int = 0
    slots: int = 0
    offsets_topic_id: str = ""
    target_state: str = "RUNNING"
    run_id: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_source(self) -> bool:
        """Whether the connector copies caches to topics, and is no sink."""
        return "topics" not in self.settings


@dataclass(frozen=True)
class SnapshotRecord:
    """Newest snapshot of a connector, with its fixed plan, so that a retry copies the same caches."""

    id: str
    plan: Mapping[str, Any]
    complete: bool = False
    superseded_by: str | None = None


MOST_PRODUCERS = 10_000
"""Producers of a repair."""


@dataclass(frozen=True)
class RepairRecord:
    """Unfinished repair of differences, recorded so that the next run fences the repair's producers.

    :param generation: generation of the newest run when the repair began; 0 without a run.
    :param id: id of the repair.
    :param producers: number of the transactional ids that it may use.
    """

    generation: int
    id: str
    producers: Annotated[int, Range(0, MOST_PRODUCERS)]


@dataclass(frozen=True)
class Retirement:
    """Mark of a connector that a role transition ended: no run may begin until the mark is removed.

    Unlike target state STOPPED, which the next start cancels, the mark also holds for schedulers and supervisors.

    :param transition: id of the role transition.
    :param reason: ``switchover``, ``failover`` or ``failback``.
    :param at_ms: milliseconds since 1970.
    """

    transition: str
    reason: str
    at_ms: Milliseconds = 0


@dataclass(frozen=True)
class _SnapshotEnd:
    """End of an earlier snapshot: whether it was complete, and its counts by cache."""

    complete: bool = False
    superseded_by: str | None = None
    caches: Mapping[str, CacheStatus] = field(default_factory=dict)


@dataclass(frozen=True)
class ConnectorState:
    """State of a connector, computed from all its records in the configs topic.

    :param ended: ended snapshots by id, oldest first.
    :param end: end offset of the configs topic when it was read.
    :param capture_secret: see :meth:`.ConfigsWriter.ensure_capture_secret`; None: there is none yet.
    :param repair: unfinished repair; None without one.
    :param retirement: mark that no run may begin; None without one.
    """

    connector: ConnectorRecord | None = None
    snapshot: SnapshotRecord | None = None
    ended: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    end: int = 0
    capture_secret: str | None = field(default=None, repr=False)
    repair: RepairRecord | None = None
    retirement: Retirement | None = None

    @property
    def generation(self) -> int:
        """Generation of the connector's newest run; 0 if it never ran."""
        return self.connector.generation if self.connector else 0


def read_connector(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> ConnectorState:
    """Read a connector's state from the configs topic; empty if the connector was never started.

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
    """Return the generation in a record of the connector, to detect a newer run; 0 for other records.

    :raises NewerFormat, OffsetsLost: the connector's record cannot be read.
    """
    if (record.kind, record.name) != ("connector", connector):
        return 0
    recorded = _built(ConnectorRecord, record)
    return recorded.generation if recorded is not None else 0


def epoch_of(connector: str, record: InternalRecord) -> tuple[int, int]:
    """Return generation and epoch number if a record is the connector's epoch record; else (0, 0)."""
    value = record.optional_value() if (record.kind, record.name) == ("epoch", connector) else None
    try:
        return (0, 0) if value is None else (integer(value.get("generation")), integer(value.get("epoch")))
    except ValueError as error:
        report_skipped(f"it is no epoch: {error}", record.where)
        return 0, 0


def capture_secret_of(connector: str, record: InternalRecord) -> str | None:
    """Return the capture secret if a record of the connector has one; else None."""
    about = record.kind in ("epoch", "secret") and record.name == connector
    secret = ((record.optional_value() if about else None) or {}).get("capture_secret")
    return secret if isinstance(secret, str) else None


class ConnectorFold:
    """Computes a connector's state from its records, added in the order of the topic."""

    def __init__(self, connector: str) -> None:
        self._name = connector
        self._connector: ConnectorRecord | None = None
        self._snapshot: SnapshotRecord | None = None
        self._secret: str | None = None
        self._repair: RepairRecord | None = None
        self._retirement: Retirement | None = None
        self._ended: dict[str, Mapping[str, Any]] = {}

    def add(self, record: InternalRecord) -> None:
        """Update the state by a record; other connectors' records and other kinds are ignored."""
        if record.name != self._name or record.kind not in _KINDS:
            return
        if record.kind == "secret":
            self._secret = capture_secret_of(self._name, record)
            return
        match record.kind, record.rest:
            case "repair", _:
                self._repair = _built(RepairRecord, record)
            case "retired", _:
                self._retirement = _built(Retirement, record)
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
        """Return the connector's state after the records added so far.

        :param end: end offset of the configs topic.
        """
        return ConnectorState(
            self._connector, self._snapshot, self._ended, end, self._secret, self._repair, self._retirement
        )


def _built(kind: type[R], record: InternalRecord) -> R | None:
    """Parse a record that delivery depends on, as a dataclass; an unreadable one is an error.

    None for a tombstone; raises as :meth:`.InternalRecord.required_value`.
    """
    value = record.required_value()
    try:
        return None if value is None else read_as(kind, value)
    except ValueError as cause:
        raise unreadable(f"the {record.kind} record of connector {record.name!r}", record.where) from cause
