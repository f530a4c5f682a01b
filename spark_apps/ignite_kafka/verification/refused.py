"""Records that a cache refused when a sink put them, found by the sink's dead letters.

They are known not to be stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa
from confluent_kafka.admin import OffsetSpec

from ..convert.rules.stage import Stage
from ..kafka.clients import KafkaClients
from ..kafka.headers import headers_of, pairs
from ..kafka.records import Consumed
from ..kafka.topics import Topics
from ..sink.store import Store
from .direction import Target
from .topic_batches import bounds_of, topic_batches
from .whole_enums import with_one_code

_CONTEXT = "__connect.errors."
_FIRST = f"{_CONTEXT}topic"
"""First header that a sink adds to those of the record."""


def refused_entries(
    clients: KafkaClients,
    store: Store,
    connector: str,
    dead_letters: str,
    topics: Collection[str],
    cache: str,
    keys: Collection[bytes],
) -> set[tuple[bytes, bytes]]:
    """Return keys and values, in Ignite's format, of a sink's dead letters of refused puts.

    Dead letters are converted again like records of their topics. So they count for records of the same key and value,
    and not for another record that has the offset of the refused one because its topic was deleted and created again.

    :param store: converts records; nothing is stored.
    :param dead_letters: the dead-letter topic, of this and of other connectors; it need not exist.
    :param topics: that the connector reads.
    :param keys: that are looked for.
    :raises KafkaUnavailable, RecordsLost: the dead-letter topic cannot be read to its end.
    """
    refused: set[tuple[bytes, bytes]] = set()
    for letters in _read(clients, dead_letters):
        for records in records_of(letters, connector, topics):
            caches = set(store.caches_of(records))
            # else it would create the others
            for _, entries_of_part in store.converted(records, caches - {cache})[0] if cache in caches else ():
                columns = with_one_code(entries_of_part.keys), with_one_code(entries_of_part.values)
                entries = zip(*(column.to_pylist() for column in columns), strict=True)
                refused |= {(key, value) for key, value in entries if key in keys}
    return refused


def records_of(letters: Consumed, connector: str, topics: Collection[str]) -> Iterator[Consumed]:
    """Return the connector's records behind dead letters of refused puts, by partition.

    :param letters: N dead letters with their headers. Those of conversions and of other connectors are left out.
    """
    places: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    headers = [] if letters.headers is None else pairs(letters.headers)
    for row, of_row in enumerate(headers):
        about = {
            name.removeprefix(_CONTEXT): _text(value) for name, value in of_row if name.startswith(_CONTEXT)
        }  # the last of each name
        if (about.get("stage"), about.get("connector.name")) == (str(Stage.PUT), connector) and about.get(
            "topic"
        ) in topics:
            places[about["topic"], int(about["partition"])].append((row, int(about["offset"])))
    for (topic, partition), positions in places.items():
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


def _text(value: str | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""


def _read(clients: KafkaClients, topic: str) -> Iterator[Consumed]:
    """The committed records of a topic, with timestamps and headers; none if it does not exist."""
    topics = Topics(clients)
    places = [(topic, number) for number in range(topics.counts([topic]).get(topic, 0))]
    if places:
        firsts = topics.offsets(places, OffsetSpec.earliest())
        ends = topics.offsets(places, OffsetSpec.latest(), committed=True)
        target = Target("", topic, bounds_of(topic, firsts, ends), 0)
        yield from topic_batches(clients, target, range(len(places)), timed=True, headers=True)
