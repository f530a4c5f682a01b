"""Scan of a topic, in small steps, for keys that it still has and the cache no longer has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from ... import events
from ...common.arrays import Int64Array
from ...common.redaction import in_message
from ...convert.to_kafka.converter import Converter
from ...convert.to_kafka.key_values import SIMPLE_KINDS
from ...convert.to_kafka.read_back import KeyReader
from ...ignite.cluster import Cluster
from ...ignite.types.key_kind import KeyKind
from ...ignite.types.model import CacheInfo
from ...kafka.cache_headers import cache_in
from ...kafka.clients import KafkaClients, translate
from ...kafka.topics import Topics
from ...plan.source_plan import CachePlan
from .batch import LocatedKey, ReconcilePosition

_STEP = 10_000
_STEP_S = 0.2
_LOCATED = 10_000  # keys in one request
MOST_HELD = 100_000
"""Maximum keys that a scan holds before their tombstones are sent."""

Locate = Callable[[Sequence[bytes]], tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]]
"""Function from keys to their partitions, and to whether the cache has entries that pass its filter."""


class TopicKeys:
    """Converts keys of a topic back to Ignite keys, and looks them up in the cache.

    :param kinds: returns the kinds of the cache's keys; called when the first keys are read, so that it knows the kinds
        of all records of the scan.
    """

    def __init__(
        self,
        converter: Converter,
        cache: CachePlan,
        info: CacheInfo,
        cluster: Cluster,
        kinds: Callable[[], Iterable[KeyKind]],
        locate: Locate,
    ) -> None:
        self._converter = converter
        self._topic = cache.topic
        self._info = info
        self._cluster = cluster
        self._read_kinds = kinds
        self._locate = locate

    @cached_property
    def _kinds(self) -> frozenset[KeyKind]:
        return frozenset(self._read_kinds())

    @cached_property
    def _reader(self) -> KeyReader:
        return KeyReader(self._converter, self._kinds, self._info, self._cluster, self._topic)

    def read_back(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Convert record keys to Ignite's binary form, not wrapped; None for a key that cannot be converted back."""
        return self._reader.read_back(keys)

    def located(self, keys: Sequence[bytes]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        """Return the Ignite partition of each key, and a flag for each: the cache has the key."""
        parts = [self._locate(keys[at : at + _LOCATED]) for at in range(0, len(keys), _LOCATED)]
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, bool)
        return np.concatenate([part for part, _ in parts]).astype(np.int64), np.concatenate(
            [is_present for _, is_present in parts]
        )

    def gone(self, absent: Sequence[bytes]) -> set[bytes]:
        """Filter absent keys: drop a key that the cache has in another Java type, such as Long for Integer."""
        forms = self._reader.forms(absent, SIMPLE_KINDS | self._kinds)
        tried = [(key, form) for key, is_found in zip(absent, forms, strict=True) for form in is_found]
        presence = self.located([form for _, form in tried])[1]
        return set(absent) - {key for (key, _), is_found in zip(tried, presence.tolist(), strict=True) if is_found}


