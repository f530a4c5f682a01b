"""Signals of a connector as data: ad-hoc snapshots that users request beside a running stream, and their progress.

The words are Debezium's: a *signal* asks for an ad-hoc snapshot, which sends entries again that the cache holds now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from ..common.typed_json import Milliseconds, Range, dumps, read_as

COMPLETED = "COMPLETED"
ABORTED = "ABORTED"
FAILED = "FAILED"
ENDS = (COMPLETED, ABORTED, FAILED)

RUNNING = "RUNNING"
PAUSED = "PAUSED"
STOPPED = "STOPPED"
TARGETS = (RUNNING, PAUSED, STOPPED)

MOST_CACHES = 1_000
"""Maximum caches of one signal."""
MOST_KEYS = 10_000
"""Maximum keys of one signal; more keys are requested by more signals."""
MOST_BYTES = 500_000
"""Maximum size of a signal's record in bytes: brokers accept a megabyte, and each task gets a copy."""
MOST_WHERE = 10_000
"""Maximum characters of a condition."""
MOST_ERROR = 2_000
"""Maximum characters of the reason why a signal failed: it may quote the signal, and brokers accept a megabyte."""
MOST_WAITING = 100
"""Maximum signals of a connector that have not ended."""
MOST_ENDED = 100
"""Ended signals of a connector that are remembered, so that a repeated id is not done again."""
MOST_NONCE = 100
"""Maximum characters of a signal's nonce: each offset record of its units has it."""
MOST_FORGOTTEN = 1_000
"""Ids of older ended signals that are remembered, so that nobody waits for an end that is not recorded any more."""
ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
"""Form of a signal's id."""

Count = Annotated[int, Range(0, 1 << 53)]
Partition = Annotated[int, Range(0, (1 << 31) - 1)]


@dataclass(frozen=True)
class CacheSelection:
    """Entries of one cache that an ad-hoc snapshot sends; every part given narrows the selection.

    :param where: condition in Spark SQL, applied besides the connector's own; empty: every entry.
    :param keys: keys as the record keys of the topic, in UTF-8; empty: every key.
    :param partitions: Ignite partitions; empty: every partition.
    """

    cache: str
    where: str = ""
    keys: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()


@dataclass(frozen=True)
class Signal:
    """Request for an ad-hoc snapshot.

    :param at_ms: time of the request.
    :param origin: what requested it, such as ``command`` or ``topic``.
    :param nonce: differs between two requests of one id, of which the second one came after the end of the first was
        forgotten; empty: the reader of the record takes the record's offset.
    """

    id: str
    caches: tuple[CacheSelection, ...]
    at_ms: Milliseconds = 0
    origin: str = ""
    nonce: str = ""

    def to_json(self) -> bytes:
        """Return the value of the record."""
        return dumps(asdict(self))

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> Signal:
        """Read what :meth:`to_json` wrote; fields of newer versions are ignored.

        :raises ValueError: the value has another form, or :func:`fault_of` refuses it.
        """
        signal = read_as(Signal, value)
        if fault := fault_of(signal):
            raise ValueError(fault)
        return signal

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the signal's caches."""
        return tuple(selection.cache for selection in self.caches)

    @property
    def identity(self) -> str:
        """Identity of the request, which the offset records of its units name; an id alone may be used again."""
        return f"{self.id}/{self.nonce}" if self.nonce else self.id


def fault_of(signal: Signal) -> str:
    """Return why a signal's form is refused; empty if it is accepted."""
    if not ID.fullmatch(signal.id):
        return f"the id of a signal has 1 to 100 letters, digits, dots, colons, hyphens and underscores: {signal.id!r}"
    if len(signal.nonce) > MOST_NONCE:
        return f"the nonce of a signal has at most {MOST_NONCE} characters"
    if not 0 < len(signal.caches) <= MOST_CACHES:
        return f"a signal is about 1 to {MOST_CACHES:,} caches, and this one is about {len(signal.caches):,}"
    if len(set(signal.names)) < len(signal.caches):
        return "a signal names each cache once"
    for selection in signal.caches:
        if len(selection.where) > MOST_WHERE:
            return f"the condition for cache {selection.cache} has more than {MOST_WHERE:,} characters"
    keys = sum(len(selection.keys) for selection in signal.caches)
    if keys > MOST_KEYS:
        return f"a signal names at most {MOST_KEYS:,} keys, and this one names {keys:,}: divide them among signals"
    size = len(signal.to_json())
    if size > MOST_BYTES:
        return f"a signal has at most {MOST_BYTES:,} bytes, and this one has {size:,}: divide it among signals"
    return ""


@dataclass
class SignalCount:
    """Progress of an ad-hoc snapshot in one cache.

    :param units: cache partitions to read.
    :param records: records sent.
    """

    units: Count = 0
    units_done: Count = 0
    records: Count = 0

    def add(self, more: SignalCount) -> None:
        """Add the progress of other units to this."""
        self.units += more.units
        self.units_done += more.units_done
        self.records += more.records


@dataclass(frozen=True)
class SignalReport:
    """Progress of one task in an ad-hoc snapshot.

    :param caches: by the name of the cache, of the units of this task.
    :param error: why the snapshot cannot go on; empty: it can.
    """

    id: str
    caches: Mapping[str, SignalCount] = field(default_factory=dict)
    error: str = ""

    @property
    def done(self) -> bool:
        """Whether all units of the task are sent."""
        return not self.error and all(count.units_done >= count.units for count in self.caches.values())


@dataclass(frozen=True)
class SignalPosition:
    """Position of a connector in its signal topic.

    :param topic_id: id of the topic; another topic of its name is read from its end.
    :param offsets: next offset by partition.
    """

    topic_id: str
    offsets: Mapping[int, int] = field(default_factory=dict)


def sum_reports(reports: Iterable[SignalReport]) -> dict[str, SignalCount]:
    """Sum the progress of several tasks, by cache."""
    total: dict[str, SignalCount] = {}
    for report in reports:
        for name, count in report.caches.items():
            total.setdefault(name, SignalCount()).add(count)
    return total


@dataclass(frozen=True)
class SignalStatus:
    """Progress of a signal that a run has taken up, or its end.

    :param state: RUNNING, PAUSED, COMPLETED, ABORTED or FAILED.
    :param at_ms: time of this status; of an end, the end.
    :param caches: progress by cache.
    :param error: why it failed.
    """

    id: str
    state: str
    started_ms: Milliseconds = 0
    at_ms: Milliseconds = 0
    caches: Mapping[str, SignalCount] = field(default_factory=dict)
    error: str = ""
    run_id: str = ""

    def to_json(self) -> bytes:
        """Return the value of the record."""
        return dumps(asdict(self))

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> SignalStatus:
        """Read what :meth:`to_json` wrote; fields of newer versions are ignored.

        :raises ValueError: the value has another form.
        """
        return read_as(SignalStatus, value)

    @property
    def ended(self) -> bool:
        """Whether the signal has ended."""
        return self.state in ENDS

    @property
    def total(self) -> SignalCount:
        """Progress in all caches together."""
        total = SignalCount()
        for count in self.caches.values():
            total.add(count)
        return total

    def left_s(self) -> float | None:
        """Estimate the seconds until the snapshot is complete, by the units that are done; None if unknown."""
        total = self.total
        seconds = (self.at_ms - self.started_ms) / 1000
        if self.state != RUNNING or not total.units_done or seconds <= 0:
            return None
        return seconds / total.units_done * (total.units - total.units_done)

    def changed(self, **fields: Any) -> SignalStatus:
        """Return a copy with other values of some fields."""
        return replace(self, **fields)
