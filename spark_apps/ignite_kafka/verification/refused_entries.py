"""Entries that a cache refused when the sink put them, found in the dead letters; they are no differences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa
from confluent_kafka.admin import OffsetSpec

from ..convert.rules.failure_stages import Stage
from ..kafka.clients import KafkaClients
from ..kafka.headers import headers_of, pairs
from ..kafka.records import Consumed
from ..kafka.topics import Topics
from ..sink.entry_router import EntryRouter
from .direction import ComparedPair
from .topic_batches import topic_batches, topic_bounds
from .whole_enums import unify_codes

_CONTEXT = "__connect.errors."
_FIRST = f"{_CONTEXT}topic"
"""First of the headers added by a sink to those of the record."""


def read_refused_entries(
    clients: KafkaClients,
    router: EntryRouter,
    connector: str,
    dead_letters: str,
    topics: Collection[str],
    cache: str,
    keys: Collection[bytes],
) -> set[tuple[bytes, bytes]]:
    """Return key and value of entries that the cache refused, in Ignite's binary format, from the dead letters.

    Dead letters are converted again like records of their topics, and count for records of the same key and value. An
    offset would not do: a topic that was deleted and created again has another record there.

    :param router: converts records.
    :param dead_letters: the dead-letter topic, of this and of other connectors; it need not exist.
    :param topics: topics of the connector.
    :param keys: keys to look for.
    :raises KafkaUnavailable, RecordsLost: the dead-letter topic cannot be read to its end.
    """
    refused: set[tuple[bytes, bytes]] = set()
    for letters in _read_letters(clients, dead_letters):
        for records in restore_records(letters, connector, topics):
            caches = set(router.count_caches(records))
            if cache not in caches:
                continue  # the conversion would create the other caches
            router.begin_batch()
            for _, entries_of_part in router.route(records, caches - {cache}).parts:
                columns = unify_codes(entries_of_part.keys), unify_codes(entries_of_part.values)
                entries = zip(*(column.to_pylist() for column in columns), strict=True)
                refused |= {(key, value) for key, value in entries if key in keys}
    return refused


def restore_records(letters: Consumed, connector: str, topics: Collection[str]) -> Iterator[Consumed]:
    """Restore the original records from dead letters of refused puts, and yield them by topic partition.

    :param letters: N dead letters with their headers. Dead letters of conversions and of other connectors are left out.
    """
    rows_of: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    headers = [] if letters.headers is None else pairs(letters.headers)
    for row, of_row in enumerate(headers):
        # the last header of each name counts
        context = {name.removeprefix(_CONTEXT): _decode(value) for name, value in of_row if name.startswith(_CONTEXT)}
        is_own = (context.get("stage"), context.get("connector.name")) == (str(Stage.PUT), connector)
        if is_own and context.get("topic") in topics:
            rows_of[context["topic"], int(context["partition"])].append((row, int(context["offset"])))
    for (topic, partition), positions in rows_of.items():
        rows, offsets = (np.array(column, np.int64) for column in zip(*positions, strict=True))
        own = [
            headers[row][: max(at for at, (name, _) in enumerate(headers[row]) if name == _FIRST)]
            for row in rows.tolist()
        ]
        names = pa.array([name for of_row in own for name, _ in of_row], pa.string())
        values = pa.array([value for of_row in own for _, value in of_row], pa.binary())
        kept = headers_of(np.array(list(map(len, own)), np.int64), names, values)
        times = None if letters.times_ms is None else letters.times_ms[rows]
        index = pa.array(rows)
        yield Consumed(topic, partition, letters.keys.take(index), letters.values.take(index), offsets, times, kept)


def _decode(value: str | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""


def _read_letters(clients: KafkaClients, topic: str) -> Iterator[Consumed]:
    """Read the committed records of the dead-letter topic, with timestamps and headers; none without the topic."""
    topics = Topics(clients)
    partitions = [(topic, number) for number in range(topics.counts([topic]).get(topic, 0))]
    if partitions:
        firsts = topics.offsets(partitions, OffsetSpec.earliest())
        ends = topics.offsets(partitions, OffsetSpec.latest(), committed=True)
        pair = ComparedPair("", topic, topic_bounds(topic, firsts, ends), 0)
        yield from topic_batches(clients, pair, range(len(partitions)), timed=True, headers=True)
