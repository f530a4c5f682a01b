"""Comparison of the last record of each key with the cache's entry, by decoded values.

Keys and values are compared byte by byte with those that the converter makes of the entries now. Values in JSON are
compared with rows instead: the row decoder shares no code with the converter, so the comparison also finds errors of
the codec. Keys in JSON are compared in both ways. Values with schemas whose bytes differ are read and compared, because
a class may have got fields after a record was written.

The last record of each key is in memory: the Spark job passes only the keys whose bytes differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.redaction import in_message
from ..convert import Converters
from ..convert.rules.failure_stages import policy_of_error
from ..convert.to_kafka.bad_entries import ENTRY_ERRORS
from ..errors import IgniteKafkaError
from ..ignite.binary import decode_rows, entry_cuts
from ..ignite.cluster import Cluster
from ..ignite.types.model import Page
from ..plan.source_plan import CachePlan, TransferPlan
from ..settings.error_policies import STOP
from ..settings.source import SourceSettings
from ..source.entry_selection import EntrySelectors, Selection
from .differences import Differences, Kind
from .entry_reader import EntryReader


@dataclass
class PairDifferences(Differences):
    """Result of comparing each key's last record with the cache's entry.

    Keys are compared by their bytes, as in Kafka's compaction.

    :param repeated: records followed by another record of the same key, such as those of an earlier snapshot.
    :param other_bytes: keys of the topic with the fields of a cache key but other bytes: another order of fields, or
        null for an absent field. Counted in ``unexpected`` too; version 0.1.0 wrote such keys.
    """

    cache: str
    topic: str
    records: int = 0
    repeated: int = 0
    other_bytes: int = 0


def compare_last_records(
    result: PairDifferences,
    plan: TransferPlan,
    cache: CachePlan,
    cluster: Cluster,
    last: dict[bytes, bytes | None],
    pages: Iterable[Page],
    decode: Callable[..., Iterable[tuple[Any, Any]]] = decode_rows,
) -> None:
    """Compare each key's last record with the record expected for its entry; add differences to ``result``.

    :param last: value of the last record of each key; keys with an entry are removed from it.
    """
    info = cluster.cache(cache.name)
    reader = EntryReader(plan.settings, cache.topic, cluster, info, decode)
    selectors = EntrySelectors(plan.settings, Converters(plan.settings), cluster)
    seen = set[bytes]()
    sent = (selectors.select(info, cache.topic, [page]) for page in pages)
    for batch in _read_batches(reader, sent, plan.settings):
        if isinstance(batch, _Unread):
            result.entries += 1
            result.note(batch.kind, b"", f"an entry cannot be {batch.action}: {batch.error}")
        else:
            result.entries += len(batch)
            _compare(result, batch, last, seen, reader)
    _note_unexpected(result, [key for key, value in last.items() if value is not None], seen, reader)


def _compare(
    result: PairDifferences,
    entries: Sequence[tuple[bytes, Any]],
    last: dict[bytes, bytes | None],
    seen: set[bytes],
    reader: EntryReader,
) -> None:
    """Compare some entries with the last records of their keys, and remove these keys from `last`."""
    in_both: list[tuple[bytes, Any, bytes | None]] = []
    for key, expected in entries:
        if key not in last:
            text = (
                f"two entries have the same Kafka key {format_key(key)}"
                if key in seen
                else f"no record of key {format_key(key)}"
            )
            result.note("missing", key, text)
        else:
            in_both.append((key, expected, last.pop(key)))
        seen.add(key)
    equal = reader.equality.compare([expected for _, expected, _ in in_both], [record for _, _, record in in_both])
    for (key, expected, record), is_equal in zip(in_both, equal, strict=True):
        if not is_equal:
            fields = "; ".join(reader.equality.describe_differences(expected, record))
            details = f"{in_message(fields)}: " if fields else ""
            values = f"the entry gives {in_message(repr(expected))}, the record is {in_message(repr(record))}"
            result.note("different", key, f"key {format_key(key)}: {details}{values}")


def _note_unexpected(result: PairDifferences, left: Sequence[bytes], seen: set[bytes], reader: EntryReader) -> None:
    """Note topic keys without an entry, and recognize keys that equal an entry's as JSON but not in bytes."""
    key_of = {
        fields: key for key in seen if left and reader.json_keys and (fields := normalize_fields(key)) is not None
    }
    for key in left:
        own = key_of.get(normalize_fields(key) or "") if key_of else None
        if own is not None:
            result.other_bytes += 1
            other = f"key {format_key(key)} is {format_key(own)} in other bytes, which Kafka does not compact together"
            result.note("unexpected", key, f"{other}: send the cache to a new topic")
        else:
            result.note("unexpected", key, f"a record of key {format_key(key)} that the cache does not have")


def format_key(key: bytes) -> str:
    """Format a key as text for messages."""
    return in_message(repr(key.decode(errors="backslashreplace")))


def normalize_fields(key: bytes) -> str | None:
    """Normalize a JSON object key, so that order of fields and nulls do not matter; None for other keys."""
    if not key.startswith(b"{"):
        return None
    try:
        value = json.loads(
            key,
            parse_float=str,
            object_pairs_hook=lambda pairs: {name: item for name, item in pairs if item is not None},
        )
    except ValueError:
        return None
    return json.dumps(value, sort_keys=True)


@dataclass(frozen=True)
class _Unread:
    """Entry that could not be read for the comparison, with the error.

    Either the copy skips the entry, or only the row decoder cannot read it, which is a difference.
    """

    error: IgniteKafkaError
    kind: Kind = "skipped"

    @property
    def action(self) -> str:
        return "converted to a record" if self.kind == "skipped" else "read by rows"


def _read_batches(
    reader: EntryReader, sent: Iterable[Selection], settings: SourceSettings
) -> Iterator[list[tuple[bytes, Any]] | _Unread]:
    """Yield key and expected value of the entries to send, or the error of an unreadable entry.

    An error is raised if the error policy is to stop.
    """
    for selection in sent:
        yield from (_Unread(bad.error) for bad in selection.bad)
        yield from _read_pages(reader, selection.pages, settings)


def _read_pages(
    reader: EntryReader, pages: Iterable[Page], settings: SourceSettings
) -> Iterator[list[tuple[bytes, Any]] | _Unread]:
    for page in pages:
        try:
            yield reader.entries(page)
        except ENTRY_ERRORS:
            if settings.always_stops:
                raise
            cuts = entry_cuts(page, reader.cache)
            for start, end in zip(cuts[:-1:2], cuts[2::2], strict=True):
                single = Page(page.partition, 1, page.data[start:end], True)
                try:
                    yield reader.entries(single)
                except ENTRY_ERRORS as error:
                    if policy_of_error(settings, error) == STOP:
                        raise
                    yield _Unread(error, "missing" if reader.can_convert(single) else "skipped")
