"""Expressions for names: Python's meaning, in a bounded number of steps."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ignite_kafka.common import linear_pattern as name_patterns
from ignite_kafka.common.linear_pattern import MAX_LENGTH, MAX_VISITS, LinearPattern, _Match
from ignite_kafka.errors import SettingsError
from ignite_kafka.plan import routing
from tests.support.randomness import examples

_ATOMS = st.sampled_from(["a", "b", "ab", ".", "[ab]", "[^a]", r"\w", r"\b", "^", "$", r"\Z", "-", ""])
_EXPRESSIONS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{2,}", "{0}"])).map("(?:{0[0]}){0[1]}".format),
        inner.map("(?={}).".format),
        inner.map("(?!{})".format),
        inner.map("({})".format),
        inner.map("(?i:{})".format),
        st.sampled_from(["(?<=a)", "(?<!b)", "(?<=ab)"]),
    ),
    max_leaves=8,
)


@example("(?!)", ["", "a", "b", "ab"])  # a part of its own since Python 3.13
@example("a|(?!)b", ["", "a", "b", "ab"])
@given(_EXPRESSIONS, st.lists(st.text("abAB-\n", max_size=6), min_size=4, max_size=4))
@settings(max_examples=examples(400), deadline=None)
def test_an_expression_means_what_it_means_to_python(expression: str, names: list[str]) -> None:
    ours = LinearPattern(expression, re.ASCII)
    assert [ours.fullmatch(name) for name in names] == [bool(re.fullmatch(expression, name, re.ASCII)) for name in names]


CATASTROPHES = [
    "(a+)+b", "(a*)*b", "(a|a)*b", "(a|aa)+b", "(a|b|ab)*c", "(.*)*x", "(.*a){20}x", "(a?){60}a{60}b", ".*.*.*.*.*.*.*.*x", r"(\w|\d)*-",
    "(?=(a+)+b).*", "((a+)+(?!(a|aa)+$))+b", "(a{1,9}){1,9}b",
]  # fmt: skip


@pytest.mark.parametrize("expression", CATASTROPHES)
def test_no_expression_takes_more_than_its_size_times_the_name(expression: str) -> None:
    compiled, name = LinearPattern(expression, re.ASCII), "a" * 249  # the longest name of a topic
    match = _Match(name)
    assert len(name) not in compiled._ends(match, compiled._entry, 0)
    looks = len(name) if "(?" in expression else 1  # what lies ahead is asked once for each place
    assert match.visits <= len(compiled._steps) * (len(name) + 1) * looks
    assert match.visits <= MAX_VISITS


def test_what_would_take_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_patterns, "MAX_VISITS", 1_000)
    with pytest.raises(SettingsError, match="takes more than 1000 steps with a name of 2000 characters"):
        routing.matches("b" * 2_000, ["(b|bb)*c"])


_NEWER_THAN_3_10 = [("(?>a+)b", "an atomic group"), ("a++b", "a possessive quantifier")] if sys.version_info >= (3, 11) else []


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (r"(a)\1", "a back reference"),
        (r"(?i)(a)\1", "a back reference"),
        ("(a)?(?(1)b|c)", "a condition on a group"),
        *_NEWER_THAN_3_10,
        ("(a{3000}){3000}", "repeats written out"),
        ("a" * (MAX_LENGTH + 1), f"more than {MAX_LENGTH} characters"),
    ],
)
def test_what_is_refused_says_why(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearPattern(expression)


def test_deep_groups_are_no_crash() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        LinearPattern("(" * 990 + "a" + ")" * 990)
