"""What a stream remembers of the changes it has sent: whether a change that it reads is new, known, or says nothing.

A number is a place, not an identity: it may come back with another content, and late ones may come after higher ones
(docs/decisions/0007-backlog-ground.md). Numbers and hashes of the last seconds are remembered exactly; what lies further back is one floor
a unit. A change that neither can tell is not sent: its key is looked up in the cache.
"""

from __future__ import annotations

import base64
import zlib
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...offsets import UnitOffset
from ...thin.service import EXPIRED, Changes

REMEMBERED_S = 30.0  # longer than owners hold back what they captured (2 s), and than a transaction that took its number early
MOST_REMEMBERED = 2_000_000

Longs = npt.NDArray[np.int64]
Rows = npt.NDArray[np.bool_]

Hashes = npt.NDArray[np.uint32]


def short(hashes: Longs) -> Hashes:
    """The CRC-32 in a change's hash, which :func:`hash_of` gives too."""
    return (hashes.view(np.uint64) >> np.uint64(32)).astype(np.uint32)


def hash_of(key: bytes, value: bytes | None) -> int:
    """The short hash of a state of a key, both in Ignite's binary form and not wrapped; source: `Change.hash` of backlog-service/."""
    return zlib.crc32(b"\0" if value is None else b"\1" + value, zlib.crc32(key))


def packed(numbers: Longs, hashes: Longs) -> str:
    """Numbers and :func:`short` hashes, compressed, in base64."""
    columns = numbers.astype("<i8").tobytes() + short(hashes).astype("<u4").tobytes()  # numbers side by side compress well
    return base64.b64encode(zlib.compress(columns, 1)).decode()


def unpacked(text: str) -> tuple[Longs, Hashes]:
    """What :func:`packed` was given, with short hashes."""
    if not text:
        return np.zeros(0, np.int64), np.zeros(0, np.uint32)
    columns = zlib.decompress(base64.b64decode(text))
    count = len(columns) // 12
    return np.frombuffer(columns, "<i8", count), np.frombuffer(columns, "<u4", count, count * 8)


@dataclass(frozen=True)
class Verdict:
    """What is to be done with each of N changes: one of the three is true, or none for a change to be left for the next read.

    :param send: new, in order.
    :param known: sent before: to be acknowledged, not sent.
    :param ask: only the cache can tell: its key is to be looked up.
    """

    unit: Longs
    send: Rows
    known: Rows
    ask: Rows

    def only(self, rows: Rows) -> Verdict:
        """The same of these rows alone; the others are left."""
        return Verdict(self.unit, self.send & rows, self.known & rows, self.ask & rows)


@dataclass
class _Seen:
    """Changes sent at one time: columns."""

    time_s: float
    unit: Longs
    number: Longs
    hash: Hashes
    keys: pa.BinaryArray
    """Null where it is not known."""
    state: Rows
    """Whether the change is what was sent then: not where it was sent before, by a task that failed."""


@dataclass
class _UnitWindow:
    """The remembered changes of one unit."""

    hashes: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    newest: dict[bytes, int] = field(default_factory=dict)
    """Key to the highest number sent."""
    state: dict[bytes, int] = field(default_factory=dict)
    """Key to the hash of what was sent last."""


