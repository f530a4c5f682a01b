"""Layout of Arrow arrays, also of slices and nulls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.common.arrow_layout import list_sizes, list_starts, null_mask, union_layout

LISTS = [[9], [1, 2], None, [], [3]]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_lists_are_rebuilt_from_their_starts(first: int) -> None:
    lists = pa.array(LISTS, pa.list_(pa.int8())).slice(first)
    assert list_sizes(lists).tolist() == [len(one or ()) for one in LISTS[first:]]
    starts = list_starts(lists)
    assert starts.type == pa.int32()
    again = pa.ListArray.from_arrays(starts, lists.flatten(), mask=null_mask(lists))
    assert again.to_pylist() == LISTS[first:]


def test_no_lists() -> None:
    assert list_starts(pa.array([], pa.list_(pa.int8()))).to_pylist() == [0]
    assert null_mask(pa.array([1])) is None


def test_rows_of_a_slice_of_a_union() -> None:
    kinds, offsets = pa.array([0, 1, 1, 0], pa.int8()), pa.array([0, 0, 1, 1], pa.int32())
    union = pa.UnionArray.from_dense(kinds, offsets, [pa.array([10, 11]), pa.array(["a", "b"])]).slice(1)
    found_kinds, found_offsets = union_layout(union)
    assert (found_kinds.tolist(), found_offsets.tolist()) == ([1, 1, 0], [0, 1, 1])
    assert [union.field(int(kind))[int(at)].as_py() for kind, at in zip(found_kinds, found_offsets, strict=True)] == ["a", "b", 11]
    assert found_kinds.dtype == np.int8
