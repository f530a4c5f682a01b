"""Numpy types of Arrow types, also where pandas is absent."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ignite_kafka.common.arrays import numpy_type

NUMBERS = [pa.bool_(), *(getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64))]


@pytest.mark.parametrize("kind", [*NUMBERS, pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_the_type_is_that_of_pyarrow_s_own_arrays(kind: pa.DataType) -> None:
    assert pa.array([0], pa.int8()).cast(kind).to_numpy(zero_copy_only=False).dtype == numpy_type(kind)


@pytest.mark.parametrize("kind", [pa.decimal128(5, 2), pa.list_(pa.int8())], ids=str)
def test_another_type_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(KeyError):
        numpy_type(kind)
