"""Encoding of objects with optional fields: an object lacks the fields that are null in its row.

See encode.py.

The cost is that of the values, not that of rows times fields: each column is encoded for the rows that have it, and one
`take` puts the values of each row next to one another. So it does not matter how many different sets of fields there
are (docs/decisions/0040-fields-of-a-row.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...common.arrays import Int64Array, Mask
from ..types import type_codes as codes
from .byte_columns import ByteColumns, join_columns, offsets_of, sliced
from .encode_headers import footers, offset_widths, whole_objects
from .object_layout import ObjectLayout, is_optional, schema_id_of

Schema = tuple[int, ...]
"""The ids of an object's fields in the order written."""
Encode = Callable[[pa.Array, pa.Field], ByteColumns]
Dense = Callable[[ObjectLayout, Sequence[pa.Array]], pa.BinaryArray]
_NO_BYTES = pa.array([], pa.binary())
_NO_ROWS = np.zeros(0, np.int64)


class Schemas(Protocol):
    """Interface that limits how many schemas a type gets, because the cluster keeps every schema for ever."""

    def accepted(self, type_name: str, schemas: Sequence[Schema]) -> Sequence[bool]:
        """Decide for each schema whether objects may have it, and register those accepted."""

    def use(self, type_name: str, schema: Schema) -> None:
        """Register a schema without regard to the limit."""

    def whole(self, type_name: str) -> tuple[pa.Field, ...]:
        """Return all fields of the type, for objects whose own schema is not accepted."""


