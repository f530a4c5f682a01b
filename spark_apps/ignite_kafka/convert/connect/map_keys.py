"""Removal of repeated keys in maps, as by java.util.LinkedHashMap: the last value, at the first key's position.

Keys are compared as Java's ``equals`` does, so NaN equals NaN, and 0.0 differs from -0.0; binary keys by their bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Int64Array


def unique_entries(
    offsets: npt.NDArray[np.int32], keys: pa.Array, values: pa.Array
) -> tuple[npt.NDArray[np.int32], pa.Array, pa.Array]:
    """Return the entries of maps without repeated keys: each key with its last value.

    :param offsets: position of each map's first key, from 0, and the number of keys at the end.
    :param keys: keys of all maps, not null. :param values: the value of each key.
    """
    count = len(keys)
    if count == 0 or np.diff(offsets).max() < 2:
        return offsets, keys, values
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    places = owners * count + _codes(keys)
    if pc.count_distinct(pa.array(places)).as_py() == count:
        return offsets, keys, values
    _, first, group = np.unique(places, return_index=True, return_inverse=True)
    last = np.zeros(first.size, np.int64)
    np.maximum.at(last, group, np.arange(count))
    order = np.argsort(first)
    first = first[order]
    last = last[order]
    new_offsets = np.zeros(offsets.size, np.int32)
    np.cumsum(np.bincount(owners[first], minlength=offsets.size - 1), out=new_offsets[1:])
    return new_offsets, keys.take(pa.array(first)), values.take(pa.array(last))


def _codes(array: pa.Array) -> Int64Array:
    """Return an integer for each value, so that equal values have equal integers."""
    kind = array.type
    if pa.types.is_struct(kind):
        rows = [_codes(array.field(number)) for number in range(kind.num_fields)]
        return _number_tuples(np.asarray(array.is_valid()).astype(np.int64), *rows)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return _codes_of_lists(array)
    if pa.types.is_floating(kind):
        bits = np.asarray(array.fill_null(0)).copy()
        bits[np.isnan(bits)] = np.nan
        array = pc.if_else(array.is_valid(), pa.array(bits.view(f"i{bits.itemsize}")), None)
    return np.asarray(array.dictionary_encode("encode").indices).astype(np.int64)


def _codes_of_lists(array: pa.Array) -> Int64Array:
    """Return an integer for each list or map, equal for equal ones; the order of a map's entries does not matter."""
    is_map = pa.types.is_map(array.type)
    inner = _number_tuples(_codes(array.keys), _codes(array.items)) if is_map else _codes(array.values)
    offsets = np.asarray(array.offsets)
    code_of: dict[object, int] = {}
    codes = np.zeros(len(array), np.int64)
    for row, valid in enumerate(array.is_valid().to_pylist()):
        items = inner[offsets[row] : offsets[row + 1]].tolist()
        content = None if not valid else tuple(sorted(items) if is_map else items)
        codes[row] = code_of.setdefault(content, len(code_of))
    return codes


def _number_tuples(*columns: Int64Array) -> Int64Array:
    numbers: Int64Array = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    return numbers
