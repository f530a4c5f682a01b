"""Changes of a source's offsets while no run is active, in one transaction for all slots.

The transaction has the transactional id of the connector's driver: a run that starts ends it, and a command that was
killed before its commit has changed nothing. The producers of the slots are fenced before and after it, so a run that
is still alive reads its offsets again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from ..errors import IgniteKafkaError, NotStopped, SettingsError
from ..kafka.clients import BRIEF_S, KafkaClients
from ..kafka.producer import ProducerFenced, TransactionalProducer, fenced_by_newer
from ..kafka.topics import Topics
from ..plan.slots import Owner, SlotState, UnitKey, UnitOffset, slot_of
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.sink import group_of
from ..settings.suggestions import did_you_mean
from ..state.configs import ConnectorRecord, read_connector
from ..state.internal_names import control_transactional_id, offsets_topic, slot_transactional_id
from ..state.offsets import read_slot
from ..state.slot_claim import SlotClaim
from .offset_transaction import MIN_TIMEOUT_MS, OffsetTransaction, timeout_ms
from .target_state import NewestRun, list_connectors, newest_run, unknown_connector_error

_THREADS = 8  # opening and reading a slot wait for the broker
Unit = tuple[str, int]
Changes = Mapping[int, Mapping[Unit, UnitOffset | None]]
"""New offsets of cache partitions by slot; None removes an offset."""
T = TypeVar("T")


@dataclass(frozen=True)
class AlteredOffset:
    """Highest update counter of a cache partition that counts as sent, before and after the change; -1: none."""

    cache: str
    partition: int
    before: int
    after: int

    def to_dict(self) -> dict[str, object]:
        """Return the change as JSON values, with ranges of update counters as in the offsets topic."""
        ranges = {"before": _to_ranges(self.before), "after": _to_ranges(self.after)}
        return {"cache": self.cache, "partition": self.partition, **ranges}


def _to_ranges(high: int) -> list[list[int]]:
    return [[0, high]] if high >= 0 else []


@dataclass(frozen=True)
class ResetOffsets:
    """Number of removed offsets, by cache."""

    units: Mapping[str, int]

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as JSON values."""
        return asdict(self)


def alter(
    settings: ConnectorSettings, secrets: Secrets, cache: str, partition: int, sent: int, *, force: bool = False
) -> AlteredOffset:
    """Set the highest update counter of a cache partition that counts as sent, without changing its snapshot.

    :param force: proceed although the newest run's status record shows no end.
    :raises NotStopped: the newest run has not ended, and ``force`` is False.
    :raises SettingsError: the connector was never started, or has no offset of that partition.
    :raises Fenced: a newer run of the connector has begun meanwhile.
    :raises TransactionTimeout: the brokers were too slow; nothing is changed.
    """
    hold = InactiveConnector.take(settings, secrets, force)
    slot = slot_of(cache, partition, hold.slots)
    with hold.own([slot], 1) as transaction:
        state = hold.read([slot], lambda state: state)[slot]
        before = state.units.get((cache, partition))
        if before is None:
            raise _no_offset_error(hold, state.by_cache, cache, partition)
        changes = {slot: {(cache, partition): replace(before, generation=hold.generation, high=sent, recent="")}}
        hold.write(transaction, changes)
    hold.check(changes)
    return AlteredOffset(cache, partition, before.high, sent)


