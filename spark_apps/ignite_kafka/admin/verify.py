"""Comparison of topics with caches: every committed record with its entry.

Values are decoded row by row, not in columns as for the copy, so that the comparison also finds errors of the codec. Keys are compared byte
by byte with the converter's output, and that with the decoded row. The last record of each key is held in memory, so the comparison suits
topics of some millions of records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from confluent_kafka import Message

from ..common.redaction import in_message
from ..convert import converter
from ..convert.rules.decimal_scales import declared_scales
from ..convert.to_kafka.bad_entries import ENTRY_ERRORS
from ..convert.to_kafka.json_values import json_value, same_json
from ..errors import DecodeError, IgniteKafkaError
from ..ignite.binary import decode_rows, entry_cuts, raw_entries
from ..ignite.binary.row_values import Document
from ..ignite.cluster import Cluster
from ..ignite.scan import scan_partitions
from ..ignite.types import type_codes as codes
from ..ignite.types.model import CacheInfo, Page
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics, read_to_end
from ..plan.source_plan import CachePlan, TransferPlan
from ..settings.connector import STOP
from .comparison import Comparison


@dataclass
class Verified(Comparison):
    """Result of comparing a topic's last records with its cache. Keys are compared by their bytes, as in Kafka's compaction.

    A skipped entry counts as missing.

    :param repeated: records followed by another record of the same key; several snapshots into one topic cause them too.
    :param other_bytes: keys of the topic, counted in ``unexpected`` too, that equal a key of the cache but for their bytes (another order
        of fields, or null for a field that the key lacks); version 0.1.0 wrote such keys.
    """

    cache: str
    topic: str
    records: int = 0
    repeated: int = 0
    other_bytes: int = 0


def verify(
    plan: TransferPlan, cluster: Cluster, clients: KafkaClients, done: Callable[[Verified], None] = lambda _: None
) -> list[Verified]:
    """Compare each cache of a plan with its topic; ``done`` is called with each result."""
    results, topics = [], Topics(clients)
    for cache in plan.caches:
        info = cluster.cache(cache.name)
        messages = read_to_end(clients, topics, cache.topic, list(range(topics.partitions(cache.topic))))
        pages = scan_partitions(cluster, info, range(info.partitions), page_bytes=plan.settings.page_bytes)
        result = compare(plan, cache, cluster, messages, pages)
        results.append(result)
        done(result)
    return results


def compare(
    plan: TransferPlan,
    cache: CachePlan,
    cluster: Cluster,
    messages: Iterable[Message],
    pages: Iterable[Page],
    decode: Callable[..., Iterable[tuple[Any, Any]]] = decode_rows,
) -> Verified:
    """Compare the records of a topic with the entries of its cache.

    :param messages: all records, in the order of each partition; read before the pages.
    :param pages: all entries.
    :param decode: decodes keys and values of pages row by row.
    """
    result = Verified(cache.name, cache.topic)
    last: dict[bytes, bytes | None] = {}
    raw = plan.settings.value_converter == "ignite-binary"
    for message in messages:
        key = message.key() or b""
        result.records += 1
        result.repeated += key in last
        last[key] = message.value()
    info = cluster.cache(cache.name)
    entries = _raw_entries(info, pages) if raw else _json_entries(_JsonReader(plan, cluster, info, decode), pages, plan)
    seen: set[bytes] = set()
    for entry in entries:
        result.entries += 1
        if isinstance(entry, IgniteKafkaError):
            result.missing += 1
            result.note(f"an entry cannot be converted to a record: {entry}")
        else:
            _compare(result, entry, last, seen, raw)
    _note_unexpected(result, [key for key, value in last.items() if value is not None], seen, raw)
    return result


def _compare(result: Verified, entry: tuple[bytes, Any], last: dict[bytes, bytes | None], seen: set[bytes], raw: bool) -> None:
    """Compare an entry with the last record of its key, and remove that from `last`."""
    key, expected = entry
    if key not in last:
        result.missing += 1
        result.note(f"two entries have the same Kafka key {_shown(key)}" if key in seen else f"no record of key {_shown(key)}")
    else:
        found = last.pop(key)
        if not _same(expected, found, raw):
            result.different += 1
            gives, is_now = in_message(repr(expected)), in_message(repr(found))
            result.note(f"key {_shown(key)}: the entry gives {gives}, the record is {is_now}")
    seen.add(key)


def _note_unexpected(result: Verified, left: Sequence[bytes], seen: set[bytes], raw: bool) -> None:
    """Count keys of the topic without an entry, and those of them that equal an entry's key but for their bytes."""
    result.unexpected = len(left)
    known = {fields: key for key in seen if left and not raw and (fields := _fields_of(key)) is not None}
    for key in left:
        same = known.get(_fields_of(key) or "") if known else None
        if same is not None:
            result.other_bytes += 1
            result.note(
                f"key {_shown(key)} is {_shown(same)} in other bytes, which Kafka does not compact together: send the cache to a new topic"
            )
        else:
            result.note(f"a record of key {_shown(key)} that the cache does not have")


