"""Batches of random columns for conditions, and the results of conditions in Spark."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import strategies as st

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.errors import UnsupportedType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 12
SCHEMA = pa.schema(
    [
        ("b", pa.int8()), ("i", pa.int32()), ("l", pa.int64()), ("f", pa.float32()), ("d", pa.float64()), ("s", pa.string()),
        ("t", pa.bool_()), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("n", pa.decimal128(38, 2)),
        ("o", pa.struct([("x", pa.int32()), ("y z", pa.string())])),
    ]
)  # fmt: skip

BYTES = st.sampled_from([-128, -1, 0, 1, 5, 127])
INTS = st.sampled_from([-(2**31), -1, 0, 1, 5, 16_777_217, 2**31 - 1])
LONGS = st.sampled_from([-(2**63), -1, 0, 1, 5, 2**53 + 1, 9_007_199_254_740_993, 2**63 - 1])
FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 1.5, 16_777_216.0, float("nan"), float("inf"), float("-inf")]), st.floats(width=32))
DOUBLES = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 1.5, 0.1, 2.0**53, float("nan"), float("inf"), float("-inf"), 5e-324]), st.floats())
TEXTS = st.one_of(
    st.sampled_from(
        ["", "a", "A", "ab", "a_b", "a%b", "a\\b", "it's", "ä", "a\u0308", "\U0001f600", "\U0001f600a", "\uffff", "a\nb", "\0"]
    ),
    st.text(st.sampled_from("ab%_\\.*'ß\U0001f600\n"), max_size=4),
)
DATES = st.sampled_from([date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)])
TIMES = st.sampled_from(
    [
        datetime(1, 1, 1, tzinfo=UTC), datetime(1582, 10, 10, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2024, 3, 31, 1, 30, tzinfo=UTC), datetime(2024, 3, 31, 1, 30, 0, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC),
    ]
)  # fmt: skip
DECIMALS = st.one_of(
    st.sampled_from([Decimal("0.00"), Decimal("1.50"), Decimal("-1.50"), Decimal(5), Decimal("9" * 36 + ".99"), Decimal("1e17")]),
    st.decimals(min_value=-100, max_value=100, places=2),
)
VALUES = {
    "b": BYTES, "i": INTS, "l": LONGS, "f": FLOATS, "d": DOUBLES, "s": TEXTS, "t": st.booleans(), "day": DATES, "at": TIMES, "n": DECIMALS,
    "o": st.fixed_dictionaries({"x": st.none() | INTS, "y z": st.none() | TEXTS}),
}  # fmt: skip


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    """Batches of :data:`SCHEMA` with :data:`ROWS` rows."""
    columns = {name: draw(st.lists(st.none() | VALUES[name], min_size=ROWS, max_size=ROWS)) for name in SCHEMA.names}
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def quoted(text: str) -> str:
    """A text as a Spark SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def absent(name: str) -> None:
    """Refuse a missing column."""
    raise UnsupportedType(f"no column {name}")


def sparks(spark: SparkSession, texts: list[str], batch: pa.RecordBatch) -> list[list[bool | None]]:
    """The results of each condition, row by row."""
    rows = (
        spark.createDataFrame(pa.Table.from_batches([batch]))
        .coalesce(1)
        .selectExpr(*(f"({text}) AS c{at}" for at, text in enumerate(texts)))
        .collect()
    )
    return [list(column) for column in zip(*rows, strict=True)]
