"""Records: contiguous binary arrays without an offset, whatever the parts were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.errors import RecordTooLarge
from ignite_kafka.kafka import records
from ignite_kafka.kafka.records import Records, gather, largest_record, no_records


def raw(array: pa.Array) -> list[bytes | None]:
    """Values read the way that C does: base address plus offsets, null where the bitmap says so."""
    valid, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(array) + 1)
    whole = data.to_pybytes() if data is not None else b""
    null = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[: len(array)] == 0 if valid else np.zeros(len(array), bool)
    return [None if null[i] else whole[bounds[i] : bounds[i + 1]] for i in range(len(array))]


@given(st.lists(st.tuples(st.lists(st.none() | st.binary(max_size=9), max_size=20), st.integers(0, 20), st.integers(0, 20)), max_size=4))
def test_gathered_parts_can_be_read_by_address(parts: list[tuple[list[bytes | None], int, int]]) -> None:
    slices = [(values[first:][:count], pa.array(values, pa.binary())[first:][:count]) for values, first, count in parts]
    whole = gather([array for _, array in slices])
    wanted = [value for values, _ in slices for value in values]
    assert whole.offset == 0
    assert whole.to_pylist() == wanted
    assert raw(whole) == wanted


def test_strings_become_bytes() -> None:
    assert gather([pa.array(["é", None]), pa.array(["a"], pa.large_string())]).to_pylist() == ["é".encode(), None, b"a"]


def test_bytes_of_all_keys_and_values() -> None:
    made = Records(gather([pa.array([b"1", b"22", b"333"])[1:]]), gather([pa.array([b"x", None], pa.binary())]))
    assert (len(made), made.nbytes) == (2, 6)
    assert (len(no_records()), no_records().nbytes) == (0, 0)


def test_the_largest_record_is_found() -> None:
    made = Records(pa.array([b"1", b"22", b"333"]), pa.array([b"xxxx", b"xxxx", None], pa.binary()))
    assert largest_record(made) == (1, 6)
    assert largest_record(no_records()) == (0, 0)


def test_unequal_or_sliced_arrays_are_refused() -> None:
    three = pa.array([b"1", b"2", b"3"])
    with pytest.raises(ValueError, match="3 keys and 2 values"):
        Records(three, three[:2])
    with pytest.raises(ValueError, match="offset 1"):
        Records(three[1:], three[1:])
    with pytest.raises(ValueError, match="string"):
        Records(three, three.cast(pa.string()))


def test_more_than_offsets_reach_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", 100)
    with pytest.raises(RecordTooLarge, match="page_bytes"):
        gather([pa.array([b"x" * 101])])
