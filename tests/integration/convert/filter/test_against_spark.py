"""Conditions give the same results as Spark's own engine on the same rows, and what Spark reads otherwise is refused."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.convert.filter.columns import ColumnLookup
from ignite_kafka.convert.filter.evaluate import evaluate
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.sql import parse_condition
from ignite_kafka.sql.tokens import Refused
from tests.support.randomness import examples
from tests.support.spark_conditions import DATES, ROWS, SCHEMA, TEXTS, absent, batches, quoted, sparks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTEGERS = st.sampled_from(["-128", "-1", "0", "1", "+5", "127", "9007199254740993L", "2147483648", "-9223372036854775807", "16777217"])
FRACTIONS = st.sampled_from(["1.5", "-1.5", "0.1", "5.", ".5", "5.00BD", "1BD", "-0.01", "99999999999999999.99"])
EXACT = st.sampled_from(["1e0", "1.5D", "-0.0D", "0.1e0", "9007199254740993D", "1e300", "16777217D", "5e-324"])
STRINGS = TEXTS.map(quoted)
DAYS = DATES.map(lambda day: f"DATE '{day:%Y-%m-%d}'".replace("DATE '1-", "DATE '0001-"))
MOMENTS = st.sampled_from(
    ["TIMESTAMP '2024-03-31 01:30:00Z'", "timestamp '2024-03-31T03:30:00.000001+02:00'", "TIMESTAMP '1582-10-10 00:00:00 UTC'",
     "TIMESTAMP '0001-01-01 00:00:00Z'", "TIMESTAMP '1969-12-31 23:59:59.999999Z'"]
)  # fmt: skip
OPERANDS = {
    "number": (st.sampled_from(["b", "I", "`l`", "f", "d", "n", "o.x", "O.`x`"]), INTEGERS | FRACTIONS | EXACT),
    "text": (st.sampled_from(["s", "o.`y z`"]), STRINGS),
    "boolean": (st.just("t"), st.sampled_from(["TRUE", "false"])),
    "day": (st.just("day"), DAYS),
    "time": (st.just("`at`"), MOMENTS),
}
OPERATORS = st.sampled_from(["=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"])
PATTERNS = st.text(st.sampled_from("ab%_\\.'ß\U0001f600\n"), max_size=4)


@st.composite
def predicates(draw: st.DrawFn) -> str:
    column, literal = OPERANDS[draw(st.sampled_from(sorted(OPERANDS)))]
    operand = column | literal | st.just("NULL") if draw(st.booleans()) else column | literal
    one = draw(column)
    opposite = draw(st.sampled_from(["", "NOT "]))
    form = draw(st.integers(0, 6))
    if form <= 2:
        return f"{draw(operand)} {draw(OPERATORS)} {draw(operand)}" if form else f"{one} {draw(OPERATORS)} {draw(operand)}"
    if form == 3:
        return f"{one} IS {opposite}NULL"
    if form == 4:
        return f"{one} {opposite}BETWEEN {draw(operand)} AND {draw(operand)}"
    if form == 5:
        items = draw(st.lists(literal | st.just("NULL"), min_size=1, max_size=4))
        return f"{one} {opposite}IN ({', '.join(items)})"
    escape = draw(st.sampled_from(["", " ESCAPE '/'", " escape 'a'"]))
    return f"{draw(OPERANDS['text'][0])} {opposite}LIKE {quoted(draw(PATTERNS))}{escape}"


CONDITIONS = st.recursive(
    predicates() | st.sampled_from(["t", "TRUE", "NULL", "(t)", "s LIKE '%\\_%'", "s = 'it''s'", "s LIKE '\\\\\\\\%'"]),
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner), st.builds("{} or {}".format, inner, inner), st.builds("not {}".format, inner),
        st.builds("({}) = ({})".format, inner, inner), st.builds("({}) IS NULL".format, inner), st.builds("{} AND {}".format, inner, inner),
    ),
    max_leaves=5,
)  # fmt: skip


def ours(text: str, batch: pa.RecordBatch) -> list[bool | None] | None:
    """The results of a condition; None if it is refused."""
    columns = {name: (batch.column(name), batch.schema.field(name)) for name in batch.schema.names}
    try:
        found = evaluate(parse_condition(text), ColumnLookup(columns, len(batch), absent), len(batch)).values
    except (Refused, UnsupportedType):
        return None
    assert len(found) == len(batch)
    return list(found.to_pylist())


ACCEPTED = {"tried": 0, "accepted": 0}


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck), print_blob=False)
@given(batch=batches(), texts=st.lists(CONDITIONS, min_size=12, max_size=12))
def test_conditions_give_sparks_results(spark: SparkSession, batch: pa.RecordBatch, texts: list[str]) -> None:
    found = {text: result for text in dict.fromkeys(texts) if (result := ours(text, batch)) is not None}
    ACCEPTED["tried"] += len(set(texts))
    ACCEPTED["accepted"] += len(found)
    if not found:
        return
    for (text, mine), theirs in zip(found.items(), sparks(spark, list(found), batch), strict=True):
        assert mine == theirs, f"{text}: {[batch.slice(at, 1).to_pylist() for at in range(ROWS) if mine[at] != theirs[at]]}"


def test_no_setting_of_a_session_decides(spark: SparkSession) -> None:
    """Those of a user's session may be others than the defaults."""
    columns = {
        "at": [datetime(2024, 3, 31, 1, 30, tzinfo=UTC), None],
        "day": [date(2024, 3, 31), None],
        "s": ["a\\b", "it's"],
        "f": [0.1, 2.0],
    }
    named = [field for field in SCHEMA if field.name in columns]
    batch = pa.RecordBatch.from_pydict({field.name: columns[field.name] for field in named}, schema=pa.schema(named))
    texts = [
        "at = TIMESTAMP '2024-03-31 03:30:00+02:00'", "day >= DATE '2024-03-31'", r"s LIKE 'a\\\\b'", r"s = 'it\'s'", "f > 0.1",
        "s = 'a' OR f = 2",
    ]  # fmt: skip
    before = {
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    }
    kept = {name: str(spark.conf.get(name)) for name in before}
    try:
        for name, value in before.items():
            spark.conf.set(name, value)
        assert sparks(spark, texts, batch) == [ours(text, batch) for text in texts]
    finally:
        for name, value in kept.items():
            spark.conf.set(name, value)


def test_a_literal_with_more_digits_than_a_decimal_column_is_rounded_by_spark_alone(spark: SparkSession) -> None:
    """The one known difference, which docs/filter.md names."""
    batch = pa.RecordBatch.from_pydict({"n": [Decimal("1.56")]}, schema=pa.schema([SCHEMA.field("n")]))
    assert (ours("n = 1.555", batch), sparks(spark, ["n = 1.555"], batch)) == ([False], [[True]])


def test_most_conditions_were_accepted() -> None:
    """The comparison above says something only of conditions that are not refused."""
    assert ACCEPTED["tried"] > 300
    assert ACCEPTED["accepted"] > 0.5 * ACCEPTED["tried"]