class UnitMemory:
    """Of U units, by their position in the task's table of units."""

    def __init__(self, units: int) -> None:
        self._high = np.full(units, -1, np.int64)
        self._floor = np.full(units, -1, np.int64)
        self._loaded_s = np.full(units, -np.inf)
        self._seen: deque[_Seen] = deque()
        self._count = 0

    def restore(self, unit: int, offset: UnitOffset, now_s: float) -> None:
        """Take over what an offset record tells of a unit."""
        self._high[unit] = self._floor[unit] = offset.high
        numbers, hashes = unpacked(offset.unacknowledged)
        if numbers.size:
            none = pa.nulls(numbers.size, pa.binary())
            self._add(_Seen(now_s, np.full(numbers.size, unit), numbers, hashes, none, np.zeros(numbers.size, bool)))

    def high(self, unit: int) -> int:
        """The highest number sent; -1: none."""
        return int(self._high[unit])

    def judge(self, units: Longs, changes: Changes) -> Verdict:
        """Judge what was read of these units, in the order of the answer; nothing is remembered yet."""
        unit = np.repeat(units, changes.count)
        expired = changes.kind == EXPIRED
        again = (unit[1:] == unit[:-1]) & (changes.number[1:] == changes.number[:-1])
        conflict = (np.append(again, False) | np.insert(again, 0, False)) & ~expired
        send = (changes.number > self._high[unit]) & ~conflict & ~expired
        known, ask = np.zeros(unit.size, bool), expired.copy()
        rest = np.flatnonzero(~send & ~expired)
        if rest.size:
            self._judge_rest(rest, unit, changes, conflict, Verdict(unit, send, known, ask))
        return Verdict(unit, send, known, ask)

    def _judge_rest(self, rest: Longs, unit: Longs, changes: Changes, conflict: Rows, verdict: Verdict) -> None:
        keys, hashes = changes.keys(), short(changes.hash)
        windows = self._windows(set(unit[rest].tolist()))
        for row in rest.tolist():
            number, window = int(changes.number[row]), windows[int(unit[row])]
            sent = window.hashes.get(number, ())
            if int(hashes[row]) in sent:
                verdict.known[row] = True
            elif conflict[row] or sent or number <= self._floor[unit[row]] or window.newest.get(keys[row].as_py(), -1) > number:
                verdict.ask[row] = True
            else:
                verdict.send[row] = True  # late, and nothing newer of its key was sent

    def remember(self, verdict: Verdict, rows: Rows, changes: Changes, now_s: float) -> None:
        """These rows are committed, as they are where the verdict is to send them."""
        kept = np.flatnonzero(rows & (changes.number >= 0))
        if not kept.size:
            return
        unit, number = verdict.unit[kept], changes.number[kept]
        np.maximum.at(self._high, unit, number)
        # what was looked up instead is not what the change says
        index = pa.array(kept, mask=~(verdict.send | verdict.known)[kept])  # a null index gives a null key
        self._add(_Seen(now_s, unit, number, short(changes.hash[kept]), changes.keys().take(index), verdict.send[kept]))

    def remember_state(self, unit: int, key: bytes, value: bytes | None, now_s: float) -> None:
        """A state that was read from the cache is committed."""
        state = np.array([hash_of(key, value)], np.uint32)
        self._add(_Seen(now_s, np.array([unit]), np.array([-1]), state, pa.array([key], pa.binary()), np.ones(1, bool)))

    def loaded(self, unit: int, now_s: float) -> None:
        """The unit was sent from the cache: what was sent last for its keys before is not known any more."""
        self._loaded_s[unit] = now_s

    def loaded_since(self, time_s: float) -> Rows:
        """Units that were sent from the cache since."""
        found: Rows = self._loaded_s >= time_s
        return found

    def last_sent(self, units: Iterable[int]) -> dict[tuple[int, bytes], int]:
        """Unit and key of these units to the hash (:func:`hash_of`) of what was sent last, as far as it is remembered."""
        return {(unit, key): hashed for unit, window in self._windows(set(units)).items() for key, hashed in window.state.items()}

    def sent_since(self, time_s: float) -> set[tuple[int, bytes]]:
        """Unit and key of what was sent since."""
        return {
            (unit, key)
            for seen in self._seen
            if seen.time_s >= time_s
            for unit, key in zip(seen.unit.tolist(), seen.keys.to_pylist(), strict=True)
            if key is not None
        }

    def forget(self, now_s: float) -> None:
        """Cut what is too old, or too much, to the floor."""
        while self._seen and (self._seen[0].time_s < now_s - REMEMBERED_S or self._count > MOST_REMEMBERED):
            old = self._seen.popleft()
            self._count -= old.number.size
            np.maximum.at(self._floor, old.unit, old.number)

    def _add(self, seen: _Seen) -> None:
        self._seen.append(seen)
        self._count += seen.number.size

    def _windows(self, units: Iterable[int]) -> dict[int, _UnitWindow]:
        wanted = np.array(sorted(units), np.int64)
        windows = {int(unit): _UnitWindow() for unit in wanted}
        for seen in self._seen:
            for row in np.flatnonzero(np.isin(seen.unit, wanted)).tolist():
                window, number, hashed = windows[int(seen.unit[row])], int(seen.number[row]), int(seen.hash[row])
                window.hashes[number].add(hashed)
                key = seen.keys[row].as_py()
                if key is not None and seen.state[row]:
                    window.newest[key] = max(number, window.newest.get(key, -1))
                    if seen.time_s >= self._loaded_s[seen.unit[row]]:
                        window.state[key] = hashed
        return windows
