"""Writer of the configs topic, by which a driver owns its connector; transactional id `<connector>-control`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

from confluent_kafka.admin import OffsetSpec

from ..common.retry import retry
from ..common.typed_json import dumps
from ..errors import OffsetsLost, TopicError
from ..ignite.cache_configuration import CacheConfiguration
from ..kafka.clients import BRIEF_S, REQUEST_TIMEOUT_S, KafkaClients
from ..kafka.producer import ProducerFenced, TransactionalProducer, fenced_by_newer
from ..kafka.topic_errors import may_pass
from ..kafka.topics import COMPACTED, Topics, TopicSpec
from ..plan.slots import Owner, SlotKey
from ..settings.topic_names import types_topic
from .cache_records import cache_key, cache_to_json
from .configs import ENDED, ConnectorRecord, ConnectorState, RepairRecord, SnapshotRecord, read_connector
from .internal_names import (
    configs_topic,
    control_transactional_id,
    offsets_topic,
    repair_transactional_id,
    slot_transactional_id,
)
from .internal_records import FORMAT_HEADERS
from .signal_records import Signal, SignalPosition, SignalStatus
from .signals import END, FORGOTTEN, KIND, TARGET, ForgottenEnds

MOST_KEPT = 1_000
_FENCE_THREADS = 16
_SECRET_BYTES = 32
_RECORD_AND_MARKER = 2  # the generation record and its commit marker
# readers of the configs topic wait this long for a driver that died inside a control transaction
_CONTROL_TIMEOUT_MS = 30_000
_NONE_FORGOTTEN = ForgottenEnds()
_Record = tuple[str, bytes, bytes | None, int]  # topic, key, value, partition


class ConfigsWriter:
    """Transactional writer of a connector's records, which makes its driver the only owner.

    :meth:`take` fences older drivers; :meth:`begin` publishes the new generation to tasks.

    :param kept: number of ended snapshots kept; a removed snapshot id would begin again.
    :raises Fenced: from any method: a newer driver has taken the connector.
    """

    def __init__(
        self, clients: KafkaClients, topics: Topics, prefix: str, connector: str, kept: int = MOST_KEPT
    ) -> None:
        self._clients = clients
        self._topics = topics
        self._prefix = prefix
        self._connector = connector
        self._kept = kept
        self._ended: list[str] = []
        self._producer: TransactionalProducer | None = None
        self._in_doubt = False  # a call got no answer, so its producer is discarded
        self._capture_secret: str | None = None
        self._repair: RepairRecord | None = None
        self.record = ConnectorRecord()

    def take(
        self,
        slots: int,
        run_id: str,
        settings: Mapping[str, Any],
        replication_factor: int,
        seen: ConnectorState | None = None,
    ) -> ConnectorState:
        """Claim the connector: fence older drivers, and check or create the offsets topic.

        :attr:`record` is the record that :meth:`begin` writes.

        :param seen: an earlier result of :func:`read_connector`; read again only if the configs topic has grown since.
        :returns: the state found.
        :raises OffsetsLost: a known connector's offsets topic is missing, was created again, is not compacted, or lost
            records.
        :raises TopicError: partition count of the offsets topic and number of slots differ, or the user may not
            describe its settings.
        :raises KafkaUnavailable: brokers are down, or do not know the offsets topic yet. The call may be repeated.
        """
        configs = configs_topic(self._prefix)
        self._topics.ensure([TopicSpec(configs, 1, replication_factor, COMPACTED)])
        self.close()
        self._producer = self._initialised()
        state = seen
        if state is None or self._topics.ends(configs, [0])[0] != state.end:
            state = read_connector(self._clients, self._topics, self._prefix, self._connector)
        connector = state.connector
        self._ended = list(state.ended)
        self._repair = state.repair
        offsets_id = self._offsets_topic(connector, slots, replication_factor)
        generation = (connector.generation if connector else 0) + 1
        target = connector.target_state if connector else "RUNNING"
        self.record = ConnectorRecord(generation, slots, offsets_id, target, run_id, settings)
        return state

    def _offsets_topic(self, connector: ConnectorRecord | None, slots: int, replication_factor: int) -> str:
        name = offsets_topic(self._prefix, self._connector)
        if connector is None:
            self._topics.ensure([TopicSpec(name, slots, replication_factor, COMPACTED)])
        topic = self._topics.describe([name]).get(name)
        reset = "Restore it; or, if its progress may be forgotten, give the connector a new name (docs/operations.md)."
        if topic is None or (connector is not None and connector.offsets_topic_id != topic.topic_id):
            why = "is missing" if topic is None else "was deleted and made again"
            raise OffsetsLost(
                f"the offsets topic of a known connector {why}", reset, topic=name, connector=self._connector
            )
        # never assumed: without compaction the topic loses offsets, and entries would be sent twice
        if topic.cleanup_policy is None:
            raise TopicError(
                "the user may not describe the settings of the offsets topic, so it is unknown whether it keeps "
                "offsets",
                f"Grant the user of the Kafka connection DESCRIBE_CONFIGS on the topics {self._prefix}-*.",
                topic=name,
            )
        if "compact" not in topic.cleanup_policy.split(","):
            raise OffsetsLost(
                f"the offsets topic has cleanup.policy {topic.cleanup_policy!r} and forgets offsets",
                "Set it to compact.",
                topic=name,
            )
        if connector is not None:
            self._check_whole(name, topic.partitions)
        if topic.partitions != slots or (connector is not None and connector.slots != slots):
            raise TopicError(
                f"the offsets topic has {topic.partitions} partitions and the connector "
                f"{connector.slots if connector else slots} slots, but the setting slots is {slots}",
                "The number of slots is fixed for a connector's life: set slots back, or give the connector a new "
                "name.",
                topic=name,
            )
        return topic.topic_id

    def _check_whole(self, name: str, partitions: int) -> None:
        """Check that the offsets topic still has its first records, none deleted by retention or a request.

        Compaction never moves a partition's first offset.

        :raises OffsetsLost: a partition begins later.
        """
        places = [(name, partition) for partition in range(partitions)]
        for (_, partition), first in sorted(self._topics.offsets(places, OffsetSpec.earliest()).items()):
            if first > 0:
                raise OffsetsLost(
                    f"records of the offsets topic before offset {first} were deleted, by retention or by a request",
                    "If the connector's progress may be forgotten, give it a new name (docs/operations.md).",
                    topic=name,
                    partition=partition,
                    connector=self._connector,
                )

    def begin(self, snapshot: SnapshotRecord | None = None, before: SnapshotRecord | None = None) -> tuple[int, ...]:
        """Publish the run's new generation to drivers (configs topic) and tasks (every slot), in one transaction.

        A task that opens a slot afterwards reads the generation and ends if it is a newer one. A task with an open slot
        continues until this run opens that slot or its driver sees the new generation; the new run first reads what it
        commits until then.

        :param snapshot: a new snapshot; an unfinished one ``before`` it is marked as superseded, so that the two never
            mix.
        :returns: end offset of each slot's partition. While it has not moved, nobody has written to the slot.
        """
        slots = range(self.record.slots)
        offsets = offsets_topic(self._prefix, self._connector)
        owner = Owner(self.record.generation).to_json()
        records = self._snapshot_begun(snapshot, before) if snapshot else []
        records.append(self._config(asdict(self.record), "connector"))
        records += [(offsets, SlotKey(self._connector, slot).to_json(), owner, slot) for slot in slots]
        written = self._write(records)
        self._fence_repair()
        return tuple(written[offsets, slot] + _RECORD_AND_MARKER for slot in slots)

    def _fence_repair(self) -> None:
        """Fence the producers of an unfinished repair, so that the repair writes nothing during this run."""
        if self._repair is not None:
            self._fence_producers(self._repair)
            self._write([self._config(None, "repair")])
            self._repair = None

    def _fence_producers(self, repair: RepairRecord | None) -> None:
        self._fence(
            [repair_transactional_id(self._connector, number) for number in range(repair.producers if repair else 0)]
        )

    def begin_repair(self, repair: RepairRecord, replication_factor: int) -> None:
        """Claim the connector for a repair, and record the repair, so that the next run can fence its producers.

        :raises Fenced: a run has begun since the repair looked for one; it ends, and nothing is repaired.
        """
        self._topics.ensure([TopicSpec(configs_topic(self._prefix), 1, replication_factor, COMPACTED)])
        self.record = ConnectorRecord(repair.generation)
        if (theirs := self._newest_generation()) > repair.generation:
            raise fenced_by_newer(self._connector, None, repair.generation, theirs)
        self._producer = self._initialised()
        state = read_connector(self._clients, self._topics, self._prefix, self._connector)
        if state.generation > repair.generation:
            raise fenced_by_newer(self._connector, None, repair.generation, state.generation)
        # those of a repair that died: this record replaces the only trace of them; a task of it that comes later reads
        # this one
        self._fence_producers(state.repair)
        self._write([self._config(asdict(repair), "repair")])
        self._fence_producers(state.repair)

    def end_repair(self) -> None:
        """Record the end of the repair, so that the next run need not fence its producers."""
        self._write([self._config(None, "repair")])

    def _snapshot_begun(self, snapshot: SnapshotRecord, before: SnapshotRecord | None) -> list[_Record]:
        records = [self._config(asdict(snapshot), "snapshot")]
        if before is not None and not before.complete and before.id != snapshot.id:
            records += self._ended_records(before.id, {**ENDED, "superseded_by": snapshot.id})
        return records

    def _ended_records(self, snapshot_id: str, how: Mapping[str, Any]) -> list[_Record]:
        """Make the record of a snapshot's end, and tombstones for the oldest ends beyond the limit."""
        self._ended = [ended_id for ended_id in self._ended if ended_id != snapshot_id] + [snapshot_id]
        forgotten = self._ended[: -self._kept]
        self._ended = self._ended[-self._kept :]
        tombstones = [self._config(None, "snapshot", ended_id) for ended_id in forgotten]
        return [self._config(how, "snapshot", snapshot_id), *tombstones]

    def fence_slots(self) -> None:
        """Abort open transactions of all slots, and fence the slots' producers.

        A task that opens a slot again reads the generation.
        """
        self._fence([slot_transactional_id(self._connector, slot) for slot in range(self.record.slots)])

    def _fence(self, transactional_ids: Sequence[str]) -> None:
        with ThreadPoolExecutor(_FENCE_THREADS) as pool:
            list(pool.map(self._fence_one, transactional_ids))

    def _fence_one(self, transactional_id: str) -> None:
        producer = TransactionalProducer(self._clients, transactional_id, _CONTROL_TIMEOUT_MS)
        try:
            producer.init()
        finally:
            producer.close()

    def ensure_capture_secret(self, state: ConnectorState) -> str:
        """Return the secret that protects the connector's capture on the nodes; make it on the first start.

        A new one is committed before any node receives it.

        :param state: the result of :meth:`take`.
        """
        self._capture_secret = state.capture_secret or secrets.token_urlsafe(_SECRET_BYTES)
        if state.capture_secret is None:
            self._write([self._config({"capture_secret": self._capture_secret}, "secret")])
        return self._capture_secret

    def write_caches(self, configurations: Mapping[str, CacheConfiguration]) -> None:
        """Publish cache configurations, by data topic, in the types topic, so that sinks can create equal caches."""
        if configurations:
            topic = types_topic(self._prefix)
            self._write(
                [
                    (topic, cache_key(name), cache_to_json(configuration), 0)
                    for name, configuration in configurations.items()
                ]
            )

    def begin_epoch(self, number: int, snapshot: SnapshotRecord | None = None) -> None:
        """Record a new epoch, which ends the tasks of earlier epochs; also record the snapshot if its plan changed."""
        changed = [self._config(asdict(snapshot), "snapshot")] if snapshot else []
        epoch: dict[str, Any] = {"generation": self.record.generation, "epoch": number}
        if self._capture_secret is not None:
            epoch["capture_secret"] = self._capture_secret
        self._write([*changed, self._config(epoch, "epoch")])

    def end_snapshot(self, snapshot: SnapshotRecord, caches: Mapping[str, Any]) -> None:
        """Record that a snapshot is complete, with its counts by cache."""
        done = replace(snapshot, complete=True)
        ended = {**ENDED, "complete": True, "caches": caches}
        self._write([self._config(asdict(done), "snapshot"), *self._ended_records(snapshot.id, ended)])

    def end_signal(self, end: SignalStatus, forgotten: ForgottenEnds = _NONE_FORGOTTEN) -> None:
        """Record the end of a signal in place of its request, so that no run does it again.

        :param forgotten: older ended signals, all records of which are removed.
        """
        done = [self._config(asdict(end), KIND, end.id, END)]
        done += [self._config(None, KIND, end.id, *rest) for rest in ((), (TARGET,))]
        self._write([*done, *self._without_signals(forgotten)])

    def accept_signals(
        self,
        position: SignalPosition,
        requests: Sequence[Signal] = (),
        targets: Mapping[str, str] = MappingProxyType({}),
        refused: Sequence[SignalStatus] = (),
        forgotten: ForgottenEnds = _NONE_FORGOTTEN,
    ) -> None:
        """Record what was read from the signal topic, and the position behind it, in one transaction.

        :param targets: what is wanted of signals, by id.
        :param refused: ends of signals that cannot be requested so.
        :param forgotten: older ended signals, all records of which are removed.
        """
        records = [self._config(asdict(position), KIND)]
        records += [self._config(asdict(signal), KIND, signal.id) for signal in requests]
        records += [self._config({"state": state}, KIND, id, TARGET) for id, state in targets.items()]
        records += [self._config(asdict(end), KIND, end.id, END) for end in refused]
        self._write([*records, *self._without_signals(forgotten)])

    def _without_signals(self, forgotten: ForgottenEnds) -> list[_Record]:
        if not forgotten.removed:
            return []
        # a request or target that crossed the end was left out by it; without the end it would count
        ends = [self._config(None, KIND, id, *rest) for id in forgotten.removed for rest in ((), (TARGET,), (END,))]
        return [*ends, self._config({"ids": forgotten.ids}, FORGOTTEN)]

    def _config(self, value: Any, kind: str, *rest: str) -> _Record:
        """Make a record of the configs topic for this connector; a value of None is a tombstone."""
        return (
            configs_topic(self._prefix),
            dumps([kind, self._connector, *rest]),
            None if value is None else dumps(value),
            0,
        )

    def _write(self, records: Sequence[_Record]) -> Mapping[tuple[str, int], int]:
        """Write records in one transaction, and return the last written offset by topic and partition.

        The call may be repeated after an error.

        The transaction's coordinator may not know a new topic yet, although the controller and the leaders do: it is
        retried.
        """
        return retry(lambda: self._write_once(records), min(REQUEST_TIMEOUT_S, self._clients.patience_s), may_pass)

    def _write_once(self, records: Sequence[_Record]) -> Mapping[tuple[str, int], int]:
        assert self._producer is not None, "take() comes first"
        try:
            if self._producer.spent or self._in_doubt:
                fresh = self._initialised()
                self._producer.close()
                self._producer = fresh
                self._in_doubt = False
                if (theirs := self._newest_generation()) > self.record.generation:
                    raise fenced_by_newer(self._connector, None, self.record.generation, theirs)
            self._in_doubt = True
            self._producer.begin()
            for record in records:
                self._producer.produce(*record, headers=FORMAT_HEADERS)
            self._producer.commit()
            self._in_doubt = False
            return self._producer.written
        except ProducerFenced as cause:
            raise fenced_by_newer(self._connector, None, self.record.generation, self._newest_generation()) from cause
        except TopicError as cause:
            refined = self._topics.unknown_topic(cause, sorted({topic for topic, *_ in records}))
            raise refined from refined.__cause__

    def _initialised(self) -> TransactionalProducer:
        reports = {"delivery.report.only.error": False}
        producer = TransactionalProducer(
            self._clients, control_transactional_id(self._connector), _CONTROL_TIMEOUT_MS, settings=reports
        )
        try:
            producer.init()
        except BaseException:
            producer.close()
            raise
        return producer

    def _newest_generation(self) -> int:
        return read_connector(self._clients, self._topics, self._prefix, self._connector).generation

    def close(self) -> None:
        """Close the producer, and abort a transaction that an interrupt left open, as all readers wait for its end."""
        if self._producer is not None:
            self._producer.abort_open(BRIEF_S)
            self._producer.close()
            self._producer = None