class TopicScan:
    """Reader of a cache's topic that collects keys with a record but without a cache entry.

    :param units: partition to unit, of the units to reconcile.
    :param position: first record to read.
    :param cache_header: header that names the cache of a record, for a topic that may have several; empty: all records
        are of the cache.
    :param most_held: maximum held keys.
    """

    def __init__(
        self,
        clients: KafkaClients,
        topics: Topics,
        cache: CachePlan,
        units: Mapping[int, int],
        position: ReconcilePosition,
        keys: TopicKeys,
        cache_header: str = "",
        most_held: int = MOST_HELD,
    ) -> None:
        self._cache = cache
        self._header = cache_header
        self._named = cache.name.encode()
        self._keys = keys
        self.position = position
        self._most_held = most_held
        self._unit_of = dict(units)
        self._held: dict[bytes, LocatedKey] = {}
        self._unread = 0
        self._example = b""
        self.idle = False
        self._ends = topics.ends(cache.topic, list(range(cache.topic_partitions)))
        self._consumer: Consumer = clients.reader()
        self._assigned: int | None = None
        self._skip_ends()

    @property
    def units(self) -> Int64Array:
        """Positions of the units to reconcile, ascending."""
        return np.array(sorted(self._unit_of.values()), np.int64)

    def drop_units(self, units: Iterable[int]) -> None:
        """Exclude units that will be loaded again, because they are reconciled after the load."""
        left = set(units)
        self._unit_of = {partition: unit for partition, unit in self._unit_of.items() if unit not in left}
        self._held = {text: located for text, located in self._held.items() if located[0] not in left}

    @property
    def finished(self) -> bool:
        """Whether the scan is over: the topic is read to its end, or no unit is left to reconcile."""
        return self.position[0] >= self._cache.topic_partitions or not self._unit_of

    @property
    def full(self) -> bool:
        """Whether so many keys are held that their tombstones must be sent now."""
        return len(self._held) >= self._most_held

    def pop_gone(self) -> dict[int, list[bytes]]:
        """Return the collected keys without a cache entry, by unit, and forget them."""
        gone: dict[int, list[bytes]] = defaultdict(list)
        for unit, key in self._held.values():
            gone[unit].append(key)
        self._held = {}
        return gone

    def step(self) -> None:
        """Read the next records of the topic and collect keys without a cache entry; do nothing at the end.

        :raises KafkaUnavailable: the topic cannot be read.
        """
        if self.finished:
            return
        partition, offset = self.position
        if self._assigned != partition:
            self._consumer.assign([TopicPartition(self._cache.topic, partition, offset)])
            self._assigned = partition
        messages = self._consumer.consume(_STEP, _STEP_S)
        self.idle = not messages
        alive: dict[bytes, bool] = {}
        for message in messages:
            if self._is_record(message):
                alive[message.key() or b""] = message.value() is not None
        self._find_gone(alive)
        self._skip_ends()

    def _is_record(self, message: Message) -> bool:
        """Return whether a message is a record of the cache, without error and below the end; advance the position."""
        error = message.error()
        partition = message.partition()
        offset = message.offset()
        if partition is None or offset is None or partition != self.position[0]:
            return False  # of a partition that is done
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise translate(error, "reconciling a topic", topic=self._cache.topic, partition=partition)
        self.position = partition, max(self.position[1], offset + (error is None))
        return error is None and offset < self._ends[partition] and self._is_own(message)

    def _is_own(self, message: Message) -> bool:
        """Return whether a message is a record of the cache."""
        if not self._header:
            return True
        headers: Any = message.headers()
        return cache_in(headers, self._header) == self._named

    def _skip_ends(self) -> None:
        while self.position[0] < self._cache.topic_partitions and self.position[1] >= self._ends[self.position[0]]:
            self.position = self.position[0] + 1, 0

    def _find_gone(self, alive: Mapping[bytes, bool]) -> None:
        for text, is_present in alive.items():
            if not is_present:
                self._held.pop(text, None)
        texts = [text for text, is_present in alive.items() if is_present and text not in self._held]
        keys = dict(zip(texts, self._keys.read_back(texts), strict=True))
        key_of = {text: key for text, key in keys.items() if key is not None}
        partitions, present = self._keys.located(list(key_of.values()))
        units = {
            text: self._unit_of.get(partition) for text, partition in zip(key_of, partitions.tolist(), strict=True)
        }
        absent = [
            text
            for text, is_present in zip(key_of, present.tolist(), strict=True)
            if not is_present and units[text] is not None
        ]
        self._held |= {
            text: (unit, key_of[text]) for text in self._keys.gone(absent) if (unit := units[text]) is not None
        }
        unread = [text for text, key in keys.items() if key is None]
        self._unread += len(unread)
        self._example = unread[0] if unread else self._example

    def close(self) -> None:
        """Close the consumer, and report keys that could not be converted back to Ignite's."""
        if self._unread:
            example = in_message(self._example[:80].decode(errors="replace"))
            events.emit(
                events.KEYS_NOT_READ_BACK,
                cache=self._cache.name,
                topic=self._cache.topic,
                count=self._unread,
                example=example,
            )
        self._consumer.close()
