"""Compare topics with caches: every record that a read_committed consumer sees against the entry it was made from.

Values are read again by the codec's plain row path, not by the columns that the copy used, so an error of the codec shows too. A topic's
last record of each key is held in memory: meant for topics of some millions of records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..comparison import EXAMPLES, Comparison
from ..connector_settings import STOP
from ..convert.decimal_scales import declared_scales
from ..convert.json_values import json_value, same_json
from ..convert.narrowing import ENTRY_ERRORS
from ..errors import IgniteKafkaError
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics, read_to_end
from ..plan import CachePlan, TransferPlan
from ..thin.cluster import Cluster
from ..thin.codec import decode_rows, entry_cuts, raw_entries
from ..thin.codec.values import Document
from ..thin.model import CacheInfo, Page
from ..thin.scan import scan_partitions


@dataclass
class Verified(Comparison):
    """How a topic's last records compare with its cache. ``repeated`` counts records of a key that an equal or other record follows: more
    than one snapshot into one topic gives them too. An entry that was passed over counts as missing."""

    cache: str
    topic: str
    records: int = 0
    repeated: int = 0


def verify(
    plan: TransferPlan, cluster: Cluster, clients: KafkaClients, done: Callable[[Verified], None] = lambda _: None
) -> list[Verified]:
    """Compare each cache of a plan with its topic; ``done`` is told of each as soon as it is known."""
    results = []
    for cache in plan.caches:
        result = _verify_cache(plan, cache, cluster, clients)
        results.append(result)
        done(result)
    return results


def _verify_cache(plan: TransferPlan, cache: CachePlan, cluster: Cluster, clients: KafkaClients) -> Verified:
    result = Verified(cache.name, cache.topic)
    topics = Topics(clients)
    partitions = topics.partitions(cache.topic)
    last: dict[str | bytes, bytes | None] = {}
    raw = plan.settings.value_converter == "ignite-binary"
    for message in read_to_end(clients, topics, cache.topic, list(range(partitions))):
        key = (message.key() or b"") if raw else canonical(message.key())
        result.records += 1
        result.repeated += key in last
        last[key] = message.value()
    entries = _raw_entries if raw else _json_entries
    for entry in entries(plan, cluster, cluster.cache(cache.name)):
        result.entries += 1
        if isinstance(entry, IgniteKafkaError):
            result.missing += 1
            result.note(f"no record can be made of an entry: {entry}")
            continue
        key, expected = entry
        if key not in last:
            result.missing += 1
            result.note(f"no record of key {key!r}")
            continue
        found = last.pop(key)
        if not _same(expected, found, raw):
            result.different += 1
            result.note(f"key {key!r}: the entry gives {expected!r}, the record is {found!r}")
    tombstones = [key for key, value in last.items() if value is None]
    for key in tombstones:
        del last[key]
    result.unexpected = len(last)
    for key in list(last)[:EXAMPLES]:
        result.note(f"a record of key {key!r} that the cache does not have")
    return result


def _same(expected: Any, found: bytes | None, raw: bool) -> bool:
    if raw or found is None:
        return bool(expected == found)
    return same_json(expected, json.loads(found, parse_float=Decimal if _has_decimal(expected) else None))


def _has_decimal(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, Decimal) or any(map(_has_decimal, items))


def _json_entries(plan: TransferPlan, cluster: Cluster, info: CacheInfo) -> Iterator[tuple[str, Any] | IgniteKafkaError]:
    """Key and value of each entry; where the error policy goes on without an entry that is no record, why it is none."""
    forms = plan.settings.decimal_format, plan.settings.enum_policy

    def json_of(value: Any, *, key: bool) -> Any:
        scales = declared_scales(info, value.type_id if isinstance(value, Document) else None, key=key)
        return json_value(value, *forms, scales)

    def entries_of(page: Page) -> list[tuple[str, Any]]:
        rows = decode_rows([page], info, cluster)
        return [(canonical_value(json_of(key, key=True)), json_of(value, key=False)) for key, value in rows]

    for page in scan_partitions(cluster, info, range(info.partitions), page_bytes=plan.settings.page_bytes):
        try:
            yield from entries_of(page)
        except ENTRY_ERRORS:
            if plan.settings.error_handling_policy == STOP:
                raise
            cuts = entry_cuts(page, info.name)
            for start, end in zip(cuts[:-1:2], cuts[2::2], strict=True):
                try:
                    yield from entries_of(Page(page.partition, 1, page.data[start:end], True))
                except ENTRY_ERRORS as error:
                    yield error


def _raw_entries(plan: TransferPlan, cluster: Cluster, info: CacheInfo) -> Iterator[tuple[bytes, bytes]]:
    for page in scan_partitions(cluster, info, range(info.partitions), page_bytes=plan.settings.page_bytes):
        yield from raw_entries(page, info.name)


def canonical(key: bytes | None) -> str:
    """One text for all JSON texts of equal keys."""
    return canonical_value(None if key is None else json.loads(key, parse_float=Decimal))


def canonical_value(key: Any) -> str:
    """The text that :func:`canonical` gives for the JSON of this value.

    Numbers count by their digits and their scale: 1.50 and 1.5 are two decimals, and two keys.
    """
    return json.dumps(_marked(key), separators=(",", ":"), sort_keys=True)


def _marked(value: Any) -> Any:
    match value:
        case dict():
            return {name: _marked(item) for name, item in value.items()}
        case list():
            return [_marked(item) for item in value]
        case float():
            return {"number": _number(Decimal(repr(value)))}
        case Decimal() if value.as_tuple().exponent == 0:
            return int(value)  # as JSON has it
        case Decimal():
            return {"number": _number(value)}
    return value


def _number(value: Decimal) -> str:
    """Digits and exponent. A float's text may be 1000.0 or 1e3, which are one; with any other fraction a scale is one of a decimal."""
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits))
    assert isinstance(exponent, int)
    shortest = (text.rstrip("0") or "0") if exponent >= -1 else text
    return f"{'-' * sign}{shortest}e{exponent + len(text) - len(shortest)}"
