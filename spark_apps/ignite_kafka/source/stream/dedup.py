"""Deduplication of captured changes: each is new, a duplicate, or unclear and looked up in the cache.

An update number is a position, not an identity: it may return with another content, and low numbers may come after
higher ones (docs/decisions/0007-backlog-ground.md). Numbers and hashes of the last seconds are remembered exactly;
older ones are cut to one floor number a unit. A change that neither can classify is not sent: its key is looked up in
the cache.

A hash (int64) has the CRC-32 of key and value in its high half and FNV-1a of the key alone in its low half (source:
`Change.hash` in backlog-service/). So the state that was sent last for a key is known even where the bytes of the key
are not.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...common.arrays import Int64Array, Mask
from ...errors import OffsetsLost
from ...ignite.backlog_changes import EXPIRED, Changes
from ...plan.slots import UnitOffset

# longer than owners hold captured changes back (2 s), and than a transaction that took its number early
REMEMBERED_S = 30.0
MOST_REMEMBERED = 2_000_000
RECENT_S = 10.0  # stored for the next task: a node that was suspended for seconds may write acknowledged changes again
MOST_RECENT = 256  # a unit: its offset record is written with each batch that has changes of it

SETTLED = np.dtype([("number", "<i8"), ("hash", "<i8"), ("sent", "?"), ("time_s", "<f8")])
"""A settled change: update number, hash, whether its content was sent, and when (clock seconds, not stored).

A looked-up state has the number -1. The content was not sent where the key was looked up instead, or where a failed
task had sent it before."""

_SIZES = struct.Struct("<ii")
_NONE = np.empty(0, SETTLED)


def change_hash(key: bytes, value: bytes | None) -> int:
    """Compute a change's hash as the backlog service does, from unwrapped key and value in Ignite's binary form.

    :param value: None: the key was removed.
    """
    of_key = 0x811C9DC5
    for byte in key:
        of_key = (of_key ^ byte) * 0x01000193 & 0xFFFFFFFF
    both = zlib.crc32(b"\0" if value is None else b"\1" + value, zlib.crc32(key)) << 32 | of_key
    return both - (1 << 64) if both >> 63 else both


def key_hash(hashed: int) -> int:
    """Extract the half of a change's hash that depends on the key alone."""
    return hashed & 0xFFFFFFFF


def settled_rows(numbers: Int64Array, hashes: Int64Array, sent: Mask, now_s: float) -> npt.NDArray[np.void]:
    """Build an array of N settled changes (dtype SETTLED), all with one time.

    :param numbers: N update numbers, `hashes` their hashes.
    :param sent: N flags: whether the content was sent.
    :param now_s: time of all rows.
    """
    rows = np.empty(numbers.size, SETTLED)
    rows["number"], rows["hash"], rows["sent"], rows["time_s"] = numbers, hashes, sent, now_s
    return rows


