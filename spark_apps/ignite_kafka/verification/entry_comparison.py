"""Comparison of the last records of keys with the entries of a cache, by their meaning.

Keys are compared byte by byte with what the converter makes of the entries now. So are values, unless they are JSON:
those are compared with rows that share no code with the converter, so that the comparison also finds errors of the
codec; keys in JSON are compared in both ways. Values with schemas whose bytes differ are read and compared: since a
record was written, its class may have got fields.

The last record of each key is in memory: the Spark job passes only the keys whose bytes differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.redaction import in_message
from ..convert import Converters
from ..convert.rules.stage import policy_of_error
from ..convert.to_kafka.bad_entries import ENTRY_ERRORS
from ..errors import IgniteKafkaError
from ..ignite.binary import decode_rows, entry_cuts
from ..ignite.cluster import Cluster
from ..ignite.types.model import Page
from ..plan.source_plan import CachePlan, TransferPlan
from ..settings.error_policies import STOP
from ..settings.source import SourceSettings
from ..source.entry_selection import EntrySelectors, Selection
from .comparison import Comparison, Kind
from .entry_reader import EntryReader


@dataclass
class Verified(Comparison):
    """Result of comparing a topic's last records with its cache.

    Keys are compared by their bytes, as in Kafka's compaction.

    :param repeated: records followed by another record of the same key; several snapshots into one topic cause them
        too.
    :param other_bytes: keys of the topic, counted in ``unexpected`` too, that equal a key of the cache but for their
        bytes (another order of fields, or null for a field that the key lacks); version 0.1.0 wrote such keys.
    """

    cache: str
    topic: str
    records: int = 0
    repeated: int = 0
    other_bytes: int = 0


def compare_last(
    result: Verified,
    plan: TransferPlan,
    cache: CachePlan,
    cluster: Cluster,
    last: dict[bytes, bytes | None],
    pages: Iterable[Page],
    decode: Callable[..., Iterable[tuple[Any, Any]]] = decode_rows,
) -> None:
    """Compare the last records of keys with the entries to send; add differences to ``result``.

    :param last: value of the last record of each key; what has an entry is removed.
    """
    info = cluster.cache(cache.name)
    reader = EntryReader(plan.settings, cache.topic, cluster, info, decode)
    selectors = EntrySelectors(plan.settings, Converters(plan.settings), cluster)
    seen = set[bytes]()
    sent = (selectors.select(info, cache.topic, [page]) for page in pages)
    for batch in _batches(reader, sent, plan.settings):
        if isinstance(batch, _Unread):
            result.entries += 1
            result.note(batch.kind, b"", f"an entry cannot be {batch.what}: {batch.error}")
        else:
            result.entries += len(batch)
            _compare(result, batch, last, seen, reader)
    _note_unexpected(result, [key for key, value in last.items() if value is not None], seen, reader)


def _compare(
    result: Verified,
    entries: Sequence[tuple[bytes, Any]],
    last: dict[bytes, bytes | None],
    seen: set[bytes],
    reader: EntryReader,
) -> None:
    """Compare entries with the last records of their keys, and remove these from `last`."""
    in_both: list[tuple[bytes, Any, bytes | None]] = []
    for key, expected in entries:
        if key not in last:
            text = (
                f"two entries have the same Kafka key {shown_key(key)}"
                if key in seen
                else f"no record of key {shown_key(key)}"
            )
            result.note("missing", key, text)
        else:
            in_both.append((key, expected, last.pop(key)))
        seen.add(key)
    same = reader.same_values([expected for _, expected, _ in in_both], [record for _, _, record in in_both])
    for (key, expected, record), equal in zip(in_both, same, strict=True):
        if not equal:
            gives = in_message(repr(expected))
            is_now = in_message(repr(record))
            fields = "; ".join(reader.differing_fields(expected, record))
            details = f"{in_message(fields)}: " if fields else ""
            result.note(
                "different", key, f"key {shown_key(key)}: {details}the entry gives {gives}, the record is {is_now}"
            )


def _note_unexpected(result: Verified, left: Sequence[bytes], seen: set[bytes], reader: EntryReader) -> None:
    """Count the topic's keys without an entry, and of these the keys equal to an entry's but for their bytes."""
    key_of = {fields: key for key in seen if left and reader.json_keys and (fields := fields_of_key(key)) is not None}
    for key in left:
        same = key_of.get(fields_of_key(key) or "") if key_of else None
        if same is not None:
            result.other_bytes += 1
            other = f"key {shown_key(key)} is {shown_key(same)} in other bytes, which Kafka does not compact together"
            result.note("unexpected", key, f"{other}: send the cache to a new topic")
        else:
            result.note("unexpected", key, f"a record of key {shown_key(key)} that the cache does not have")


def shown_key(key: bytes) -> str:
    """A key as text of messages."""
    return in_message(repr(key.decode(errors="backslashreplace")))


def fields_of_key(key: bytes) -> str | None:
    """A text that is equal for JSON objects with equal fields, ignoring order and nulls; None for other keys."""
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
    """An entry that is not compared.

    Either the copy skips it, or only the row decoder cannot read it, which is a difference.
    """

    error: IgniteKafkaError
    kind: Kind = "skipped"

    @property
    def what(self) -> str:
        return "converted to a record" if self.kind == "skipped" else "read by rows"


def _batches(
    reader: EntryReader, sent: Iterable[Selection], settings: SourceSettings
) -> Iterator[list[tuple[bytes, Any]] | _Unread]:
    """Keys and values of the entries that are sent.

    The error of an entry that cannot be, unless the error policy is to stop.
    """
    for selection in sent:
        yield from (_Unread(bad.error) for bad in selection.bad)
        yield from _of_pages(reader, selection.pages, settings)


def _of_pages(
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
                    yield _Unread(error, "missing" if reader.converts(single) else "skipped")
