"""Regular expressions in Java's syntax, without Java."""

from __future__ import annotations

import pytest

from ignite_kafka.common.linear_pattern import LinearPattern
from ignite_kafka.java.patterns import check_pattern, groups_of, matches_whole, pattern_remedy


@pytest.mark.parametrize(
    ("pattern", "name", "matched"),
    [
        ("a", "ab", False),
        (r"\Qa.b\E.*", "a.bc", True),
        (r"\Qa.b\E.*", "axbc", False),
        (r"\p{Upper}+", "AB", True),
        (r"\P{Digit}+", "a1", False),
        (r"[\p{Alpha}_]+", "a_b", True),
        (r"(?<first>a)b", "ab", True),
        (r"a\z", "a", True),
    ],
)
def test_a_pattern_matches_the_whole_name(pattern: str, name: str, matched: bool) -> None:
    assert matches_whole(name, pattern) is matched


@pytest.mark.parametrize("pattern", [r"\p{IsGreek}", r"[\P{Alpha}]", "[a-z&&[^b]]", "[a[b]]", "a++b"])
def test_a_pattern_without_an_equivalent_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_pattern(pattern)
    assert pattern in str(caught.value)


def test_the_remedy_of_a_wildcard_is_an_expression() -> None:
    assert "write .*cache" in pattern_remedy("*cache")
    assert "comma" in pattern_remedy("a(")


def test_a_name_that_takes_too_many_steps_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def never(self: LinearPattern, text: str) -> bool:
        tried.append(text)
        raise ValueError("matching it takes more than 1 steps")

    monkeypatch.setattr(LinearPattern, "fullmatch", never)
    monkeypatch.setattr(LinearPattern, "groups", never)
    for _ in range(3):
        with pytest.raises(ValueError, match="more than 1 steps"):
            matches_whole("name", "(tried)+once")
        with pytest.raises(ValueError, match="more than 1 steps"):
            groups_of("name", "(tried)+once")
    assert tried == ["name", "name"]
