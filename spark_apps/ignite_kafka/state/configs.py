"""The configs topic: which run owns a connector, and which snapshot it is at. The driver alone writes it, under `<connector>-control`.

One compacted topic `<internal_topic_prefix>-configs` of one partition serves all connectors:

====================================== ==========================================================================================
key (JSON)                             value (JSON)
====================================== ==========================================================================================
``["connector","<name>"]``             ``{"generation","slots","offsets_topic_id","target_state","run_id","settings"}``
``["snapshot","<name>"]``              ``{"id","plan","complete","superseded_by"}``: the snapshot begun last
``["snapshot","<name>","<id>"]``       ``{"complete","superseded_by","caches"}``: how each earlier id ended
``["epoch","<name>"]``                 ``{"generation","epoch","capture_secret"}``: tasks of an earlier epoch of a stream end after their
                                       batch; those of this one take the secret from it
``["secret","<name>"]``                ``{"capture_secret"}``: of the capture on the nodes, from before its first start on
``["target","<name>"]``                ``{"state","at_ms"}``, ``"generation"``: what the user wants (:mod:`.target_state`; anyone writes it)
====================================== ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics, read_to
from .internal_records import InternalRecord, known_fields, unreadable

ENDED: Mapping[str, Any] = {"complete": False, "superseded_by": None, "caches": {}}
R = TypeVar("R")


@dataclass(frozen=True)
class ConnectorRecord:
    """What the configs topic says of a connector."""

    generation: int = 0
    slots: int = 0
    offsets_topic_id: str = ""
    target_state: str = "RUNNING"
    run_id: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_source(self) -> bool:
        """Whether it moves data to Kafka: its offsets are of caches, those of a sink are of topics."""
        return "topics" not in self.settings


@dataclass(frozen=True)
class SnapshotRecord:
    """The snapshot that was begun last: its plan is fixed, so a retry goes on with the same caches and settings."""

    id: str
    plan: Mapping[str, Any]
    complete: bool = False
    superseded_by: str | None = None


@dataclass(frozen=True)
class ConnectorState:
    """A connector's records, folded; ``end`` is where the configs topic ended when it was read.

    :param capture_secret: see :meth:`.ConfigsWriter.ensure_capture_secret`; None: it has none yet.
    """

    connector: ConnectorRecord | None = None
    snapshot: SnapshotRecord | None = None
    ended: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    end: int = 0
    capture_secret: str | None = field(default=None, repr=False)


def configs_topic(prefix: str) -> str:
    return f"{prefix}-configs"


def offsets_topic(prefix: str, connector: str) -> str:
    return f"{prefix}-offsets-{connector}"


def slot_transactional_id(connector: str, slot: int) -> str:
    return f"{connector}-{slot}"


def read_connector(clients: KafkaClients, topics: Topics, prefix: str, connector: str) -> ConnectorState:
    """A connector's state; empty for one that was never started, or where the topic is not there yet.

    :raises NewerFormat, OffsetsLost: a record of the connector cannot be read.
    """
    if not topics.exists(configs_topic(prefix)):
        return ConnectorState()
    ends = topics.ends(configs_topic(prefix), [0])
    fold = _Fold(connector)
    for message in read_to(clients, configs_topic(prefix), ends):
        record = InternalRecord.of(message)
        if record is not None:
            fold.add(record)
    return fold.state(ends[0])


def connector_generation(connector: str, record: InternalRecord) -> int:
    """The generation that a record of the configs topic gives a connector; 0 where it is about something else.

    :raises NewerFormat, OffsetsLost: it is that of the connector, and cannot be read.
    """
    if (record.kind, record.name) != ("connector", connector):
        return 0
    return _built(ConnectorRecord, record).generation if record.deciding() is not None else 0


def epoch_of(connector: str, record: InternalRecord) -> tuple[int, int]:
    """Generation and epoch that a record of the configs topic gives a connector; (0, 0) where it is about something else."""
    value = record.telling() if (record.kind, record.name) == ("epoch", connector) else None
    generation, epoch = (value or {}).get("generation"), (value or {}).get("epoch")
    return (generation, epoch) if isinstance(generation, int) and isinstance(epoch, int) else (0, 0)


def capture_secret_of(connector: str, record: InternalRecord) -> str | None:
    """The secret of the connector's capture in a record of the configs topic; None where it has none."""
    about = record.kind in ("epoch", "secret") and record.name == connector
    secret = ((record.telling() if about else None) or {}).get("capture_secret")
    return secret if isinstance(secret, str) else None


class _Fold:
    """A connector's records, in the order of the topic."""

    def __init__(self, connector: str) -> None:
        self._name = connector
        self._connector: ConnectorRecord | None = None
        self._snapshot: SnapshotRecord | None = None
        self._secret: str | None = None
        self._ended: dict[str, Mapping[str, Any]] = {}

    def add(self, record: InternalRecord) -> None:
        """Take a record in; one of another connector, or of another kind, changes nothing."""
        if record.name != self._name or record.kind not in ("connector", "snapshot", "secret"):
            return
        if record.kind == "secret":
            self._secret = capture_secret_of(self._name, record)
            return
        value = record.deciding()
        if record.kind == "connector":
            self._connector = None if value is None else _built(ConnectorRecord, record)
        elif not record.rest:
            self._snapshot = None if value is None else _built(SnapshotRecord, record)
        else:
            self._ended.pop(record.rest[0], None)  # what ended last comes last
            if value is not None:
                self._ended[record.rest[0]] = {**ENDED, **value}

    def state(self, end: int) -> ConnectorState:
        return ConnectorState(self._connector, self._snapshot, self._ended, end, self._secret)


def _built(kind: type[R], record: InternalRecord) -> R:
    value = record.deciding() or {}
    try:
        return kind(**known_fields(kind, value))
    except TypeError as cause:
        raise unreadable(f"the {record.kind} record of connector {record.name!r}", record.where) from cause
