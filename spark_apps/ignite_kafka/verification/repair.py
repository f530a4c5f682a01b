"""Repair of differences: a source's records are sent again, a sink's entries put or removed again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..ignite.cache_writer import CacheWriter
from ..ignite.cluster import Cluster
from ..ignite.types.model import BinaryType, TypeUse
from ..ignite.write_fence import WriteFence
from ..kafka.cache_headers import with_cache_header
from ..kafka.clients import BRIEF_S, KafkaClients
from ..kafka.producer import ProducerFenced, TransactionalProducer
from ..kafka.records import Records, take_rows
from ..plan.source_plan import CachePlan, TransferPlan
from ..runtime.clients import producer_settings
from ..settings.cache_header import described_name
from ..settings.source import SourceSettings
from ..settings.topic_names import types_topic
from ..sink.fence import repair_token
from ..state.internal_records import FORMAT_HEADERS
from ..state.types_topic import write_uses
from .entry_comparison import PairDifferences
from .repair_claim import RepairClaim


@dataclass
class _Controls:
    """Adapter that sends the records of :func:`.types_topic.write_uses` with a transactional producer."""

    producer: TransactionalProducer
    types_sent: dict[int, BinaryType] = field(default_factory=dict)
    uses_sent: dict[str, set[TypeUse]] = field(default_factory=dict)

    def send_type_record(self, topic: str, key: bytes, value: bytes) -> None:
        """Send a record to the only partition of the types topic."""
        self.producer.produce(topic, key, value, 0, FORMAT_HEADERS)


def select_records(records: Sequence[Records], result: PairDifferences, *, tombstones: bool = True) -> list[Records]:
    """Select the records to send for a repair: those of missing or different keys, and tombstones.

    With `tombstones`, topic keys without an entry get one. A Kafka key of several entries is left out, because the
    record of one entry would replace that of another.
    """
    keys_of = result.keys or {}
    times = Counter(key for part in records for key in part.keys.to_pylist())
    to_send = {key for key in keys_of.get("missing", set()) | keys_of.get("different", set()) if times[key] == 1}
    chosen = []
    for part in records:
        rows = np.flatnonzero(np.asarray(pc.is_in(part.keys, pa.array(sorted(to_send), pa.binary()))))
        if len(rows):
            chosen.append(take_rows(part, rows))
    if tombstones and (gone := sorted(keys_of.get("unexpected", ()))):
        chosen.append(Records(pa.array(gone, pa.binary()), pa.nulls(len(gone), pa.binary())))
    return chosen


def send_again(
    plan: TransferPlan,
    claim: RepairClaim,
    clients: KafkaClients,
    cluster: Cluster,
    cache: CachePlan,
    records: Sequence[Records],
) -> int:
    """Send records of a repair in one transaction, and return their number.

    They have no header but the one that names their cache, if the source's records have it.

    :raises KafkaUnavailable, OutcomeUnknown: nothing, or all, of this transaction was written.
    :raises Fenced: a run or another repair of the connector has begun; nothing of this transaction was written.
    """
    if not records:
        return 0
    name = claim.transactional_id
    settings = producer_settings(plan) | {"batch.size": plan.max_batch_bytes}
    with closing(
        TransactionalProducer(clients, name, plan.settings.transaction_timeout_ms, settings=settings)
    ) as producer:
        try:
            producer.init()
            claim.check(clients)  # a run that begins from now on fences the producer
            _send(producer, plan.settings, cache, records, cluster)
        except ProducerFenced as cause:
            raise claim.superseded_error(topic=cache.topic) from cause
        finally:
            producer.abort_open(BRIEF_S)
    return sum(map(len, records))


def _send(
    producer: TransactionalProducer,
    settings: SourceSettings,
    cache: CachePlan,
    records: Sequence[Records],
    cluster: Cluster,
) -> None:
    """Send records, and the binary types that sinks need for them, in one transaction."""
    producer.begin()
    controls = _Controls(producer)
    types = types_topic(settings.internal_topic_prefix)
    header = settings.cache_header
    for part in records:
        write_uses(controls, types, described_name(cache.topic, cache.name, header), part, cluster)
        producer.produce_records(cache.topic, with_cache_header(part, header, cache.name))
    producer.commit()


def store_again(
    claim: RepairClaim,
    clients: KafkaClients,
    cluster: Cluster,
    cache: str,
    put: Mapping[bytes, bytes],
    remove: Sequence[bytes],
) -> int:
    """Put and remove entries of a repair, given in Ignite's binary format, and return their number.

    Unless the sink is strict, nodes do not fence: if a run begins after the check and puts newer values first, these
    entries replace them.

    :raises Fenced: a run or another repair of the connector has begun; nothing was put.
    :raises IgniteUnreachable, WriteFailed, EntriesRefused, OutcomeUnknown: as a sink would.
    """
    fence = write_fence(claim, cluster, [cache])
    with CacheWriter(cluster, cluster.cache(cache), overwrite=True, fence=fence) as writer:
        claim.check(clients)
        writer.put(pa.array(list(put), pa.binary()), pa.array(list(put.values()), pa.binary()))
        writer.remove(pa.array(list(remove), pa.binary()))
        writer.flush()
    return len(put) + len(remove)


def write_fence(claim: RepairClaim, cluster: Cluster, caches: Collection[str]) -> WriteFence | None:
    """Return the right of a strict sink's repair to write, which its driver establishes and the next run ends.

    :param caches: caches that are written; at least one.
    :returns: None unless the connector is a sink with strict delivery.
    """
    if not claim.fence:
        return None
    token = repair_token(claim.record.generation, claim.began_s)
    return WriteFence(cluster, claim.fence, range(max(1, claim.slots)), token, caches, shared=True)
