"""Unscaled bytes as java.math.BigInteger.toByteArray gives them."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ignite_kafka.convert.rules.connect_decimals import unscaled_bytes

JAVA = {
    0: "00", 1: "01", -1: "ff", 127: "7f", 128: "0080", -128: "80", -129: "ff7f", 255: "00ff", 256: "0100", -256: "ff00",
}  # fmt: skip


@pytest.mark.parametrize(("unscaled", "written"), JAVA.items())
@pytest.mark.parametrize("kind", [pa.decimal128(38, 2), pa.decimal256(76, 2), pa.string()])
def test_known_forms(unscaled: int, written: str, kind: pa.DataType) -> None:
    value = Decimal(unscaled).scaleb(-2)
    array = pa.array([str(value) if kind == pa.string() else value], kind)
    assert unscaled_bytes(array).to_pylist() == [bytes.fromhex(written)]


@given(st.lists(st.none() | st.integers(-(10**38) + 1, 10**38 - 1), max_size=20), st.integers(0, 5))
@example([10**38 - 1, -(10**38) + 1, None, 2**63, -(2**63), 2**64, 2**127 % 10**38], 1)
def test_decimal128_reads_back(unscaled: list[int | None], first: int) -> None:
    array = pa.array([None if value is None else Decimal(value) for value in unscaled], pa.decimal128(38, 0))[first:]
    made = unscaled_bytes(array).to_pylist()
    assert [None if data is None else int.from_bytes(data, "big", signed=True) for data in made] == unscaled[first:]
    for data in made:
        assert data is None or len(data) == 1 or (data[0], data[1] >> 7) not in ((0, 0), (255, 1)), "a redundant byte"
