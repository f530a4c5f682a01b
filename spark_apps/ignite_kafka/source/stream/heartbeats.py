"""Heartbeats of a stream: entries that take the whole way of a change, and are never data.

The driver puts the time into a cache of the connector's own, which the backlog service captures like the others. The
task with slot 0 reads the change from the backlog, and writes it to the internal topic of heartbeats in a transaction
of that slot. The driver reads that topic with ``read_committed``: what it measures is capture, backlog, poll, task and
commit, by its clock alone. The cache stays as long as the capture; its name is that of a backlog, which no connector
copies.
"""

from __future__ import annotations

import logging
import re
import struct
import time
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
from confluent_kafka import TopicPartition

from ...common.deadline import Interval
from ...common.measurements import HEARTBEAT, Collector
from ...errors import BacklogRefused, IgniteKafkaError
from ...ignite import protocol
from ...ignite.backlog_units import GONE, UNIT
from ...ignite.cache_configuration import CacheConfiguration
from ...ignite.cluster import Cluster
from ...ignite.protocol import ThinError
from ...ignite.schema import get_or_create_cache
from ...ignite.types import type_codes as codes
from ...kafka.clients import KafkaClients
from ...kafka.topics import COMPACTED, Topics, TopicSpec
from ...plan.source_plan import TransferPlan
from ...settings.source import SourceSettings
from ...state.internal_names import heartbeats_topic
from .backlog_client import BacklogClient

log = logging.getLogger(__name__)

_LONG = struct.Struct("<Bq")  # type code and value of a Java Long
_PUT = struct.Struct("<iB")  # cache id, flags
_KEY = _LONG.pack(codes.LONG, 0)
_NAME = "-heartbeats:"  # in the cache's name; names of connectors have no colon
_TIME = re.compile(rb"[0-9]{1,15}")  # milliseconds; whoever may write to the topic chooses the bytes
_MOST_BYTES = 1 << 20
_RECORDS = 1_000


def heartbeat_cache(settings: SourceSettings) -> str:
    """Return the name of the connector's cache of heartbeats, which no connector's name can give to a backlog."""
    return f"{settings.backlog_cache_name}{_NAME}{settings.name}"


def is_heartbeat_cache(cache: str, connector: str) -> bool:
    """Return whether a captured cache is the connector's cache of heartbeats."""
    return cache.endswith(f"{_NAME}{connector}")


def destroy_heartbeats(cluster: Cluster, connector: str, captured: Iterable[str]) -> None:
    """Destroy the connector's cache of heartbeats, if it is among the captured caches and exists."""
    for name in set(captured) & set(cluster.cache_names()):
        if is_heartbeat_cache(name, connector):
            _destroy(cluster, struct.pack("<i", protocol.cache_id(name)))


def _destroy(cluster: Cluster, cache_id: bytes) -> None:
    cluster.ask(lambda connection: connection.request(protocol.CACHE_DESTROY, cache_id))


class HeartbeatRelay:
    """Carrier of heartbeats in the task with slot 0, from the backlog to Kafka.

    :param send: queues a record of the topic of heartbeats in a transaction, given key and value.
    :param commit: commits the transaction.
    """

    def __init__(
        self,
        plan: TransferPlan,
        client: BacklogClient,
        send: Callable[[str, bytes, bytes], object],
        commit: Callable[[], object],
    ) -> None:
        self._topic = heartbeats_topic(plan.settings.internal_topic_prefix)
        self._key = plan.connector.encode()
        self._client = client
        self._send = send
        self._commit = commit
        self._unit = self._locate(heartbeat_cache(plan.settings), int(plan.heartbeat_incarnation))

    def _locate(self, cache: str, incarnation: int) -> npt.NDArray[np.void] | None:
        try:
            partitions, _ = self._client.locate(cache, [_KEY])
        except BacklogRefused as error:
            if error.where.get("code") != "UNKNOWN_CACHE":
                raise
            # else each epoch would end at once, as for a cache of the plan that the driver then drops
            log.warning("heartbeats do not come back: their cache was destroyed")
            return None
        return np.array([(protocol.cache_id(cache), int(partitions[0]), incarnation)], UNIT)

    def forward(self) -> None:
        """Send the newest heartbeat in the backlog, commit it, and remove all from the backlog."""
        if self._unit is None:
            return
        changes = self._client.read(self._unit, _MOST_BYTES)
        if changes.marks.any() and not (changes.marks & GONE).any():
            self._client.clear(self._unit, changes.mark_number)  # what was lost is not needed
            return
        if not changes.number.size:
            return
        _, sent_ms = _LONG.unpack(changes.entries[-_LONG.size :])
        self._send(self._topic, self._key, b"%d" % sent_ms)
        self._commit()
        self._client.acknowledge(changes.acknowledgement(self._unit))


