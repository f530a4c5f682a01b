"""Conversion of a DataFrame's columns to the Arrow types of the Ignite fields to be written.

Fields of objects are matched by name and brought into order; numbers are widened.
"""

from __future__ import annotations

import pyarrow as pa

from ..common.arrow_layout import list_starts, null_mask
from ..common.exact_decimals import exact_cast
from ..errors import EncodeError


def conform(array: pa.Array, field: pa.Field) -> pa.Array:
    """Convert a column to the Arrow type of its Ignite field, without changing a value.

    :raises EncodeError: the type cannot hold a value, such as an instant with microseconds in a java.util.Date.
    """
    kind = field.type
    mask = null_mask(array)
    if pa.types.is_struct(kind):
        inner = {
            inner_field.name.lower(): column for inner_field, column in zip(array.type, array.flatten(), strict=True)
        }
        columns = [conform(inner[inner_field.name.lower()], inner_field) for inner_field in kind]
        return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(
            list_starts(array), conform(array.flatten(), kind.value_field), type=kind, mask=mask
        )
    if pa.types.is_map(kind):
        lists = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
        keys, items = lists.flatten().flatten()
        return pa.MapArray.from_arrays(
            list_starts(lists), conform(keys, kind.key_field), conform(items, kind.item_field), kind, mask=mask
        )
    try:
        return exact_cast(array, kind)
    except pa.ArrowInvalid as error:
        raise EncodeError(f"{error} in field {field.name}", "Nothing was rounded", field=field.name) from error
