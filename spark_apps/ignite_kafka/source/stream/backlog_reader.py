"""Reader of a stream task's batches: captured changes, loaded cache partitions, and tombstones.

The backlog is a to-do list: changes are read, classified (:mod:`.dedup`), and acknowledged once they are committed.
The parts:

===================== =====================================================================
:mod:`.change_reader` changes of loaded units
:mod:`.loader`        units that are sent from the cache
:mod:`.signal_reader` entries that a signal asks for, beside the changes of their units
:mod:`.reconcile`     tombstones for keys that the topic has and the cache has not
:mod:`.unit_reader`   reads and classifies the backlog of units, for all three
:mod:`.state_lookup`  looks up keys whose changes do not determine the state, for all three
:mod:`.node_watch`    keys that a node's death makes doubtful
:mod:`.unit_states`   the state of each unit, and the content of its next offset record
===================== =====================================================================
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from ...common.deadline import Clock
from ...ignite.scan import scan_partitions
from ...kafka.clients import KafkaClients
from ...kafka.topics import Topics
from ...plan.slots import UnitOffset
from ...plan.source_plan import TransferPlan
from ...runtime.epoch import Unit
from ...state.offsets import read_key_kinds
from ...state.signal_records import Signal, SignalReport
from .backlog_client import BacklogClient
from .batch import ChangeBatch
from .cache_infos import CacheInfos
from .change_reader import ChangeReader
from .loader import Loader
from .node_watch import NodeWatch
from .reconcile import ReadKinds, Reconciler
from .signal_reader import SignalReader
from .state_lookup import StateLookup
from .topic_scan import MOST_HELD
from .unit_reader import UnitReader
from .unit_scan import Scan, UnitScanner
from .unit_states import UnitStates
from .unit_table import UnitTable


class BacklogReader:
    """Makes the batches of a task's cache partitions; not thread-safe, and unusable after an error.

    Each batch carries all that the sender needs (`ChangeBatch.progress`). It must be committed, remembered
    (:meth:`remember`) and acknowledged before the next batch is read.

    :param clients: read the topics, to reconcile them.
    :param most_records: target records of a batch of changes, and of a batch of loaded units; None: no limit.
    :param read_kinds: reads the kinds of keys that the connector has sent for a cache; None: from its offsets.
    :param signal: ad-hoc snapshot to send; None: there is none.
    """

    def __init__(
        self,
        plan: TransferPlan,
        table: UnitTable,
        client: BacklogClient,
        infos: CacheInfos,
        clients: KafkaClients,
        topics: Topics,
        most_records: int | None = None,
        *,
        scan: Scan = scan_partitions,
        clock: Clock = time.monotonic,
        most_held: int = MOST_HELD,
        read_kinds: ReadKinds | None = None,
        signal: Signal | None = None,
    ) -> None:
        self._table = table
        self._client = client
        self.states = states = UnitStates(plan, table, clock)
        nodes = NodeWatch(client, states)
        reader = UnitReader(client, states, nodes)
        lookup = StateLookup(client, states, reader, nodes)
        self._changes = ChangeReader(client, states, reader, nodes, lookup, most_records)
        scanner = UnitScanner(client.cluster, infos, states, most_records, scan)
        self._loader = Loader(client, scanner, states, reader, lookup)
        if read_kinds is None:
            prefix = plan.settings.internal_topic_prefix
            read_kinds = partial(read_key_kinds, clients, topics, prefix, plan.connector, plan.slots)
        self._reconciler = Reconciler(client, infos, states, lookup, clients, topics, read_kinds, most_held)
        self._signal = SignalReader(signal, client, infos, states, reader, lookup, scanner, self._reconciler)

    def restore(self, offsets: Iterable[tuple[int, UnitOffset | None, bool]]) -> None:
        """Restore the progress of each cache partition from its offset record, at the start of a task.

        :param offsets: unit, offset record, and whether the topic may hold keys of the unit from before this capture.
        """
        for unit, offset, sent_before in offsets:
            self.states.restore(unit, offset, sent_before)

    def changes(self) -> list[ChangeBatch]:
        """Poll the backlog once, and return batches of changes to cache partitions that are already loaded."""
        return [self._with_progress(batch) for batch in self._changes.read()]

    def load(self) -> list[ChangeBatch]:
        """Read the next cache partitions to load, about ``batch_bytes`` in all; no batch if all are loaded."""
        return [self._with_progress(batch) for batch in self._loader.load()]

    def ad_hoc(self) -> list[ChangeBatch]:
        """Read the next entries of the signal's ad-hoc snapshot; no batch if none can be read now."""
        return [self._with_progress(batch) for batch in self._signal.read()]

    def reconcile(self, *, ends: bool = False) -> Iterator[ChangeBatch]:
        """Yield the next batches of tombstones for keys missing in the cache; commit each before requesting the next.

        :param ends: whether this task ends: the tombstones found so far are sent, and the next task continues from
            there.
        """
        for batch in self._reconciler.step(ends=ends):
            yield self._with_progress(batch)

    def _with_progress(self, batch: ChangeBatch) -> ChangeBatch:
        batch.progress = self.states.progress(batch)
        return batch

    def remember(self, batch: ChangeBatch) -> None:
        """Record a committed batch, so that its changes count as sent."""
        self.states.remember(batch)
        self._changes.remember(batch)
        self._reconciler.remember(batch)
        self._signal.remember(batch)

    def acknowledge(self, batch: ChangeBatch) -> None:
        """Remove the changes of a committed batch from the backlog on the nodes."""
        sent = batch.changes.acknowledgement(self._table.units[batch.units], batch.settled, batch.expired_settled)
        if sent:
            self._client.acknowledge(sent)

    @property
    def all_loaded(self) -> bool:
        """Whether loading and reconciliation are complete."""
        return self.states.all_loaded

    @property
    def more(self) -> bool:
        """Whether the next read should follow at once, without waiting for the poll interval."""
        return self._reconciler.more or bool(self.states.to_load.size) or self._changes.more or self._signal.more

    def signal_report(self) -> SignalReport | None:
        """Return the progress of the signal's ad-hoc snapshot in this task; None without a signal."""
        return self._signal.report()

    @property
    def signal_ended(self) -> bool:
        """Whether the signal's ad-hoc snapshot is sent, or has failed; true without a signal."""
        return not self._signal.pending.size

    def caught_up(self, until: Mapping[Unit, int]) -> bool:
        """Return whether a run with ``run_mode`` once may end: everything from before its start is committed.

        :param until: the highest update number of each unit at the start.
        """
        return self.all_loaded and self.signal_ended and self._changes.caught_up(until)

    def forget(self) -> None:
        """Drop old changes from the memory of the deduplicator, which bounds its size."""
        self.states.forget()

    def close(self) -> None:
        """Close the consumer that reconciliation reads topics with."""
        self._reconciler.close()