def concat_settled(*parts: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Concatenate arrays of dtype SETTLED as bytes, because numpy copies structured rows slowly, field by field."""
    return np.frombuffer(bytearray().join(part.tobytes() for part in parts), SETTLED)


def pack_settled(rows: npt.NDArray[np.void]) -> str:
    """Encode settled changes as a compact base64 text for the offset record; their times are left out.

    Layout: count, length of the compressed part; number differences and flags, compressed; hashes, which do not
    compress.
    """
    if not rows.size:
        return ""
    steps = zlib.compress(np.diff(rows["number"], prepend=0).astype("<i8").tobytes() + rows["sent"].tobytes(), 1)
    return base64.b64encode(_SIZES.pack(rows.size, len(steps)) + steps + rows["hash"].astype("<i8").tobytes()).decode()


def unpack_settled(text: str, now_s: float) -> npt.NDArray[np.void]:
    """Decode settled changes from the text of an offset record; all get the time `now_s`.

    :raises OffsetsLost: the text has another form.
    """
    if not text:
        return _NONE
    try:
        data = base64.b64decode(text)
        count, size = _SIZES.unpack_from(data)
        if count < 0 or size < 0 or len(data) != _SIZES.size + size + 8 * count:
            raise ValueError("its length is wrong")
        steps = zlib.decompressobj().decompress(data[_SIZES.size : _SIZES.size + size], 9 * count or 1)
        numbers = np.cumsum(np.frombuffer(steps, "<i8", count))
        sent = np.frombuffer(steps, "u1", count, 8 * count) != 0
        return settled_rows(numbers, np.frombuffer(data, "<i8", count, _SIZES.size + size), sent, now_s)
    except (ValueError, struct.error, zlib.error) as error:
        remedy = (
            "Another program wrote to the offsets topic: `ignite-kafka offsets reset` for the cache forgets its "
            "offsets."
        )
        raise OffsetsLost(f"the recent changes in the offset of a unit cannot be read: {error}", remedy) from error


@dataclass(frozen=True)
class Classification:
    """Decision about each of N changes: send, skip as duplicate, look up, or (no class) wait for the next read.

    :param unit: N positions of units.
    :param new: N flags: the change is sent, in order.
    :param duplicate: N flags: the change was sent before; it is acknowledged only.
    :param lookup: N flags: the key must be looked up in the cache.
    """

    unit: Int64Array
    new: Mask
    duplicate: Mask
    lookup: Mask

    def only(self, rows: Mask) -> Classification:
        """Keep the decisions about the flagged changes; the other changes wait for the next read."""
        return Classification(self.unit, self.new & rows, self.duplicate & rows, self.lookup & rows)


@dataclass
class _Seen:
    """Changes that were committed together, as columns; see SETTLED."""

    time_s: float
    unit: Int64Array
    number: Int64Array
    hash: Int64Array
    keys: pa.BinaryArray
    """Null where the key is unknown."""
    sent: Mask


@dataclass
class _UnitWindow:
    """Index of one cache partition's remembered changes, by number and by key hash."""

    hashes: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    newest: dict[int, int] = field(default_factory=dict)
    """Key hash to the highest number sent for the key."""
    state: dict[int, int] = field(default_factory=dict)
    """Key hash to the hash of the state that was sent last for the key."""


class ChangeDeduplicator:
    """Decides which changes of U cache partitions are new, from a memory of the last seconds; not thread-safe.

    Units are positions in the task's unit table.

    :param most_remembered: maximum changes remembered exactly, of all units.
    :param versioned: whether changes have versions, by which a sink orders them. Then every change is sent as it is
        read: once more does no harm.
    """

    def __init__(self, units: int, most_remembered: int = MOST_REMEMBERED, *, versioned: bool = False) -> None:
        self._most_remembered = most_remembered
        self._versioned = versioned
        self._high = np.full(units, -1, np.int64)
        self._floor = np.full(units, -1, np.int64)
        self._loaded_s = np.full(units, -np.inf)
        self._seen: deque[_Seen] = deque()
        self._count = 0
        self._recent: OrderedDict[int, npt.NDArray[np.void]] = OrderedDict()  # the unit with the latest change is last

    def restore(self, unit: int, offset: UnitOffset, now_s: float) -> None:
        """Restore the memory of a cache partition's sent changes from its offset record."""
        self._high[unit] = self._floor[unit] = offset.high
        rows = unpack_settled(offset.recent, now_s)
        if rows.size:
            keys = pa.nulls(rows.size, pa.binary())
            self._add(_Seen(now_s, np.full(rows.size, unit), rows["number"], rows["hash"], keys, rows["sent"]))

    def high(self, unit: int) -> int:
        """Return the highest update number sent for a unit; -1 if none."""
        return int(self._high[unit])

    def classify(self, units: Int64Array, changes: Changes) -> Classification:
        """Classify changes just read from the backlog; they are remembered only after the commit.

        :param units: positions of the units that were read, in the order of the reply.
        """
        unit = np.repeat(units, changes.count)
        expired = changes.kind == EXPIRED
        again = (unit[1:] == unit[:-1]) & (changes.number[1:] == changes.number[:-1])
        conflict = (np.append(again, False) | np.insert(again, 0, False)) & ~expired
        send = (changes.number > self._high[unit]) & ~conflict & ~expired
        duplicate = np.zeros(unit.size, bool)
        ask = expired.copy()
        rest = np.flatnonzero(~send & ~expired)
        if rest.size:
            self._classify_rest(rest, unit, changes, conflict, Classification(unit, send, duplicate, ask))
        return Classification(unit, send, duplicate, ask)

    def _classify_rest(
        self, rest: Int64Array, unit: Int64Array, changes: Changes, conflict: Mask, classified: Classification
    ) -> None:
        if self._versioned:
            classified.new[rest] = True
            return
        windows = self._windows(set(unit[rest].tolist()))
        for row in rest.tolist():
            number = int(changes.number[row])
            hashed = int(changes.hash[row])
            window = windows[int(unit[row])]
            sent = window.hashes.get(number, ())
            if hashed in sent:
                classified.duplicate[row] = True
            elif (
                conflict[row]
                or sent
                or number <= self._floor[unit[row]]
                or window.newest.get(key_hash(hashed), -1) > number
            ):
                classified.lookup[row] = True
            else:
                classified.new[row] = True  # late, and nothing newer of its key was sent

    def remember(self, classified: Classification, rows: Mask, changes: Changes, now_s: float) -> None:
        """Remember committed changes, so that they count as duplicates when they are read again.

        :param rows: a flag for each change: whether it is committed.
        """
        kept = np.flatnonzero(rows & (changes.number >= 0))
        if not kept.size:
            return
        unit = classified.unit[kept]
        number = changes.number[kept]
        np.maximum.at(self._high, unit, number)
        # a key that was looked up may have another state than its change
        index = pa.array(kept, mask=~(classified.new | classified.duplicate)[kept])  # a null index gives a null key
        self._add(_Seen(now_s, unit, number, changes.hash[kept], changes.keys().take(index), classified.new[kept]))

    def remember_state(self, unit: int, key: bytes, value: bytes | None, now_s: float) -> None:
        """Remember a committed looked-up value as the last sent state of its key."""
        state = np.array([change_hash(key, value)])
        self._add(_Seen(now_s, np.array([unit]), np.array([-1]), state, pa.array([key], pa.binary()), np.ones(1, bool)))

    def loaded(self, unit: int, now_s: float) -> None:
        """Record the load of a unit from the cache, which outdates the states sent before."""
        self._loaded_s[unit] = now_s
        if unit in self._recent:
            self._recent[unit]["sent"] = False

    def recent(self, unit: int, now_s: float) -> npt.NDArray[np.void]:
        """Return a unit's settled changes of the last seconds, oldest first, for its offset record (read only)."""
        rows = self._recent.get(unit)
        return _NONE if rows is None else rows[np.searchsorted(rows["time_s"], now_s - RECENT_S) :]

    def loaded_since(self, time_s: float) -> Mask:
        """Return a flag for each unit: it was loaded from the cache since `time_s`."""
        is_loaded: Mask = self._loaded_s >= time_s
        return is_loaded

    def last_sent(self, units: Iterable[int]) -> dict[tuple[int, int], int]:
        """Return, by unit and key hash, the hash of the state that was last sent for the key."""
        return {
            (unit, key): hashed
            for unit, window in self._windows(set(units)).items()
            for key, hashed in window.state.items()
        }

    def sent_since(self, time_s: float) -> set[tuple[int, bytes]]:
        """Return the units and keys of all changes sent since `time_s`."""
        return {
            (unit, key)
            for seen in self._seen
            if seen.time_s >= time_s
            for unit, key in zip(seen.unit.tolist(), seen.keys.to_pylist(), strict=True)
            if key is not None
        }

    def forget(self, now_s: float) -> None:
        """Drop remembered changes that are too old or too many; a floor number for each unit replaces them."""
        while self._seen and (self._seen[0].time_s < now_s - REMEMBERED_S or self._count > self._most_remembered):
            old = self._seen.popleft()
            self._count -= old.number.size
            np.maximum.at(self._floor, old.unit, old.number)
        while self._recent and next(iter(self._recent.values()))["time_s"][-1] < now_s - RECENT_S:
            self._recent.popitem(last=False)

    def _add(self, seen: _Seen) -> None:
        """Add settled changes to the memory and to the recent changes of their units.

        :param seen: changes in ascending order of units.
        """
        self._seen.append(seen)
        self._count += seen.number.size
        cuts = np.flatnonzero(np.diff(seen.unit)) + 1
        rows = settled_rows(seen.number, seen.hash, seen.sent, seen.time_s)
        for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), rows.size], strict=True):
            unit = int(seen.unit[start])
            new = rows[max(start, end - MOST_RECENT) : end]
            before = self.recent(unit, seen.time_s)
            self._recent[unit] = concat_settled(before[max(0, before.size + new.size - MOST_RECENT) :], new)
            self._recent.move_to_end(unit)

    def _windows(self, units: Iterable[int]) -> dict[int, _UnitWindow]:
        positions = np.array(sorted(units), np.int64)
        windows = {int(unit): _UnitWindow() for unit in positions}
        for seen in self._seen:
            for row in np.flatnonzero(np.isin(seen.unit, positions)).tolist():
                window = windows[int(seen.unit[row])]
                number = int(seen.number[row])
                hashed = int(seen.hash[row])
                window.hashes[number].add(hashed)
                if seen.sent[row]:
                    key = key_hash(hashed)
                    window.newest[key] = max(number, window.newest.get(key, -1))
                    if seen.time_s >= self._loaded_s[seen.unit[row]]:
                        window.state[key] = hashed
        return windows
