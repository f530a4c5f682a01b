"""Changes of a source's offsets while no run is active, under the transactional ids of the connector's slots.

Opening a slot fences the slot's other producers, so a run that is still alive, or starts meanwhile, reads its offsets
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

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
from ..state.internal_names import slot_transactional_id
from ..state.internal_records import FORMAT_HEADERS
from ..state.offsets import read_slot
from ..state.slot_claim import SlotClaim
from .target_state import NewestRun, list_connectors, newest_run, unknown_connector_error

_TIMEOUT_MS = 30_000
Unit = tuple[str, int]


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
    """
    hold = InactiveConnector.take(settings, secrets, force)
    slot = slot_of(cache, partition, hold.slots)
    with hold.open_slot(slot) as (producer, state):
        before = state.units.get((cache, partition))
        if before is None:
            raise _no_offset_error(hold, state, cache, partition)
        after = replace(before, generation=hold.generation, high=sent, recent="")
        hold.write(producer, slot, {(cache, partition): after})
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

    One transaction per slot. Repeatable.

    :raises NotStopped, SettingsError, Fenced: as :func:`alter`.
    """
    hold = InactiveConnector.take(settings, secrets, force)
    counts: dict[str, int] = {}
    caches: set[str] = set()
    slots = range(hold.slots) if cache is None or partition is None else (slot_of(cache, partition, hold.slots),)
    for slot in slots:
        with hold.open_slot(slot) as (producer, state):
            caches |= state.by_cache.keys()
            units = [
                unit
                for unit in {**state.units, **dict.fromkeys(state.unreadable)}
                if cache in (None, unit[0]) and partition in (None, unit[1])
            ]
            if units:
                hold.write(producer, slot, dict.fromkeys(units))
            elif cache is not None and partition is not None:
                raise _no_offset_error(hold, state, cache, partition)
            for name, _ in units:
                counts[name] = counts.get(name, 0) + 1
    if cache is not None and cache not in counts:
        remedy = did_you_mean(cache, caches) or "See ignite-kafka offsets show."
        raise SettingsError("the connector has no offsets of that cache", remedy, connector=settings.name, cache=cache)
    return ResetOffsets(counts)


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
    def open_slot(self, slot: int) -> Iterator[tuple[TransactionalProducer, SlotState]]:
        """Open a slot, and yield the slot's initialised producer and its offsets.

        :raises Fenced: a newer run of the connector has begun.
        """
        producer = TransactionalProducer(self.clients, slot_transactional_id(self.connector, slot), _TIMEOUT_MS)
        try:
            producer.init()
            state = self._read_slot(slot)
            if state.owner.generation > self.generation:
                raise fenced_by_newer(self.connector, slot, self.generation, state.owner.generation)
            yield producer, state
        except ProducerFenced as cause:
            record = read_connector(self.clients, self.topics, self.prefix, self.connector).connector
            raise fenced_by_newer(self.connector, slot, self.generation, record.generation if record else 0) from cause
        finally:
            producer.abort_open(BRIEF_S)
            producer.close()

    def write(self, producer: TransactionalProducer, slot: int, changes: Mapping[Unit, UnitOffset | None]) -> None:
        """Write changes of units in one transaction, and check them by reading them back.

        :param changes: new offset by unit; None removes it.
        :raises IgniteKafkaError: another program wrote offsets meanwhile.
        """
        topic = self.offsets_topic(slot)
        producer.begin()
        for (cache, partition), offset in changes.items():
            key = UnitKey(self.connector, cache, partition).to_json()
            producer.produce(topic, key, None if offset is None else offset.to_json(), slot, FORMAT_HEADERS)
        producer.commit()
        units = self._read_slot(slot).units
        wrong = [unit for unit, offset in changes.items() if units.get(unit) != offset]
        if wrong:
            raise IgniteKafkaError(
                f"offsets of {len(wrong)} units differ from those just written: another program wrote them meanwhile",
                "Make sure that no run of the connector is active, then see ignite-kafka offsets show.",
                connector=self.connector,
                slot=slot,
                units=wrong[:20],
            )

    def offsets_topic(self, slot: int) -> str:
        """Return the name of the connector's offsets topic, in which the slot is the partition."""
        return self._slot_claim(slot).offsets_topic

    def _slot_claim(self, slot: int) -> SlotClaim:
        return SlotClaim.of(self.connector, slot, Owner(self.generation), self.prefix)

    def _read_slot(self, slot: int) -> SlotState:
        return read_slot(self.clients, self.topics, self._slot_claim(slot))


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


def _no_offset_error(hold: InactiveConnector, state: SlotState, cache: str, partition: int) -> SettingsError:
    hint = did_you_mean(cache, state.by_cache) if cache not in state.by_cache else ""
    return SettingsError(
        "the connector has no offset of that partition: nothing of it was ever sent, or it was reset",
        hint or "See ignite-kafka offsets show --json.",
        connector=hold.connector,
        cache=cache,
        partition=partition,
    )
