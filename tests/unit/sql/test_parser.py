"""Conditions are read as Spark reads them, and what is not proved equal is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest

from ignite_kafka.common.record_limits import MAX_CONDITION_LENGTH
from ignite_kafka.sql import parse_columns, parse_condition
from ignite_kafka.sql.syntax import (
    And,
    Arithmetic,
    Call,
    Cast,
    Column,
    Compare,
    In,
    IsNull,
    Kind,
    Like,
    Literal,
    Negative,
    Not,
    Or,
    SelectedField,
    columns_of,
)
from ignite_kafka.sql.tokens import Refused

A, ONE = Column(("a",)), Literal(Kind.INT, 1)


def test_precedence_is_sparks() -> None:
    one = Compare("=", A, ONE)
    assert parse_condition("a = 1 OR a = 1 AND NOT a = 1") == Or(one, And(one, Not(one)))
    assert parse_condition("(a = 1 OR a = 1) AND a == 1") == And(Or(one, one), one)
    assert parse_condition("a BETWEEN 1 AND 1 AND a != 1") == And(And(Compare(">=", A, ONE), Compare("<=", A, ONE)), Compare("<>", A, ONE))
    assert parse_condition("a = 1 is not null") == Not(IsNull(one))


def test_arithmetic_has_sparks_precedence() -> None:
    two = Arithmetic("*", A, ONE)
    assert parse_condition("a + a * 1 = -a % 1") == Compare("=", Arithmetic("+", A, two), Arithmetic("%", Negative(A), ONE))
    assert parse_condition("a -1 - 1 = 1") == Compare("=", Arithmetic("-", Arithmetic("-", A, ONE), ONE), ONE)
    assert parse_condition("(a * 1) / - -1 = +a") == Compare("=", Arithmetic("/", two, Negative(Literal(Kind.INT, -1))), A)
    assert parse_condition("a || 'x' || a = 'y'") == Compare(
        "=", Call("concat", (Call("concat", (A, Literal(Kind.STRING, "x"))), A)), Literal(Kind.STRING, "y")
    )


def test_casts_and_functions_have_one_name_each() -> None:
    assert parse_condition("CAST(a = 1 AS boolean)") == Cast(Compare("=", A, ONE), "BOOLEAN", tries=False)
    assert parse_condition("try_cast(a AS Long) = 1") == Compare("=", Cast(A, "BIGINT", tries=True), ONE)
    assert parse_condition("SUBSTR(a, 1) = Lcase(a)") == Compare("=", Call("substring", (A, ONE)), Call("lower", (A,)))
    assert [column.path for column in columns_of(parse_condition("nvl(a.b, -c) + CAST(d AS INT) > e"))] == [
        ("a", "b"), ("c",), ("d",), ("e",),
    ]  # fmt: skip


def test_a_long_chain_is_no_deep_tree() -> None:
    condition = parse_condition(" OR ".join(f"a = {number} AND b = 1" for number in range(1_000)))
    assert len(list(columns_of(condition))) == 2_000


def test_names_have_paths_and_backticks() -> None:
    found = parse_condition("`_key`.`a b`.c IS NULL AND `x``y` IS NULL")
    assert [column.path for column in columns_of(found)] == [("_key", "a b", "c"), ("x`y",)]


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("-1", Literal(Kind.INT, -1)), ("1L", ONE), ("1.50", Literal(Kind.DECIMAL, Decimal("1.50"))),
        ("2BD", Literal(Kind.DECIMAL, Decimal(2))), ("1e0", Literal(Kind.DOUBLE, 1.0)), ("1.5D", Literal(Kind.DOUBLE, 1.5)),
        (r"'it\'s'", Literal(Kind.STRING, "it's")), (r"'a''b\n'", Literal(Kind.STRING, "a'b\n")), ("true", Literal(Kind.BOOLEAN, True)),
        ("Null", Literal(Kind.NULL, None)), ("DATE '2024-02-29'", Literal(Kind.DATE, date(2024, 2, 29))),
        ("TIMESTAMP '1970-01-01 02:00:00.5+02:00'", Literal(Kind.TIMESTAMP, 500_000)),
    ],
)  # fmt: skip
def test_literals_have_sparks_types(text: str, literal: Literal) -> None:
    assert parse_condition(f"a = {text}") == Compare("=", A, literal)


def test_patterns_of_like_have_an_escape() -> None:
    parts = (("text", "a"), ("%", ""), ("text", "%"), ("_", ""))
    assert parse_condition(r"a LIKE 'a%\%_'") == Like(A, parts)
    assert parse_condition("a NOT LIKE 'a%/%_' ESCAPE '/'") == Not(Like(A, parts))
    assert parse_condition("a IN (1, NULL)") == In(A, (ONE, Literal(Kind.NULL, None)))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("initcap(a) = 'x'", "function initcap is not supported, at character 1"), ("a & 1 = 2", "operator & is not supported here"),
        ("CAST(a AS DECIMAL(5,2)) = 1", "CAST to DECIMAL is not supported"), ("CAST(a AS DATE) = b", "CAST to DATE is not supported"),
        ("CAST(a) = 1", r"AS is expected, and \) was found"), ("lower(a, b) = 'x'", "function lower has 2 arguments"),
        ("a + = 1", "a column or a constant is expected, and = was found"),
        ("lower() = 'x'", "function lower has 0 arguments"), ("`lower`(a) = 'x'", "function lower is not supported"),
        ("a" + " + a" * 101 + " = 1", "more than 100 operators of arithmetic"), ("a DIV 2 = 1", "DIV is not supported here"),
        ("a = 1 = 1", "two comparisons follow one another"), ("a -> 1", "operator -> is not"),
        ("a RLIKE 'x'", "RLIKE is not supported"), ('a = "x"', "by a setting of Spark"), ("a = 'x", "has no end"),
        ("a = 1F", "suffix that is not supported"), ("a = 99999999999999999999", "out of the range of BIGINT"),
        ("a = " + "9" * 5_000, "out of the range of BIGINT"),
        ("a = DATE '2024-02-30'", "is no date"), ("a = TIMESTAMP '2024-01-01 00:00:00'", "has no zone"),
        ("a IN (1, 1.5)", r"values of several types \(BIGINT, DECIMAL\)"), ("a IN (b)", "a column or a constant is expected"),
        (r"a LIKE 'x\\y'", "before another character"), ("a IS NULL IS NULL", "IS is not supported here"),
        ("'x'", "constant and no condition"), (r"a = '\x41'", r"escape \\x"), ("a = 1 -- b", "comments"), ("a[0] = 1", "an element of a"),
        ("", "the end was found"), ("(a = 1", r"\) is expected, and the end was found"), ("a = 1)", r"\) closes no parenthesis"),
        ("{a} = 1", "{ is no part of SQL, at character 1"), ("a = 1 }", "} is no part of SQL"), ("a = $b", r"'\$' is no part of SQL"),
        ("(" * 200 + "a" + ")" * 200, "nested deeper"),
        ("a = 1;", "operator ;"), ("a LIKE b", "the pattern of LIKE is no text"), ("a = 'x' 'y'", "two texts follow"),
    ],
)  # fmt: skip
def test_what_is_not_proved_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(Refused, match=why) as caught:
        parse_condition(text)
    assert caught.value.remedy


def test_columns_are_names_with_aliases() -> None:
    assert parse_columns("a, `b c` ,d") == tuple(SelectedField(name, name) for name in ("a", "b c", "d"))
    assert parse_columns("a as `x y`, A AS b") == (SelectedField("a", "x y"), SelectedField("A", "b"))
    wrong = {
        "a, A": "two columns are named A", "a AS b, B": "two columns are named B", "a.b": "behind column a", "a + 1": "behind column a",
        "*": "a column's name is expected", "a b": "b follows column a", "a AS": "the end was found", "a AS 1": "1 was found",
        "``": "is empty",
        "lower(a)": r"\( behind",
    }  # fmt: skip
    for text, why in wrong.items():
        with pytest.raises(Refused, match=why):
            parse_columns(text)


@pytest.mark.parametrize("parse", [parse_condition, parse_columns])
def test_a_long_text_is_refused_before_it_is_read(parse: Callable[[str], object]) -> None:
    text = "a" * MAX_CONDITION_LENGTH
    with pytest.raises(Refused, match=f"more than {MAX_CONDITION_LENGTH} characters"):
        parse(f"{text}b")
