"""Detection of how Ignite marshalled keys (:mod:`~ignite_kafka.ignite.types.key_kind`), from their bytes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...common.record_limits import MAX_DEPTH
from ..types import type_codes as codes
from ..types.key_kind import OBJECT_KIND, KeyKind
from .decode_columns import ColumnDecoder
from .java_classes import TREE_MAP, TREE_SET, metadata
from .object_headers import Headers, read_headers
from .page_buffer import Positions

_WIDTHS = codes.FLAG_OFFSET_1 | codes.FLAG_OFFSET_2
_DAY_MS = 86_400_000
_MOST = 64  # kinds of one batch; a key class with more is not turned back


def key_kinds(decoder: ColumnDecoder, at: Positions, end: Positions) -> tuple[frozenset[KeyKind], tuple[int, ...]]:
    """Determine the kinds of the keys at `at`, and the first row of each kind as an example.

    :param at: N positions of keys that are not wrapped, none null. :param end: where each key ends.
    """
    kinds = _Kinds(decoder)
    kinds.add_values((), at, end, np.arange(at.size), 0)
    if len(kinds.first_rows) > _MOST:
        return frozenset({OBJECT_KIND}), (0,)
    return frozenset(kinds.first_rows), tuple(sorted(set(kinds.first_rows.values())))


class _Kinds:
    """Collects kinds of keys recursively; `first_rows` has the first row of each kind."""

    def __init__(self, decoder: ColumnDecoder) -> None:
        self._decoder = decoder
        self._wire = decoder.wire
        self.first_rows: dict[KeyKind, int] = {}

    def add_values(self, prefix: KeyKind, at: Positions, end: Positions, rows: Positions, depth: int) -> None:
        """Add the kinds of values at `at`, appended to the outer object's kind `prefix`.

        :param rows: row of the key that each value is in.
        """
        code = self._wire.data[at]
        for type_code in np.unique(code).tolist():
            part = code == type_code
            self._add_code(prefix, type_code, at[part], end[part], rows[part], depth)

    def _add_code(self, prefix: KeyKind, code: int, at: Positions, end: Positions, rows: Positions, depth: int) -> None:
        wire = self._wire
        if code == codes.NULL:
            return
        if code == codes.OBJECT:
            self._add_objects(prefix, at, end, rows, depth)
        elif code in (codes.DECIMAL, codes.ENUM, codes.BINARY_ENUM):  # int32 scale or type id
            self._add_each((*prefix, code), wire.ints(at + 1), rows)
        elif code == codes.TIMESTAMP:
            self._add_each((*prefix, code), (wire.ints(at + 9) != 0).astype(np.int64), rows)
        elif code == codes.TIME:
            millis = wire.at(at + 1, "<i8")
            self._add_each((*prefix, code), ((millis < 0) | (millis > _DAY_MS)).astype(np.int64), rows)
        else:
            self._add((*prefix, code), rows)

    def _add(self, kind: Iterable[int], rows: Positions) -> None:
        self.first_rows.setdefault(tuple(kind), int(rows[0]))

    def _add_each(self, prefix: KeyKind, numbers: Positions, rows: Positions) -> None:
        distinct, first = np.unique(numbers, return_index=True)
        for number, row in zip(distinct.tolist()[: _MOST + 1], first.tolist(), strict=False):
            self._add((*prefix, number), rows[row:])

    def _add_objects(self, prefix: KeyKind, at: Positions, end: Positions, rows: Positions, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._add((*prefix, *OBJECT_KIND), rows)
            return
        headers = read_headers(self._wire, at, end)
        for type_id in np.unique(headers.type_id).tolist():
            of_type = np.flatnonzero(headers.type_id == type_id)
            layout = headers.schema_id[of_type].astype(np.int64) << 16 | (
                headers.flags[of_type] & np.uint16(0xFFFF - _WIDTHS)
            )
            for layout_id in np.unique(layout):
                part = of_type[layout == layout_id]
                self._add_layout(prefix, type_id, headers.of(part), rows[part], depth)

    def _add_layout(self, prefix: KeyKind, type_id: int, headers: Headers, rows: Positions, depth: int) -> None:
        """Add the kind of objects with one type, one schema and equal flags, and the kinds of their fields."""
        flags = int(headers.flags[0]) & ~_WIDTHS
        kind = (codes.OBJECT, type_id, int(headers.schema_id[0]), flags)
        if type_id in (TREE_MAP, TREE_SET) or flags & codes.FLAG_HAS_RAW:
            self._add((*prefix, *OBJECT_KIND), rows)
            return
        self._add((*prefix, *kind), rows)
        if all(field.type_code in codes.EXACT for field in metadata(self._wire.types, type_id).fields):
            return
        binary, places = self._decoder.places(type_id, headers)
        for index, field_id in enumerate(places.schemas[0]):
            place, field = next(
                (place, field)
                for place, field in zip(places.at, binary.fields, strict=True)
                if field.field_id == field_id
            )
            if field.type_code not in codes.EXACT:
                self.add_values((*kind, index), place, headers.footer, rows, depth + 1)
