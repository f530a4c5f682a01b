"""Ignite's binary format to Arrow columns and to plain Python rows, and Arrow columns to Ignite's binary format."""

from ignite_kafka.thin.codec.bounds import EntryBounds, entry_bounds, entry_cuts, joined_bounds, raw_entries
from ignite_kafka.thin.codec.decode import EntryGroup, TypeRef, decode_entries
from ignite_kafka.thin.codec.encode import encode_objects, encoded
from ignite_kafka.thin.codec.layout import ObjectLayout
from ignite_kafka.thin.codec.raw import Wire
from ignite_kafka.thin.codec.rows import decode_rows
from ignite_kafka.thin.codec.scalars import EnumPolicy
from ignite_kafka.thin.codec.walk import type_ids_within

__all__ = [
    "EntryBounds", "EntryGroup", "EnumPolicy", "ObjectLayout", "TypeRef", "Wire",
    "decode_entries", "decode_rows", "encode_objects", "encoded", "entry_bounds", "entry_cuts", "joined_bounds",
    "raw_entries", "type_ids_within",
]  # fmt: skip
