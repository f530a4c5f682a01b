"""Arithmetic, casts and functions in conditions give the same results as Spark's own engine, and errors for the same rows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from ignite_kafka.convert.filter.columns import ColumnLookup
from ignite_kafka.convert.filter.evaluate import check_constants, evaluate
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.sql import parse_condition
from tests.support.randomness import examples
from tests.support.spark_conditions import (
    ROWS,
    TEXTS,
    absent,
    batches,
    quoted,
    sparks,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = st.sampled_from(["TINYINT", "short", "INT", "bigint", "FLOAT", "double", "BOOLEAN", "STRING"])
NUMBERS = st.sampled_from(
    ["b", "i", "l", "f", "d", "o.x", "-1", "0", "1", "2", "3L", "127", "2147483647", "1.5D", "0D", "1e300", "NULL", "-b"]
)
WORDS = st.one_of(
    st.sampled_from(["s", "o.`y z`", "NULL", "' a '", "'Ab'", "'\u00c4\u00df\u03a3'", "' 12 '", "'-7'", "'TRUE'", "''"]), TEXTS.map(quoted)
)
DAYS = st.sampled_from(["day", "DATE '2024-02-29'", "DATE '1582-10-10'", "NULL"])
CALLS_OF_DAYS = st.sampled_from(
    ["year({})", "month({})", "day({})", "dayofmonth({})", "datediff({}, DATE '2000-01-01')", "datediff(day, {})"]
)
FLAGS = st.sampled_from(["t", "TRUE", "false"])


def of_number(inner: Any, texts: Any) -> Any:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/%"), inner),
        st.builds("{} {} {}".format, inner, st.sampled_from("+-*/%"), inner),
        st.builds("- {}".format, inner), st.builds("abs({})".format, inner),
        st.builds("{}({} AS {})".format, st.sampled_from(["CAST", "try_cast"]), inner | texts | FLAGS, TYPES),
        st.builds("coalesce({}, {})".format, inner, inner), st.builds("nvl({}, {})".format, inner, inner),
        st.builds("length({})".format, texts), st.builds(lambda form, day: form.format(day), CALLS_OF_DAYS, DAYS),
    )  # fmt: skip


PLAIN_TEXTS = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(["lower", "UPPER", "trim", "ltrim", "rtrim"]), inner),
        st.builds("concat({}, {}, {})".format, inner, inner, inner), st.builds("{} || {}".format, inner, inner),
        st.builds("substring({}, {})".format, inner, st.integers(-4, 4)),
        st.builds("substr({}, {}, {})".format, inner, st.integers(-4, 4), st.integers(-2, 5)),
        st.builds("coalesce({}, {})".format, inner, inner),
    ),
    max_leaves=4,
)  # fmt: skip
EXPRESSIONS = st.recursive(NUMBERS, lambda inner: of_number(inner, PLAIN_TEXTS), max_leaves=5)
WRITTEN = st.one_of(PLAIN_TEXTS, st.builds("CAST({} AS STRING)".format, EXPRESSIONS | FLAGS | DAYS))
MOVED = st.builds("{}({}, {})".format, st.sampled_from(["date_add", "date_sub"]), DAYS, st.sampled_from(["1", "-400", "b", "i", "NULL"]))
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])


@st.composite
def predicates(draw: st.DrawFn) -> str:
    operand = draw(st.sampled_from([EXPRESSIONS, EXPRESSIONS, EXPRESSIONS, WRITTEN, WRITTEN, MOVED]))
    form = draw(st.integers(0, 3))
    one = draw(operand)
    if form == 1:
        return f"{one} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    if form == 2:
        return f"{one} BETWEEN {draw(operand)} AND {draw(operand)}"
    if form == 3 and operand is WRITTEN:
        return f"({one}) LIKE '%a%'"
    other = draw(st.sampled_from(["1.5", "-0.1", "12BD"])) if form == 3 and operand is EXPRESSIONS else draw(operand)
    return f"{one} {draw(OPERATORS)} {other}"


FAILING = st.builds("({} {} {}) {} 1".format, EXPRESSIONS, st.sampled_from("/%"), st.sampled_from(["0", "0D", "(i - i)"]), OPERATORS)
"""Conditions that fail for all rows where the first operand is not null."""

CONDITIONS = st.recursive(
    predicates(),
    lambda inner: st.one_of(
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "OR"]), inner), st.builds("NOT ({})".format, inner)
    ),
    max_leaves=3,
)


def ours(text: str, batch: pa.RecordBatch) -> tuple[list[bool | None], list[bool]] | None:
    """The results of a condition, and a flag for each row with an error; None if the condition is refused."""
    columns = {name: (batch.column(name), batch.schema.field(name)) for name in batch.schema.names}
    try:
        condition = parse_condition(text)
        check_constants(condition)
        found = evaluate(condition, ColumnLookup(columns, len(batch), absent), len(batch))
    except UnsupportedType:
        return None
    failed = np.zeros(len(batch), bool) if found.failure is None else found.failure.rows
    return found.values.to_pylist(), failed.tolist()


# without shrinking, because each of its steps is a Spark job
NO_SHARING = "spark.sql.subexpressionElimination.enabled"
ONCE = settings(suppress_health_check=list(HealthCheck), print_blob=False, phases=(Phase.explicit, Phase.reuse, Phase.generate))


@pytest.fixture(scope="module", autouse=True)
def as_a_filter(spark: SparkSession) -> Iterator[None]:
    """Make projections evaluate columns as a filter does, without evaluating common subexpressions in advance for all rows."""
    before = str(spark.conf.get(NO_SHARING))
    spark.conf.set(NO_SHARING, "false")
    yield
    spark.conf.set(NO_SHARING, before)


COUNTS = {"tried": 0, "accepted": 0, "failing": 0, "raised": 0}
ERRORS = re.compile("ARITHMETIC_OVERFLOW|DIVIDE_BY_ZERO|REMAINDER_BY_ZERO|CAST_OVERFLOW|CAST_INVALID_INPUT")


def compare(spark: SparkSession, batch: pa.RecordBatch, texts: list[str], *, count_errors: bool) -> None:
    """Compare rows without errors; count whether Spark raises an error for one of the other rows."""
    found = {text: result for text in dict.fromkeys(texts) if (result := ours(text, batch)) is not None}
    COUNTS["tried"] += len(set(texts))
    COUNTS["accepted"] += len(found)
    sound = [text for text, (_, failed) in found.items() if not any(failed)]
    for text, theirs in zip(sound, sparks(spark, sound, batch) if sound else [], strict=True):
        mine = found[text][0]
        assert mine == theirs, f"{text}: {[batch.slice(at, 1).to_pylist() for at in range(ROWS) if mine[at] != theirs[at]]}"
    for text in found.keys() - set(sound):
        values, failed = found[text]
        good = [at for at in range(ROWS) if not failed[at]]
        if good:
            assert [values[at] for at in good] == sparks(spark, [text], batch.take(pa.array(good)))[0], text
        if count_errors:
            COUNTS["failing"] += 1
            try:
                sparks(spark, [text], batch.slice(failed.index(True), 1))
            except PySparkException as error:
                assert ERRORS.search(str(error)), f"{text}: {error}"  # noqa: PT017 # only these errors are expected
                COUNTS["raised"] += 1


@settings(ONCE, max_examples=examples(100))
@given(batch=batches(), texts=st.lists(CONDITIONS, min_size=10, max_size=10))
def test_expressions_give_sparks_results(spark: SparkSession, batch: pa.RecordBatch, texts: list[str]) -> None:
    compare(spark, batch, texts, count_errors=False)


@settings(ONCE, max_examples=examples(100))
@given(batch=batches(), texts=st.lists(predicates(), min_size=5, max_size=5), failing=FAILING)
def test_rows_with_an_error_are_those_of_spark(spark: SparkSession, batch: pa.RecordBatch, texts: list[str], failing: str) -> None:
    compare(spark, batch, [*texts, failing], count_errors=True)


def test_most_expressions_were_accepted_and_some_failed() -> None:
    """The comparisons above are meaningful only if enough expressions are accepted and enough rows have errors."""
    assert COUNTS["accepted"] > 0.4 * COUNTS["tried"]
    assert COUNTS["failing"] > 10
    assert COUNTS["raised"] > 0.8 * COUNTS["failing"], "Spark's optimizer skips some: a TINYINT is never equal to 0.1"


@pytest.mark.long("test_the_case_of_a_letter_depends_on_its_neighbours_as_in_spark")
def test_every_character_changes_its_case_as_in_spark(spark: SparkSession) -> None:
    """Python and Spark change the case of all letters equally, except for refused ones, whose case Python's Unicode may not know."""
    letters = [chr(point) for point in range(1, 0x110000) if not 0xD800 <= point < 0xE000]
    batch = pa.RecordBatch.from_pydict({"s": letters, "day": [date(2024, 1, 1)] * len(letters)})
    for function, name in ((str.lower, "lower"), (str.upper, "upper")):
        theirs = spark.createDataFrame(pa.Table.from_batches([batch])).selectExpr(f"{name}(s) AS c").toArrow().column(0).to_pylist()
        different = [letter for letter, their in zip(letters, theirs, strict=True) if function(letter) != their]
        result = ours(f"{name}(s) = s", batch)
        assert result is not None
        refused = {letter for letter, failed in zip(letters, result[1], strict=True) if failed}
        assert set(different) <= refused, [f"{ord(letter):x}" for letter in sorted(set(different) - refused)]


def test_the_case_of_a_letter_depends_on_its_neighbours_as_in_spark(spark: SparkSession) -> None:
    """A sigma at the end of a word has its own lower case."""
    texts = ["".join(letters) for size in range(1, 6) for letters in itertools.product("a\u03a3.\u0301\u0130 ", repeat=size)]
    frame = spark.createDataFrame(pa.table({"s": texts})).selectExpr("lower(s) AS low", "upper(s) AS up").toArrow()
    assert frame.column("low").to_pylist() == [text.lower() for text in texts]
    assert frame.column("up").to_pylist() == [text.upper() for text in texts]
