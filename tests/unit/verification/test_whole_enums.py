"""Both forms of a whole value that nodes write again are one; other bytes stay."""

from __future__ import annotations

import struct

import pyarrow as pa

from ignite_kafka.verification.whole_enums import unify_codes

GIVEN_BACK, WRITTEN = bytes([38, 1, 2, 3, 4, 7, 0, 0, 0]), bytes([28, 1, 2, 3, 4, 7, 0, 0, 0])


def test_the_code_of_whole_enums_is_the_one_that_is_written() -> None:
    others = [bytes([103, 38]), bytes([9, 1, 0, 0, 0, 38]), b"", None]
    data = pa.array([GIVEN_BACK, WRITTEN, *others], pa.binary())
    assert unify_codes(data).to_pylist() == [WRITTEN, WRITTEN, *others]
    assert unify_codes(data.slice(1)).to_pylist() == [WRITTEN, *others]


def test_elements_are_as_they_are_written_and_arrays_are_of_objects() -> None:
    """A node makes Object[] of arrays of enums and objects; type id 0 is followed by the name of the class."""
    two = struct.pack("<i", 2)
    objects = bytes([23]) + struct.pack("<i", -1) + two
    for head in (bytes([29, 1, 2, 3, 4]), bytes([23, 1, 2, 3, 4]), bytes([29, 0, 0, 0, 0, 9, 1, 0, 0, 0, 65])):
        assert unify_codes(pa.array([head + two + GIVEN_BACK + WRITTEN], pa.binary())).to_pylist() == [objects + WRITTEN * 2]
    for head in (bytes([24]) + two + b"\1", bytes([25, 1, 0, 0, 0, 1]), objects):
        inner = bytes([24]) + two + b"\1"
        given = [head + GIVEN_BACK + inner + GIVEN_BACK + bytes([101]), None, GIVEN_BACK, bytes([101])]
        wanted = [head + WRITTEN + inner + WRITTEN + bytes([101]), None, WRITTEN, bytes([101])]
        assert unify_codes(pa.array(given, pa.binary())).to_pylist() == wanted


def test_without_enums_nothing_is_copied() -> None:
    data = pa.array([WRITTEN, None], pa.binary())
    assert unify_codes(data) is data
