"""Comparison for a sink: the entries that a topic's records should give, with the cache's entries.

Keys are compared by their bytes in Ignite's binary format, as Ignite does, with one code for whole enums
(:mod:`.whole_enums`). :class:`.EntryEquality` judges values whose bytes differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..convert.ignite_binary.serializer import IgniteBinaryConverter
from ..ignite.page_batches import batches
from ..ignite.scan import scan_partitions
from ..kafka.records import Consumed
from ..plan.sink_plan import SinkPlan
from ..settings.secrets import Secrets
from ..sink.dead_letters import error_of
from ..sink.entry_router import EntryRouter
from ..sink.store import stopping_record
from .direction import Batch, ComparedPair, DirectionClients, Judged, SuspectRows, make_taker
from .entry_comparison import PairDifferences
from .entry_equality import EntryEquality
from .fingerprints import ROW, fingerprint, record_order
from .refused_entries import read_refused_entries
from .repair import store_again
from .repair_claim import RepairClaim
from .topic_batches import topic_batches
from .whole_enums import unify_codes

_BATCH_ROWS = 20_000
_BATCH_BYTES = 8 << 20
_NO_BYTES = pa.array([], pa.binary())


@dataclass
class SinkDirection(DirectionClients):
    """Reads and compares a sink's converted records with the entries of its caches.

    :param limit: maximum number of differences to describe.
    :param absent: caches chosen by transforms that the cluster does not have; their records are ignored.
    :param claim: claim of the repair; None: nothing is repaired.
    """

    plan: SinkPlan
    secrets: Secrets
    limit: int = 5
    absent: frozenset[str] = frozenset()
    claim: RepairClaim | None = None

    @property
    def first_counts(self) -> bool:
        """Whether the sink keeps a key's first record instead of the last (without ``process_updates``)."""
        return not self.plan.settings.process_updates

    def read_records(self, pair: ComparedPair, partitions: Sequence[int]) -> Iterator[Batch]:
        """Read a topic's records, converted to entries with the sink's transforms and filter.

        :raises RecordRefused: a committed record cannot be converted, and the error policy is to stop.
        """
        ended = set[int]()
        for router, part in self._read(pair, partitions):
            if part.partition in ended:
                continue
            router.begin_batch()
            routed = router.route(part, self.absent)
            if (stop := stopping_record(self.plan.settings, routed.bad)) is not None:
                if not pair.committed or part.offsets[stop.row] < pair.committed[part.partition]:
                    raise error_of(part, stop)
                ended.add(part.partition)
                routed = routed.before(stop.row)
            errors = [error_of(part, record) for record in routed.bad]
            if errors:
                yield Batch(np.zeros(0, ROW), make_taker(_NO_BYTES, _NO_BYTES), list(map(str, errors)))
            for cache, entries in routed.parts:
                order = record_order(pair.first_partition + part.partition, part.offsets[entries.rows])
                keys = unify_codes(entries.keys)
                values = unify_codes(entries.values)
                rows = fingerprint(keys, values, order, entries.order)
                yield Batch(rows, make_taker(keys, values), cache=cache if pair.routed else None)

    def count_caches(self, pair: ComparedPair, partitions: Sequence[int]) -> Iterator[Counter[str]]:
        """Count a topic's records by the cache that transforms choose for them."""
        for router, part in self._read(pair, partitions):
            yield router.count_caches(part)

    def _read(self, pair: ComparedPair, partitions: Sequence[int]) -> Iterator[tuple[EntryRouter, Consumed]]:
        router = EntryRouter(self.plan, self.cluster, self.clients)
        needed = {"timed": router.needs_times, "headers": router.needs_headers}
        for part in topic_batches(self.clients, pair, partitions, **needed):
            yield router, part

    def read_entries(self, pair: ComparedPair, partitions: Sequence[int], *, again: bool) -> Iterator[Batch]:
        """Scan cache partitions, and fingerprint the entries in Ignite's binary format."""
        info = self.cluster.cache(pair.cache)
        binary = IgniteBinaryConverter()
        pages = scan_partitions(self.cluster, info, partitions)
        for batch in batches(pages, _BATCH_ROWS, lambda: _BATCH_BYTES):
            if any(page.rows for page in batch):
                records = binary.convert(batch, info, self.cluster)
                keys = unify_codes(records.keys)
                values = unify_codes(records.values)
                yield Batch(fingerprint(keys, values), make_taker(keys, values))

    def judge(
        self, pair: ComparedPair, topic: SuspectRows, cache: SuspectRows, *, repair: bool, complete: bool
    ) -> Judged:
        """Compare suspect keys by their decoded values; in a repair, put or remove the entries that differ.

        Records of a key in several partitions or topics have no order: the entry may have the last value (with
        `order_field`, the last greatest) of any partition. A key whose values the cache all refused is skipped.
        """
        equality = EntryEquality(self.cluster, self.cluster.cache(pair.cache))
        first = self.first_counts
        expected = topic.last_by_partition(first=first)
        entries = {key: value or b"" for key, value in cache.zip_columns()}
        result = PairDifferences(pair.cache, pair.topic, limit=self.limit, keys={})
        put = {}
        remove = []
        held = {key: entries.pop(key, None) for key in expected}
        differing = {
            key: values
            for key, values in expected.items()
            if all(equality.describe_difference(key, value, held[key])[0] is not None for value in values)
        }
        refused = self._read_refused(pair.cache, {key for key, values in differing.items() if any(values)})
        for key, values in differing.items():
            accepted = [value for value in values if (key, value) not in refused]
            if not accepted:
                result.note("skipped", key, self._describe_refusal(equality.format_key(key)))
                continue
            value = accepted[0 if first else -1]
            kind, text = equality.describe_difference(key, value, held[key])
            assert kind is not None
            result.note(kind, key, text)
            if value is None:
                remove.append(key)
            else:
                put[key] = value
        for key in entries:  # of an application, or of a record that the topic no longer has: never removed
            text = f"an entry of key {equality.format_key(key)} of which the topic has no record"
            result.note("unexpected", key, text)
        repaired = 0
        if repair and (put or remove):
            assert self.claim is not None, "a repair has a claim"
            repaired = store_again(self.claim, self.clients, self.cluster, pair.cache, put, remove)
        return Judged(result, repaired, differing=result.pop_keys())

    def _describe_refusal(self, key: str) -> str:
        return f"the cache refused the record of key {key}, which is in {self.plan.settings.dead_letter_topic}"

    def _read_refused(self, cache: str, keys: Collection[bytes]) -> Collection[tuple[bytes, bytes]]:
        """Return key and value of the entries that the cache refused, from the connector's dead letters."""
        if not keys or not self.plan.settings.dead_letter_topic:
            return ()
        topics = [topic.name for topic in self.plan.topics]
        router = EntryRouter(self.plan, self.cluster, self.clients)
        return read_refused_entries(
            self.clients, router, self.plan.connector, self.plan.settings.dead_letter_topic, topics, cache, keys
        )