def reset(
    settings: ConnectorSettings,
    secrets: Secrets,
    cache: str | None = None,
    partition: int | None = None,
    *,
    force: bool = False,
) -> ResetOffsets:
    """Remove the offsets of a cache partition, a cache or all caches, so that the next run sends them again.

    All or, if the command is killed, none of them. Repeatable.

    :raises NotStopped, SettingsError, Fenced, TransactionTimeout: as :func:`alter`.
    """
    hold = InactiveConnector.take(settings, secrets, force)
    slots = range(hold.slots) if cache is None or partition is None else (slot_of(cache, partition, hold.slots),)

    def chosen(state: SlotState) -> tuple[list[Unit], set[str]]:
        units = {*state.units, *state.unreadable}
        selected = [unit for unit in units if cache in (None, unit[0]) and partition in (None, unit[1])]
        return sorted(selected), set(state.by_cache)

    expected = sum(len(units) for units, _ in hold.read(slots, chosen).values())
    with hold.own(slots, expected) as transaction:
        selected = hold.read(slots, chosen)
        counts = Counter(name for units, _ in selected.values() for name, _ in units)
        if cache is not None and cache not in counts:
            raise _nothing_to_reset(hold, set().union(*(caches for _, caches in selected.values())), cache, partition)
        changes: Changes = {slot: dict.fromkeys(units) for slot, (units, _) in selected.items() if units}
        if changes:
            hold.write(transaction, changes)
    hold.check(changes)
    return ResetOffsets(dict(counts))


@dataclass(frozen=True)
class InactiveConnector:
    """A connector without an active run, with its newest run's record."""

    clients: KafkaClients
    topics: Topics
    prefix: str
    connector: str
    record: ConnectorRecord

    @property
    def generation(self) -> int:
        """Generation of the newest run."""
        return self.record.generation

    @property
    def slots(self) -> int:
        """Number of slots."""
        return self.record.slots

    @property
    def group(self) -> str:
        """Consumer group of a sink."""
        return group_of(self.connector, self.record.settings)

    @staticmethod
    def take(settings: ConnectorSettings, secrets: Secrets, force: bool, *, sink: bool = False) -> InactiveConnector:
        """Check that the connector's newest run has ended, and return the connector.

        :param sink: the expected direction: True for a sink.
        :raises NotStopped, SettingsError: as :func:`alter`.
        """
        clients = kafka_clients(settings, secrets)
        clients.check()
        topics = Topics(clients)
        prefix = settings.internal_topic_prefix
        newest = newest_run(clients, topics, prefix, settings.name)
        if newest.connector is None:
            raise unknown_connector_error(settings, list_connectors(clients, topics, prefix))
        if not newest.ended and not force:
            raise _not_ended_error(settings.name, newest)
        if newest.connector.is_source is sink:
            raise _direction_error(settings.name, sink)
        return InactiveConnector(clients, topics, prefix, settings.name, newest.connector)

    @contextmanager
    def own(self, slots: Collection[int], offsets: int) -> Iterator[OffsetTransaction]:
        """Own the connector, and yield the transaction, not yet begun, that changes offsets of slots.

        Tasks of the newest run that are still alive are fenced before, and after it: what such a task read in between
        it cannot commit.

        :param offsets: number of offsets to be changed, which determines the transaction's timeout.
        :raises Fenced: a newer run of the connector has begun, or begins; nothing is changed.
        :raises TransactionTimeout: the transaction was not committed in time; nothing is changed.
        """
        limit_ms = timeout_ms(offsets, self.record.settings.get("transaction_timeout_ms"))
        self._check_newest()  # before the init, which would end a run that has begun
        producer = TransactionalProducer(self.clients, control_transactional_id(self.connector), limit_ms)
        transaction = OffsetTransaction(producer, offsets, limit_ms)
        try:
            producer.init()  # ends the transaction of a command that was killed
            self._check_newest()
            self._each(self._fence, slots)
            yield transaction
            self._each(self._fence, slots)
        except ProducerFenced as cause:
            if transaction.timed_out:
                raise transaction.timeout_error() from cause
            raise fenced_by_newer(self.connector, None, self.generation, self._newest_generation()) from cause
        finally:
            producer.abort_open(BRIEF_S)
            producer.close()

    def _check_newest(self) -> None:
        newest = self._newest_generation()
        if newest > self.generation:
            raise fenced_by_newer(self.connector, None, self.generation, newest)

    def _newest_generation(self) -> int:
        return read_connector(self.clients, self.topics, self.prefix, self.connector).generation

    def _fence(self, slot: int) -> None:
        producer = TransactionalProducer(self.clients, slot_transactional_id(self.connector, slot), MIN_TIMEOUT_MS)
        with closing(producer):
            producer.init()

    def _each(self, step: Callable[[int], T], slots: Collection[int]) -> dict[int, T]:
        """Call a function with each slot's number, in several threads, and return the results by slot."""
        with ThreadPoolExecutor(_THREADS, "slot") as pool:
            return dict(zip(slots, pool.map(step, slots), strict=True))

    def read(self, slots: Collection[int], select: Callable[[SlotState], T]) -> dict[int, T]:
        """Read slots, and return by slot what a function selects of its offsets.

        :raises Fenced: a newer run of the connector has begun.
        """

        def selected(slot: int) -> T:
            state = read_slot(self.clients, self.topics, self._slot_claim(slot))
            if state.owner.generation > self.generation:
                raise fenced_by_newer(self.connector, slot, self.generation, state.owner.generation)
            return select(state)

        return self._each(selected, slots)

    def write(self, transaction: OffsetTransaction, changes: Changes) -> None:
        """Write changes of cache partitions in one transaction."""
        transaction.begin()
        for slot, units in changes.items():
            for (cache, partition), offset in units.items():
                key = UnitKey(self.connector, cache, partition).to_json()
                value = None if offset is None else offset.to_json()
                transaction.produce(self.offsets_topic, key, value, slot)
        transaction.commit()

    def check(self, changes: Changes) -> None:
        """Read changed cache partitions back.

        :raises IgniteKafkaError: another program wrote offsets meanwhile.
        """
        now = self.read(list(changes), lambda state: {unit: state.units.get(unit) for unit in changes[state.slot]})
        wrong = [unit for slot, units in changes.items() for unit in units if now[slot][unit] != units[unit]]
        if wrong:
            raise IgniteKafkaError(
                f"offsets of {len(wrong)} units differ from those just written: another program wrote them meanwhile",
                "Make sure that no run of the connector is active, then see ignite-kafka offsets show.",
                connector=self.connector,
                units=wrong[:20],
            )

    @property
    def offsets_topic(self) -> str:
        """Name of the connector's offsets topic, in which a slot is a partition."""
        return offsets_topic(self.prefix, self.connector)

    def _slot_claim(self, slot: int) -> SlotClaim:
        return SlotClaim.of(self.connector, slot, Owner(self.generation), self.prefix)


