"""Changes in a simulated backlog, and the answers of its service."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ignite_kafka.ignite.backlog_changes import CREATED, Changes
from ignite_kafka.ignite.entry_versions import EntryVersions
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.plan.source_plan import CachePlan
from ignite_kafka.source.stream.batch import page_of_states

PARTITIONS, SLOTS = 4, 2
CACHE = CachePlan("cache", 7, "topic", PARTITIONS, 2, "1")


def key_bytes(key: int) -> bytes:
    return struct.pack("<Bq", 4, key)


def value_bytes(value: int) -> bytes:
    return struct.pack("<Bi", 3, value)


def partition_of(key: bytes) -> int:
    return (int(struct.unpack_from("<q", key, 1)[0]) if key[0] == codes.LONG else zlib.crc32(key)) % PARTITIONS


@dataclass(frozen=True)
class Change:
    """One change in the backlog."""

    number: int
    key: bytes
    value: bytes | None
    kind: int = CREATED

    @property
    def hash(self) -> int:
        of_key = reduce(lambda hashed, byte: (hashed ^ byte) * 0x01000193 % (1 << 32), self.key, 0x811C9DC5)
        both = zlib.crc32(b"\0" if self.value is None else b"\1" + self.value, zlib.crc32(self.key))
        return (both << 32 | of_key) - (1 << 64 if both >> 31 else 0)


def changes_of(topology: int, units: Sequence[Sequence[Change]], more: Sequence[bool]) -> Changes:
    """An answer of the service, of units without marks."""
    rows = [change for unit in units for change in unit]
    entries = [len(page_of_states([(change.key, change.value)]).data) for change in rows]
    keys = [len(page_of_states([(change.key, None)]).data) - 1 for change in rows]
    return Changes(
        topology,
        np.zeros(len(units), np.int64),
        np.zeros(len(units), np.int64),
        np.array([len(unit) for unit in units], np.int32),
        np.zeros(len(units), np.int32),
        np.array(more, bool),
        np.array([change.number for change in rows], np.int64),
        np.zeros(len(rows), np.int64),
        np.array([change.hash for change in rows], np.int64),
        np.array([change.kind for change in rows], np.int8),
        np.array(keys, np.int32),
        np.array([entry - key for entry, key in zip(entries, keys, strict=True)], np.int32),
        page_of_states([(change.key, change.value) for change in rows]).data,
        EntryVersions.none(len(rows)),
    )
