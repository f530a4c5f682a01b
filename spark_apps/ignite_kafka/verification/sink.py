"""Kafka to Ignite: what the sink makes of a topic's records, folded by key, against the cache's entries.

Keys are compared by their bytes in Ignite's binary format, as Ignite does, with one code for whole enums
(:mod:`.whole_enums`). Values whose bytes differ are decoded and compared: another order of fields, or another version
of a type's schema, is no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ..common.python_compat import Self
from ..common.redaction import in_message
from ..convert.ignite_binary.serializer import IgniteBinaryConverter
from ..convert.rules.stage import policy_of
from ..ignite.binary import decode_rows
from ..ignite.binary.row_values import Document
from ..ignite.cluster import Cluster
from ..ignite.page_batches import batches
from ..ignite.scan import scan_partitions
from ..ignite.types import type_codes as codes
from ..ignite.types.model import CacheInfo, Page
from ..kafka.clients import KafkaClients
from ..kafka.records import Consumed
from ..plan.sink_plan import SinkPlan
from ..runtime.clients import ignite_cluster, kafka_clients
from ..settings.error_policies import STOP
from ..settings.secrets import Secrets
from ..sink.dead_letters import error_of
from ..sink.store import Store
from .comparison import Kind
from .direction import Batch, Found, Judged, Target, columns_of
from .entry_comparison import Verified
from .fingerprints import ROW, fingerprints, order_of
from .refused import refused_entries
from .repair import store_again
from .repair_claim import RepairClaim
from .topic_batches import topic_batches
from .whole_enums import with_one_code

_BATCH_ROWS = 20_000
_BATCH_BYTES = 8 << 20
_NULL = bytes([codes.NULL])
_NO_BYTES = pa.array([], pa.binary())


@dataclass
class SinkDirection:
    """The comparison of a sink's caches.

    :param limit: maximum number of differences to describe.
    :param absent: caches chosen by transforms that the cluster does not have; their records are ignored.
    :param claim: of the repair; None: nothing is repaired.
    """

    plan: SinkPlan
    secrets: Secrets
    limit: int = 5
    absent: frozenset[str] = frozenset()
    claim: RepairClaim | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if "cluster" in self.__dict__:
            self.cluster.close()

    @property
    def first_counts(self) -> bool:
        """Without ``process_updates`` the first record of a key stays, and none removes it."""
        return not self.plan.settings.process_updates

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster, connected at the first use."""
        return ignite_cluster(self.plan.settings, self.secrets)

    @cached_property
    def clients(self) -> KafkaClients:
        """Clients of Kafka, and of the schema registries."""
        return kafka_clients(self.plan.settings, self.secrets)

    def records(self, target: Target, partitions: Sequence[int]) -> Iterator[Batch]:
        """Records as entries, by the sink's own conversion, transforms and filter.

        :raises RecordRefused: of a bad record, if the error policy is to stop.
        """
        for store, part in self._read(target, partitions):
            parts, bad = store.converted(part, self.absent)
            errors = [error_of(part, record) for record in bad]
            for record, error in zip(bad, errors, strict=True):
                if policy_of(self.plan.settings, record.stage, record.where) == STOP:
                    raise error
            if errors:
                yield Batch(np.zeros(0, ROW), columns_of(_NO_BYTES, _NO_BYTES), list(map(str, errors)))
            for cache, entries in parts:
                order = order_of(target.first_place + part.partition, part.offsets[entries.rows])
                keys = with_one_code(entries.keys)
                values = with_one_code(entries.values)
                rows = fingerprints(keys, values, order)
                yield Batch(rows, columns_of(keys, values), cache=cache if target.routed else None)

    def caches(self, target: Target, partitions: Sequence[int]) -> Iterator[Counter[str]]:
        """Number of records for each cache, after the transforms."""
        for store, part in self._read(target, partitions):
            yield store.caches_of(part)

    def _read(self, target: Target, partitions: Sequence[int]) -> Iterator[tuple[Store, Consumed]]:
        with closing(Store(self.plan, self.cluster, self.clients)) as store:
            for part in topic_batches(
                self.clients, target, partitions, timed=store.needs_times, headers=store.needs_headers
            ):
                yield store, part

    def entries(self, target: Target, partitions: Sequence[int], *, again: bool) -> Iterator[Batch]:
        """Entries of the cache."""
        info = self.cluster.cache(target.cache)
        binary = IgniteBinaryConverter()
        pages = scan_partitions(self.cluster, info, partitions)
        for batch in batches(pages, _BATCH_ROWS, lambda: _BATCH_BYTES):
            if any(page.rows for page in batch):
                records = binary.convert(batch, info, self.cluster)
                keys = with_one_code(records.keys)
                values = with_one_code(records.values)
                yield Batch(fingerprints(keys, values), columns_of(keys, values))

    def judge(self, target: Target, topic: Found, cache: Found, *, repair: bool, complete: bool) -> Judged:
        """Compare the suspects by their meaning, and store again what differs.

        A key's records in several partitions or topics have no order: the entry may have the last value in any of them.
        If the cache refused all of these, the key is skipped, whatever its entry is.
        """
        info = self.cluster.cache(target.cache)
        first = self.first_counts
        expected = topic.last_of_places(first=first)
        entries = {key: value or b"" for key, value in cache.pairs()}
        result = Verified(target.cache, target.topic, limit=self.limit)
        put = {}
        remove = []
        held = {key: entries.pop(key, None) for key in expected}
        differing = {
            key: values
            for key, values in expected.items()
            if all(self._difference(info, key, value, held[key])[0] is not None for value in values)
        }
        refused = self._refused(target.cache, {key for key, values in differing.items() if any(values)})
        for key, values in differing.items():
            accepted = [value for value in values if (key, value) not in refused]
            if not accepted:
                result.note("skipped", key, self._refusal(info, key))
                continue
            value = accepted[0 if first else -1]
            kind, text = self._difference(info, key, value, held[key])
            assert kind is not None
            result.note(kind, key, text)
            if value is not None:
                put[key] = value
            else:
                remove.append(key)
        for key in entries:  # an application's own, or of a record that the topic has no more: never removed
            result.note("unexpected", key, f"an entry of key {self._shown(info, key)} of which the topic has no record")
        repaired = 0
        if repair and (put or remove):
            assert self.claim is not None, "a repair has a claim"
            repaired = store_again(self.claim, self.clients, self.cluster, target.cache, put, remove)
        return Judged(result, repaired)

    def _refusal(self, info: CacheInfo, key: bytes) -> str:
        topic = self.plan.settings.dead_letter_topic
        return f"the cache refused the record of key {self._shown(info, key)}, which is in {topic}"

    def _refused(self, cache: str, keys: Collection[bytes]) -> Collection[tuple[bytes, bytes]]:
        """Keys and values that the cache refused when the sink put them, by the connector's dead letters."""
        if not keys or not self.plan.settings.dead_letter_topic:
            return ()
        topics = [topic.name for topic in self.plan.topics]
        with closing(Store(self.plan, self.cluster, self.clients)) as store:
            return refused_entries(
                self.clients, store, self.plan.connector, self.plan.settings.dead_letter_topic, topics, cache, keys
            )

    def _difference(
        self, info: CacheInfo, key: bytes, value: bytes | None, held: bytes | None
    ) -> tuple[Kind | None, str]:
        """Kind and description of a difference; None without one.

        :param value: of the record that counts. :param held: of the entry.
        """
        if value == held:
            return None, ""
        if held is None:
            return "missing", f"no entry of key {self._shown(info, key)}"
        if value is None:
            return "unexpected", f"key {self._shown(info, key)}: the last record removes the entry, which is there"
        gives, has = (self._decoded(info, _NULL, item)[1] for item in (value, held))
        if value[0] == held[0] and _form(gives) == _form(has):
            return None, ""
        details = in_message(_fields(gives, has))
        shown = in_message(repr(gives)), in_message(repr(has))
        return (
            "different",
            f"key {self._shown(info, key)}: {details}the record gives {shown[0]}, the entry is {shown[1]}",
        )

    def _decoded(self, info: CacheInfo, key: bytes, value: bytes) -> tuple[Any, Any]:
        ((first, other),) = decode_rows([Page(-1, 1, memoryview(key + value), True)], info, self.cluster)
        return first, other

    def _shown(self, info: CacheInfo, key: bytes) -> str:
        return in_message(repr(self._decoded(info, key, _NULL)[0]))


def _form(value: Any) -> str:
    """A text that is equal for equal values.

    Objects are equal whose fields are, whatever their order, and absent is null.
    """
    if isinstance(value, Document):
        fields = {name: _form(item) for name, item in sorted(value.fields.items()) if item is not None}
        return repr((value.type_id, fields))
    if isinstance(value, (list, tuple)):
        return repr([_form(item) for item in value])
    return repr(value)


def _fields(gives: Any, has: Any) -> str:
    """Return the differing fields as text with a colon; empty for other values."""
    if not isinstance(gives, Document) or not isinstance(has, Document):
        return ""
    names = dict.fromkeys([*gives.fields, *has.fields])
    differing = [name for name in names if repr(gives.fields.get(name)) != repr(has.fields.get(name))]
    parts = [
        f"{name} is {gives.fields.get(name)!r} in the record, {has.fields.get(name)!r} in the entry"
        for name in differing
    ]
    return f"{'; '.join(parts)}: " if parts else ""
