"""Captured changes in a reply of the backlog service, as numpy columns, and their acknowledgement.

Byte layouts: the Javadoc of `BacklogService` in backlog-service/.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.arrays import Int32Array, Int64Array, Mask
from .backlog_units import UNIT, ColumnReader
from .entry_versions import EntryVersions
from .types import type_codes as codes

CREATED = 1
UPDATED = 2
REMOVED = 3
EXPIRED = 4
"""Kinds of a change."""

_MAGIC = 0x31434B42
_MAGIC_VERSIONED = 0x32434B42
_CHANGE_BYTES = 33  # of the columns of a change
_VERSION_BYTES = 17
_HEADER = struct.Struct("<iiiiq")
_ACKNOWLEDGED = np.dtype([*UNIT.descr, ("stamp", "<i8"), ("count", "<i4"), ("zero", "<i4")])
_WRAPPER = np.array([5, -4])  # type code and length before an object, offset of its root after it


@dataclass(frozen=True)
class Changes:
    """Reply of :meth:`BacklogService.read`: captured changes of cache partitions, as columns.

    Columns of U units in the order of the request, then of N changes, unit after unit.

    :param topology: topology version of the reply.
    :param mark_number: U items: number of the newest mark.
    :param expired_stamp: U items: stamp of the expired keys, 0 without any.
    :param count: U items: changes in this reply.
    :param marks: U items: bit set of the marks in `backlog_units.py`.
    :param more: U items: True if the unit has more changes.
    :param number: N items: number of the change in its unit. `time_ms` (epoch milliseconds), `hash` and `kind` have N
        items, too.
    :param kind: CREATED, UPDATED, REMOVED or EXPIRED; the first two have a value.
    :param key_length: N items: bytes of the key in `entries`, and `value_length` those of the value.
    :param entries: keys and values in the layout of a scan page: a binary object is wrapped (code 27), a missing value
        is code 101. Any run of entries is a valid page.
    :param versions: N versions of the writes, which clusters that write the same cache compare; order and id of the
        cluster are 0 for a cache that only its own cluster writes, and for expired keys.
    """

    topology: int
    mark_number: Int64Array
    expired_stamp: Int64Array
    count: Int32Array
    marks: Int32Array
    more: Mask
    number: Int64Array
    time_ms: Int64Array
    hash: Int64Array
    kind: npt.NDArray[np.int8]
    key_length: Int32Array
    value_length: Int32Array
    entries: memoryview
    versions: EntryVersions

    @classmethod
    def decode(cls, data: memoryview) -> Changes:
        """Parse the bytes of a reply; raise ValueError for bytes of another form."""
        if len(data) < _HEADER.size:
            raise ValueError("the bytes are not changes of the backlog service")
        magic, units, changes, topology, entry_bytes = _HEADER.unpack_from(data)
        versioned = magic == _MAGIC_VERSIONED
        change_bytes = _CHANGE_BYTES + _VERSION_BYTES * versioned
        if magic not in (_MAGIC, _MAGIC_VERSIONED) or (
            len(data) != _HEADER.size + 28 * units + change_bytes * changes + entry_bytes
        ):
            raise ValueError("the bytes are not changes of the backlog service")
        take = ColumnReader(data, _HEADER.size)
        mark_number = take("<i8", units)
        stamp = take("<i8", units)
        number = take("<i8", changes)
        time_ms = take("<i8", changes)
        hashes = take("<i8", changes)
        ranks, orders = (take("<i8", changes * versioned) for _ in range(2))
        count = take("<i4", units)
        marks = take("<i4", units)
        more = take("<i4", units)
        key_length = take("<i4", changes)
        value_length = take("<i4", changes)
        kind = take("i1", changes)
        clusters = take("i1", changes * versioned)
        versions = EntryVersions(orders, clusters, ranks) if versioned else EntryVersions.none(changes)
        columns = (
            mark_number,
            stamp,
            count,
            marks,
            more.astype(bool),
            number,
            time_ms,
            hashes,
            kind,
            key_length,
            value_length,
        )
        return cls(topology, *columns, data[take.position :], versions)

    @classmethod
    def none(cls, topology: int) -> Changes:
        """Make an empty reply, without units and changes."""
        return cls.decode(memoryview(_HEADER.pack(_MAGIC, 0, 0, topology, 0)))

    def entry_offsets(self) -> Int64Array:
        """Compute where each change begins in `entries`: N + 1 byte offsets."""
        offsets = np.zeros(len(self.number) + 1, np.int64)
        np.cumsum(self.key_length + self.value_length, dtype=np.int64, out=offsets[1:])
        return offsets

    def keys(self) -> pa.BinaryArray:
        """Extract the N keys in Ignite's binary format, with type code, objects unwrapped."""
        cuts = np.empty((len(self.number), 2), np.int32)  # start and end of each key; entries are below 2 GiB
        cuts[:, 0] = self.entry_offsets()[:-1]
        cuts[:, 1] = cuts[:, 0] + self.key_length
        wrapped = np.frombuffer(self.entries, np.uint8)[cuts[:, 0]] == codes.WRAPPED
        cuts += np.where(wrapped[:, None], _WRAPPER, 0).astype(np.int32)
        spans = pa.Array.from_buffers(
            pa.binary(), max(cuts.size - 1, 0), [None, pa.py_buffer(cuts), pa.py_buffer(self.entries)]
        )
        return spans.take(pa.array(np.arange(0, cuts.size, 2, dtype=np.int32)))

    def acknowledgement(
        self, units: npt.NDArray[np.void], rows: Mask | None = None, stamps: Mask | None = None
    ) -> bytes:
        """Encode the acknowledgement by which the nodes drop some or all changes of this reply.

        :param units: the U units of the request, dtype UNIT.
        :param rows: N flags, True for changes to acknowledge; None for all. Flags of expired keys have no effect.
        :param stamps: U flags, True for units whose expired keys in this reply are acknowledged, always all of a unit;
            None for all units.
        """
        chosen = self.kind != EXPIRED if rows is None else rows & (self.kind != EXPIRED)
        unit_of = np.repeat(np.arange(len(units)), self.count)
        counts = np.bincount(unit_of[chosen], minlength=len(units))
        stamp = self.expired_stamp if stamps is None else np.where(stamps, self.expired_stamp, 0)
        concerned = (counts > 0) | (stamp > 0)
        heads = np.zeros(int(concerned.sum()), _ACKNOWLEDGED)
        for name in UNIT.names or ():
            heads[name] = units[name][concerned]
        heads["stamp"], heads["count"] = stamp[concerned], counts[concerned]
        # int64 words: four of a head, two of a change
        head_of = np.repeat(np.arange(len(heads)), heads["count"])
        change = 4 * (head_of + 1) + 2 * np.arange(len(head_of))
        head = 4 * np.arange(len(heads)) + 2 * (np.cumsum(heads["count"]) - heads["count"])
        words = np.empty(4 * len(heads) + 2 * len(head_of), "<i8")
        words[head[:, None] + np.arange(4)] = heads.view("<i8").reshape(-1, 4)
        words[change], words[change + 1] = self.number[chosen], self.hash[chosen]
        return words.tobytes()
