"""Conversion of Ignite's binary format to Arrow columns or Python rows, and of Arrow columns to the binary format.

Imports ignite.types; ignite, convert and admin import it.
"""

from .decode import Containers, EntryGroup, TypeRef, decode_arrays, decode_entries
from .decode_rows import decode_rows
from .decode_scalars import EnumPolicy
from .encode import encode_objects, encoded
from .entry_bounds import EntryBounds, concat_bounds, entry_bounds, entry_cuts, raw_entries
from .joined_pages import JoinedPages
from .object_layout import ObjectLayout
from .page_buffer import PageBuffer
from .page_rows import kept_rows, with_nulls
from .type_ids import type_ids_within

__all__ = [
    "Containers",
    "EntryBounds",
    "EntryGroup",
    "EnumPolicy",
    "JoinedPages",
    "ObjectLayout",
    "PageBuffer",
    "TypeRef",
    "concat_bounds",
    "decode_arrays",
    "decode_entries",
    "decode_rows",
    "encode_objects",
    "encoded",
    "entry_bounds",
    "entry_cuts",
    "kept_rows",
    "raw_entries",
    "type_ids_within",
    "with_nulls",
]  # fmt: skip
