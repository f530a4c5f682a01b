"""Compares a stream's topic with its cache: its fold equals the cache, no key steps back, repetitions are counted.

For values that only grow for each key, as those of `tests/support/traffic.py`; negative ones were rolled back and must never be seen.
Independent of the code under test: records are read by a plain consumer, entries by pyignite, the documented layouts are parsed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from tests.support.oracle import TopicContents, TopicRecord, read_committed
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster

_SHOWN = 5
_POLL_S = 1.0  # each poll makes its own clients and reads everything
_JUST_MADE = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.UNKNOWN_TOPIC_OR_PART}


@dataclass(frozen=True)
class Verdict:
    """Differences between a topic and its cache; each list names keys and places.

    ``missing``: entries without a record, or whose last record is a tombstone. ``extra``: last records of keys that are not in the cache.
    ``different``: last records that are not the entry. ``repeated``: records equal to the record before of their key, tombstones too.
    ``steps_back``: values not above one that their key had before, other than such a repetition. ``rolled_back``: negative values.
    ``scattered``: keys in more than one partition, which have no order.
    """

    topic: str
    entries: int
    records: int
    tombstones: int
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    steps_back: list[str] = field(default_factory=list)
    rolled_back: list[str] = field(default_factory=list)
    scattered: list[str] = field(default_factory=list)

    def faults(self, *, besides: Collection[str] = ()) -> list[str]:
        """One line per kind of fault; empty for a pass.

        :param besides: kinds that are none here; ``repeated`` where a unit is sent again, or a client of Ignite may have written twice
            when a node died.
        """
        kinds = ("missing", "extra", "different", "repeated", "steps_back", "rolled_back", "scattered")
        return [self._line(kind, getattr(self, kind)) for kind in kinds if kind not in besides and getattr(self, kind)]

    @property
    def same(self) -> bool:
        """Whether the fold equals the cache, whatever the intermediate records."""
        return not (self.missing or self.extra or self.different)

    def _line(self, kind: str, found: list[str]) -> str:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        return f"{self.topic}: {len(found)} {kind}: {'; '.join(found[:_SHOWN])}{more}"

    def __str__(self) -> str:
        counts = f"{self.records} records ({self.tombstones} tombstones, {len(self.repeated)} repeated), {self.entries} entries"
        return f"{self.topic}: {counts}; {'; '.join(self.faults(besides=['repeated'])) or 'the fold is the cache'}"


def compare(contents: TopicContents, entries: Mapping[bytes, Any]) -> Verdict:
    """Compare a topic with a cache that did not change since its last record was sent.

    :param entries: of :func:`entries_of`.
    """
    verdict = Verdict(contents.topic, len(entries), len(contents.records), sum(record.value is None for record in contents.records))
    last: dict[bytes, TopicRecord] = {}
    highest: dict[bytes, int] = {}
    for record in contents.records:
        assert record.key is not None, f"{contents.topic} {record.place}: a record without a key"
        key = record.key
        before = last.get(key)
        last[key] = record
        if before is not None and before.partition != record.partition:
            verdict.scattered.append(f"{key!r} at {before.place} and {record.place}")
        if before is not None and before.value == record.value:
            verdict.repeated.append(f"{key!r} at {before.place} and {record.place}")
            continue
        if record.value is None:
            continue
        value = json.loads(record.value)
        if value < 0:
            verdict.rolled_back.append(f"{key!r} at {record.place}: {value}")
        elif value <= highest.get(key, -1):
            verdict.steps_back.append(f"{key!r} at {record.place}: {value}, had {highest[key]} before")
        highest[key] = max(value, highest.get(key, -1))
    for key, record in last.items():
        if key not in entries and record.value is not None:
            verdict.extra.append(f"{key!r} at {record.place}: {record.value!r}")
        if key in entries and record.value is not None and json.loads(record.value) != entries[key]:
            verdict.different.append(f"{key!r} at {record.place}: {record.value!r}, in the cache {entries[key]!r}")
    for key, value in entries.items():
        if key not in last:
            verdict.missing.append(f"{key!r}, in the cache {value!r}: no record")
        elif last[key].value is None:
            verdict.missing.append(f"{key!r}, in the cache {value!r}: a tombstone at {last[key].place}")
    return verdict


def entries_of(ignite: IgniteCluster, cache: str) -> dict[bytes, Any]:
    """Record key, as JsonConverter writes it, to value of each entry; for keys that are numbers or texts."""
    with ignite.client() as client, client.get_cache(cache).scan(page_size=10_000) as found:
        return {json.dumps(key).encode(): value for key, value in found}


def read_now(bootstrap: str, topic: str) -> TopicContents:
    """Return the visible records of a topic; none if it does not exist yet."""
    nothing = TopicContents(topic, (), frozenset())
    if topic not in AdminClient({"bootstrap.servers": bootstrap, "log_level": 2}).list_topics(timeout=REQUEST_S).topics:
        return nothing
    try:
        return read_committed(bootstrap, topic, settled=False)
    except KafkaException as error:
        if error.args[0].code() in _JUST_MADE:
            return nothing
        raise


def await_fold(bootstrap: str, topic: str, entries: Mapping[bytes, Any], check: Callable[[], None]) -> Verdict:
    """Read the topic until its fold equals the cache, which nobody writes to.

    :param check: raises if waiting is in vain.
    :raises AssertionError: the deadline has passed; the message is the last verdict.
    """
    verdicts: list[Verdict] = []

    def same() -> bool:
        verdicts[:] = [compare(read_now(bootstrap, topic), entries)]
        if not verdicts[0].same:
            check()
        return verdicts[0].same

    try:
        wait_until(same, topic, poll_s=_POLL_S)
    except TimeoutError as late:
        raise AssertionError(f"{late}: {verdicts[0]}") from None
    return verdicts[0]