class Heartbeats:
    """Heartbeats of a stream, as its driver sends and measures them; not thread-safe.

    :raises WriteFailed: the user may not create the cache.
    :raises TopicError, KafkaUnavailable: the topic cannot be created or read.
    """

    def __init__(self, cluster: Cluster, clients: KafkaClients, topics: Topics, settings: SourceSettings) -> None:
        self._cluster = cluster
        self._key = settings.name.encode()
        self.cache = heartbeat_cache(settings)
        self._cache_id = protocol.cache_id(self.cache)
        self._configuration = CacheConfiguration(
            self.cache,
            "PARTITIONED",
            "ATOMIC",
            settings.backlog_cache_backups,
            data_region=settings.backlog_memory_region_name,
        )
        get_or_create_cache(cluster, self._configuration)
        topic = heartbeats_topic(settings.internal_topic_prefix)
        topics.ensure([TopicSpec(topic, 1, settings.replication_factor, COMPACTED)])
        self._consumer = clients.reader(**{"enable.partition.eof": False, "fetch.wait.max.ms": 500})
        self._consumer.assign([TopicPartition(topic, 0, topics.ends(topic, [0])[0])])
        self._due = Interval(settings.heartbeat_interval_ms / 1000)
        self._began_s = time.time()
        self.collector = Collector()
        self.newest_s = 0.0
        """Time at which the newest heartbeat that came back was sent, in seconds since 1970; 0.0: none did."""

    def step(self, *, sends: bool) -> None:
        """Send a heartbeat at each interval, and measure the returned ones.

        A node that does not answer is not waited for here: a heartbeat that is missing tells of it.

        :param sends: whether tasks work, which carry heartbeats.
        """
        for message in self._consumer.consume(_RECORDS, timeout=0):
            value = message.value()
            if message.error() is None and message.key() == self._key and value is not None and _TIME.fullmatch(value):
                self._came_back(int(value) / 1000)
        if not (sends and self._due.due()):
            return
        entry = _PUT.pack(self._cache_id, 0) + _KEY + _LONG.pack(codes.LONG, int(time.time() * 1000))
        try:
            self._cluster.ask(lambda connection: connection.request(protocol.CACHE_PUT, entry))
        except (ThinError, IgniteKafkaError) as error:
            log.info("a heartbeat could not be put: %s", error)
            if isinstance(error, ThinError):
                self._create_again()

    def _create_again(self) -> None:
        """Create the cache if a user has destroyed it: the nodes refuse a capture of caches of which one is missing."""
        try:
            get_or_create_cache(self._cluster, self._configuration)
        except (ThinError, IgniteKafkaError) as error:
            log.info("the cache of heartbeats could not be created again: %s", error)

    def _came_back(self, sent_s: float) -> None:
        if sent_s > max(self.newest_s, self._began_s):  # not that of an earlier run, which waited in the backlog
            self.newest_s = sent_s
            self.collector.observe(HEARTBEAT, time.time() - sent_s)

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