@dataclass(frozen=True)
class SparseEncoder:
    """Encodes objects of layouts with optional fields.

    :param encode: encodes any column to the pieces of its values.
    :param dense: encodes objects that have all fields of a layout.
    :param schemas: None: each schema is accepted.
    """

    encode: Encode
    dense: Dense
    schemas: Schemas | None

    def objects(
        self, layout: ObjectLayout, columns: Sequence[pa.Array], valid: pa.BooleanArray | None
    ) -> pa.BinaryArray:
        """Encode a binary object for each row, without the optional fields that are null.

        :param columns: a column for each field.
        :param valid: mask of the rows that are not null; None: all. The contents of the other rows mean nothing.
        """
        count = len(columns[0])
        is_valid = np.ones(count, bool) if valid is None else np.asarray(valid)
        has = [_has(column, field, is_valid) for column, field in zip(columns, layout.fields, strict=True)]
        kept = [number for number, mask in enumerate(has) if mask is not None]
        matrix = (
            np.stack([candidate for candidate in has if candidate is not None]) if kept else np.zeros((0, count), bool)
        )
        sets, set_of = _sets(matrix)
        part = replace(layout, fields=tuple(layout.fields[number] for number in kept))
        ids = [tuple(part.field_ids[place] for place in np.flatnonzero(candidate)) for candidate in sets.T]
        chosen = [columns[number] for number in kept]
        refused = self._refused_rows(layout.type_name, ids, set_of, is_valid)
        if not refused.any():
            return self._exact_objects(part, chosen, matrix, ids, set_of)
        rows, others = (pa.array(np.flatnonzero(mask)) for mask in (~refused, refused))
        exact = self._exact_objects(
            part, [candidate.take(rows) for candidate in chosen], matrix[:, ~refused], ids, set_of[~refused]
        )
        whole = self._whole_objects(part, [candidate.take(others) for candidate in chosen])
        back = np.argsort(np.concatenate([np.asarray(rows), np.asarray(others)]))
        return pa.concat_arrays([exact, whole]).take(pa.array(back))

    def _refused_rows(self, type_name: str, ids: Sequence[Schema], set_of: Int64Array, is_valid: Mask) -> Mask:
        """Flag rows with a schema that is not accepted; their objects get all fields."""
        used = np.unique(set_of[is_valid]).tolist()
        accepted = np.ones(len(ids), bool)
        if self.schemas is not None and used:
            accepted[used] = self.schemas.accepted(type_name, [ids[number] for number in used])
        return ~accepted[set_of] & is_valid

    def _whole_objects(self, layout: ObjectLayout, columns: Sequence[pa.Array]) -> pa.BinaryArray:
        """Encode objects with all fields of their type, because their own schema is not accepted."""
        assert self.schemas is not None
        present = dict(zip(layout.field_ids, zip(layout.fields, columns, strict=True), strict=True))
        nothing = pa.nulls(len(columns[0]))
        every = replace(layout, fields=self.schemas.whole(layout.type_name))
        self.schemas.use(layout.type_name, every.field_ids)
        complete = [
            present.get(id, (pa.field(field.name, pa.null()), nothing))
            for id, field in zip(every.field_ids, every.fields, strict=True)
        ]
        return self.dense(
            replace(layout, fields=tuple(field for field, _ in complete)), [column for _, column in complete]
        )

    def _exact_objects(
        self,
        layout: ObjectLayout,
        columns: Sequence[pa.Array],
        matrix: npt.NDArray[np.bool_],
        ids: Sequence[Schema],
        set_of: Int64Array,
    ) -> pa.BinaryArray:
        """Encode an object for each row, with exactly the fields that have a value there.

        :param matrix: fields x rows, True where the object of a row has the field.
        :param ids: the distinct schemas. :param set_of: for each row the index of its schema.
        """
        if len(ids) == 1 and layout.field_ids == ids[0] and ids[0]:
            return self.dense(layout, columns)
        pieces = self._values(layout, columns, matrix)
        count = matrix.shape[1]
        row_of = np.concatenate([_NO_ROWS, *(np.flatnonzero(mask) for mask in matrix)])
        by_row = np.argsort(row_of, kind="stable")
        flat = pa.concat_arrays([_NO_BYTES, *pieces]).take(pa.array(by_row))
        bounds = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(row_of, minlength=count), out=bounds[1:])
        offsets = offsets_of(flat).astype(np.int64)
        data = flat.buffers()[2]
        starts = codes.HEADER + offsets[:-1] - np.repeat(offsets[bounds[:-1]], np.diff(bounds))
        some = np.diff(bounds) > 0
        last = np.zeros(count, np.int64)
        last[some] = starts[bounds[1:][some] - 1]
        widths = offset_widths(last)
        field_of = np.repeat(np.array(layout.field_ids, np.int32), [len(piece) for piece in pieces])[by_row]
        bodies = sliced(offsets[bounds], b"" if data is None else data)
        return whole_objects(
            layout, bodies, widths, footers(layout, starts, field_of, bounds, widths), _schema_ids(ids, set_of)
        )

    def _values(
        self, layout: ObjectLayout, columns: Sequence[pa.Array], matrix: npt.NDArray[np.bool_]
    ) -> list[pa.BinaryArray]:
        """Encode each field's values, only for the rows that have the field."""
        return [
            join_columns(self.encode(column if mask.all() else column.filter(pa.array(mask)), field))
            for field, column, mask in zip(layout.fields, columns, matrix, strict=True)
        ]


def _schema_ids(ids: Sequence[Schema], set_of: Int64Array) -> Int64Array:
    """Compute the schema id of each row's object."""
    schema_ids = np.zeros(len(ids), np.int64)
    for number in np.unique(set_of).tolist():
        schema_ids[number] = schema_id_of(ids[number])
    return schema_ids[set_of]


def _has(column: pa.Array, field: pa.Field, is_valid: Mask) -> Mask | None:
    """Flag the rows whose objects have a field; None if no row has it."""
    if not is_optional(field):
        return is_valid
    if column.null_count == len(column):
        return None
    return is_valid & np.asarray(column.is_valid()) if column.null_count else is_valid


def _sets(matrix: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], Int64Array]:
    """Find the distinct sets of fields (columns of the matrix), and which set each row has."""
    if not len(matrix) or not matrix.shape[1] or (matrix == matrix[:, :1]).all():
        return matrix[:, :1], np.zeros(matrix.shape[1], np.int64)
    packed = np.ascontiguousarray(np.packbits(matrix, axis=0).T)
    _, first, place = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    return matrix[:, first[order]], rank[place.ravel()]
