"""Ignite's binary format to Arrow columns and to plain Python rows, and Arrow columns to Ignite's binary format."""

from ignite_kafka.ignite.binary.decode import EntryGroup, TypeRef, decode_entries
from ignite_kafka.ignite.binary.decode_rows import decode_rows
from ignite_kafka.ignite.binary.decode_scalars import EnumPolicy
from ignite_kafka.ignite.binary.encode import encode_objects, encoded
from ignite_kafka.ignite.binary.entry_bounds import EntryBounds, entry_bounds, entry_cuts, joined_bounds, raw_entries
from ignite_kafka.ignite.binary.object_layout import ObjectLayout
from ignite_kafka.ignite.binary.page_buffer import Wire
from ignite_kafka.ignite.binary.type_ids import type_ids_within

__all__ = [
    "EntryBounds", "EntryGroup", "EnumPolicy", "ObjectLayout", "TypeRef", "Wire",
    "decode_entries", "decode_rows", "encode_objects", "encoded", "entry_bounds", "entry_cuts", "joined_bounds",
    "raw_entries", "type_ids_within",
]  # fmt: skip