def _not_ended_error(connector: str, newest: NewestRun) -> NotStopped:
    return NotStopped(
        "offsets can be changed only while no run of the connector is active, and its newest run has not ended",
        f"Stop it: ignite-kafka stop {connector}. If its driver is dead and will write nothing more: --force.",
        connector=connector,
        run_id=newest.run_id,
        state=newest.state,
    )


def _direction_error(connector: str, sink: bool) -> SettingsError:
    if sink:
        return SettingsError(
            "the connector is a source: it has offsets of caches", "Leave out topic and position.", connector=connector
        )
    return SettingsError(
        "the connector is a sink: its offsets are those of its consumer group",
        f"Give the next position: ignite-kafka offsets reset {connector} --to earliest, latest, a time or an offset, "
        "with --topic and --partition for less than all.",
        connector=connector,
    )


def _nothing_to_reset(
    hold: InactiveConnector, caches: Collection[str], cache: str, partition: int | None
) -> SettingsError:
    if partition is not None:
        return _no_offset_error(hold, caches, cache, partition)
    remedy = did_you_mean(cache, caches) or "See ignite-kafka offsets show."
    return SettingsError("the connector has no offsets of that cache", remedy, connector=hold.connector, cache=cache)


def _no_offset_error(hold: InactiveConnector, caches: Collection[str], cache: str, partition: int) -> SettingsError:
    hint = did_you_mean(cache, caches) if cache not in caches else ""
    return SettingsError(
        "the connector has no offset of that partition: nothing of it was ever sent, or it was reset",
        hint or "See ignite-kafka offsets show --json.",
        connector=hold.connector,
        cache=cache,
        partition=partition,
    )