def _shown(key: bytes) -> str:
    return in_message(repr(key.decode(errors="backslashreplace")))


def _fields_of(key: bytes) -> str | None:
    """A text that is equal for JSON objects with equal fields, ignoring order and nulls; None for other keys."""
    if not key.startswith(b"{"):
        return None
    try:
        value = json.loads(key, parse_float=str, object_pairs_hook=lambda pairs: {name: item for name, item in pairs if item is not None})
    except ValueError:
        return None
    return json.dumps(value, sort_keys=True)


def _same(expected: Any, found: bytes | None, raw: bool) -> bool:
    if raw or found is None:
        return bool(expected == found)
    return same_json(expected, json.loads(found, parse_float=Decimal if _has_decimal(expected) else None))


def _has_decimal(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, Decimal) or any(map(_has_decimal, items))


def _json_entries(reader: _JsonReader, pages: Iterable[Page], plan: TransferPlan) -> Iterator[tuple[bytes, Any] | IgniteKafkaError]:
    """Key and value of each entry; the error of an entry that cannot be converted, unless the error policy is to stop."""
    for page in pages:
        try:
            yield from reader.entries(page)
        except ENTRY_ERRORS:
            if plan.settings.error_handling_policy == STOP:
                raise
            cuts = entry_cuts(page, reader.info.name)
            for start, end in zip(cuts[:-1:2], cuts[2::2], strict=True):
                try:
                    yield from reader.entries(Page(page.partition, 1, page.data[start:end], True))
                except ENTRY_ERRORS as error:
                    yield error


class _JsonReader:
    """Reads entries as JSON: values from decoded rows, keys as the converter's bytes, which must equal the decoded rows."""

    def __init__(self, plan: TransferPlan, cluster: Cluster, info: CacheInfo, decode: Callable[..., Iterable[tuple[Any, Any]]]) -> None:
        self._forms = plan.settings.decimal_format, plan.settings.enum_policy
        self._converter = converter("json", decimal_format=self._forms[0], enum_policy=self._forms[1])
        self._cluster, self.info, self._decode = cluster, info, decode

    def entries(self, page: Page) -> list[tuple[bytes, Any]]:
        """Key bytes and JSON value of each entry of a page."""
        decoded = self._decode([page], self.info, self._cluster)
        rows = [(self._json(key, is_key=True), self._json(value, is_key=False)) for key, value in decoded]
        found = []
        for text, (key, value) in zip(self._keys(page), rows, strict=True):
            if not _same(key, text, False):
                what = f"the columns make the key {_shown(text)} of an entry, the rows {in_message(repr(key))}"
                remedy = "This is a bug: report it with the type of the key."
                raise DecodeError(what, remedy, cache=self.info.name, partition=page.partition)
            found.append((text, value))
        return found

    def _json(self, value: Any, *, is_key: bool) -> Any:
        scales = declared_scales(self.info, value.type_id if isinstance(value, Document) else None, key=is_key)
        return json_value(value, *self._forms, scales, is_key=is_key)

    def _keys(self, page: Page) -> list[bytes]:
        cuts = entry_cuts(page, self.info.name)
        null = bytes([codes.NULL])
        data = b"".join(bytes(page.data[start:end]) + null for start, end in zip(cuts[:-1:2], cuts[1::2], strict=True))
        keys = Page(page.partition, page.rows, memoryview(data), True)
        found: list[bytes] = self._converter.convert([keys], self.info, self._cluster, in_order=True).keys.to_pylist()
        return found


def _raw_entries(info: CacheInfo, pages: Iterable[Page]) -> Iterator[tuple[bytes, bytes]]:
    for page in pages:
        yield from raw_entries(page, info.name)
