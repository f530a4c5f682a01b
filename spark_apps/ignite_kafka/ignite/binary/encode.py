"""Encoding of Arrow columns in Ignite's binary format, with the same bytes as Java's clients.

The inverse of decode.py.

Every column becomes columns of bytes (byte_columns.py), and an object joins those of its fields. So no value becomes a
Python object, except decimals written as text. Layout:
https://ignite.apache.org/docs/latest/binary-client-protocol/data-format; `BinaryWriterExImpl`,
`BinaryBuilderSerializer`, `BinaryWriterSchemaHolder` and `BinaryArrayIdentityResolver` of Ignite 2.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.exact_decimals import exact_cast
from ...common.time_zones import UTC
from ...errors import EncodeError, UnsupportedType
from ..types import type_codes as codes
from .byte_columns import ByteColumns, fixed_rows, join_columns, lengths_of, or_null, structured, valid_of
from .encode_containers import container
from .encode_headers import offset_widths, whole_objects
from .encode_scalars import scalar_encoder, sql_dates
from .encode_sparse import Schemas, SparseEncoder
from .object_layout import ObjectLayout, is_optional


def encoded(
    array: pa.Array, field: pa.Field, *, compact: bool = True, date_zone: str = UTC, schemas: Schemas | None = None
) -> pa.BinaryArray:
    """Encode each value of an array in Ignite's binary format; a null becomes Ignite's null.

    The result has no Arrow null.

    :param array: of the field's type, or of one that Arrow casts to it without loss (a dictionary of strings).
    :param field: its type and marks give the Ignite type, see ignite/types/type_table.py.
    :param compact: whether objects have compact footers, see :class:`ObjectLayout`.
    :param date_zone: time zone at whose midnight a java.sql.Date is made.
    :param schemas: decides which schemas objects with optional fields may have (object_layout.py); None: any.
    :raises EncodeError: a value that the Ignite type cannot hold; names field and row.
    :raises UnsupportedType: no Ignite type is written for the field.
    """
    return join_columns(_pieces(array, field, compact, date_zone, schemas))


def encode_objects(
    layout: ObjectLayout, columns: Sequence[pa.Array], date_zone: str = UTC, schemas: Schemas | None = None
) -> pa.BinaryArray:
    """Encode a binary object for each row, with all fields of the layout.

    Each has a header with Java's hash code, the fields, and a footer.

    The bytes are those of Java's BinaryObjectBuilder with the fields set in the order of the layout.

    :param columns: one column a field, all of one length. :raises EncodeError, UnsupportedType: as :func:`encoded`.
    """
    if not layout.fields:
        raise UnsupportedType(
            f"Binary type {layout.type_name} has no fields", "Give it one", value_type=layout.type_name
        )
    fields = [
        _pieces(array, field, layout.compact, date_zone, schemas)
        for array, field in zip(columns, layout.fields, strict=True)
    ]
    body = join_columns([piece for pieces in fields for piece in pieces])
    lengths = np.stack([lengths_of(pieces) for pieces in fields])
    starts = codes.HEADER + np.cumsum(lengths, axis=0) - lengths
    widths, footer = _footers(layout, starts)
    return whole_objects(layout, body, widths, footer, layout.schema_id)


def _footers(layout: ObjectLayout, starts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], pa.BinaryArray]:
    """Encode the footers of objects that have all fields of the layout; also return their offset widths.

    :param starts: position of each field in its object, fields x rows.
    """
    widths = offset_widths(starts[-1])
    forms = {
        width: _footer(layout, starts, width)
        for width in (1, 2, 4)
        if (widths == width).any() or (width == 1 and not widths.size)
    }
    if len(forms) == 1:
        return widths, next(iter(forms.values()))
    return widths, pc.choose(pa.array(np.searchsorted(list(forms), widths)), *forms.values())


def _footer(layout: ObjectLayout, starts: npt.NDArray[np.int64], width: int) -> pa.BinaryArray:
    parts: dict[str, Any] = {}
    for number, field_id in enumerate(layout.field_ids):
        if not layout.compact:
            parts[f"id{number}"] = ("<i4", field_id)
        parts[f"offset{number}"] = (f"<u{width}", starts[number].astype(f"<u{width}"))
    return fixed_rows(structured(starts.shape[1], **parts))


def _pieces(array: pa.Array, field: pa.Field, compact: bool, date_zone: str, schemas: Schemas | None) -> ByteColumns:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.type != field.type:
        try:
            array = exact_cast(array, field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            what = f"A column of {array.type} is no {field.type} in field {field.name}: {error}"
            raise EncodeError(what, "Nothing was guessed", field=field.name) from error
    if pa.types.is_struct(field.type):
        layout = ObjectLayout.of(field, compact=compact)
        columns = [array.field(number) for number in range(array.type.num_fields)]
        valid = valid_of(array)
        dense = partial(encode_objects, date_zone=date_zone, schemas=schemas)
        if not any(map(is_optional, layout.fields)):
            if schemas is not None and array.null_count < len(array):
                schemas.use(layout.type_name, layout.field_ids)
            return [or_null(dense(layout, columns), valid)]
        encode = partial(_pieces, compact=compact, date_zone=date_zone, schemas=schemas)
        return [or_null(SparseEncoder(encode, dense, schemas).objects(layout, columns, valid), valid)]
    if pa.types.is_list(field.type) or pa.types.is_map(field.type):
        return container(array, field, partial(_pieces, compact=compact, date_zone=date_zone, schemas=schemas))
    if field.type == pa.date32():
        return sql_dates(array, date_zone)
    return scalar_encoder(field)(array, field)
