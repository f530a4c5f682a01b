"""Names by expression and replacement; what Java makes of the same is in tests/integration/settings/test_name_rules.py."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.common.linear_pattern import LinearPattern
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.files.load import from_json, from_properties
from ignite_kafka.settings.name_rules import NamedBy, new_name, replacement_parts
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.support.randomness import examples


def test_the_first_expression_of_the_whole_name_counts() -> None:
    rules = {"a": "first", "a.*": "second-$0", ".*": "third"}
    assert [new_name(name, "s", rules) for name in ("a", "ab", "b")] == [
        NamedBy("first", "s 'a'"),
        NamedBy("second-ab", "s 'a.*'"),
        NamedBy("third", "s '.*'"),
    ]
    assert new_name("b", "s", {"a": "x"}) is None
    assert new_name("b", "s", {}) is None


@pytest.mark.parametrize(
    ("pattern", "replacement", "reason"),
    [
        ("(.*)", "$2", "it refers to group 2, and the expression has 1"),
        ("(.*)", "$", "a $ is followed by neither"),
        ("(.*)", "${x}", "no group named 'x'"),
        ("(.*)", "${1}", "a $ is followed by neither"),
        ("(.*)", "a\\", "ends with a backslash"),
        ("(?=(a)).*", "$1", "group 1 is not supported"),
        ("(a|b)(?:b*)*", "$1", "group 1 is not supported"),
        ("(?:(a)*b)*", "$1", "group 1 is not supported"),
        ("(((.))*(.[ab]))(.*)", "$3", "group 3 is not supported"),  # with -b-- Java gives -, the dash of an iteration that was undone
        ("(?:(a)|b)+", "$1", "group 1 is not supported"),
        ("(?:(.))+(?:([ab]|-)){1,2}", "$2", "group 2 is not supported"),
        ("((a)b){0,1}", "$2", "group 2 is not supported"),
    ],
)
def test_a_reference_to_no_group_is_refused(pattern: str, replacement: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        replacement_parts(pattern, replacement)


@pytest.mark.parametrize(
    ("name", "rules", "reason"),
    [
        ("topic_names", {"a(": "x"}, "it holds no regular expression: 'a('"),
        ("topic_names", {"a": ""}, "the replacement '' of 'a' makes no name"),
        ("topic_names", {"(a)": "x y$1"}, "the replacement 'x y$1' of '(a)' makes no name"),
        ("topic_names", {"(a)": "$2"}, "the replacement '$2' of '(a)': it refers to group 2"),
        ("topic_names", ["a"], "it is not a mapping of expressions to texts"),
        ("topic_names", {"a": 1}, "it is not a mapping of expressions to texts"),
        ("topic_names", '{"a": "x", "a": "y"}', "'a' is given twice"),
        ("topic_names", "a=x", "the text is not JSON"),
        ("topic_names", "[" * 30_000, "its JSON is nested too deeply"),
        ("cache_names", {"a": ""}, "the replacement '' of 'a' makes no name"),
    ],
)
def test_a_wrong_rule_is_refused_when_settings_load(name: str, rules: object, reason: str) -> None:
    direction: type[SourceSettings | SinkSettings] = SourceSettings if name == "topic_names" else SinkSettings
    more = {} if name == "topic_names" else {"topics": "t"}
    with pytest.raises(SettingsError, match=re.escape(reason)) as caught:
        direction.from_dict({"name": "c", name: rules, **more})
    assert caught.value.where["setting"] == name


def test_a_properties_file_holds_rules_as_json() -> None:
    line = rb'topic_names={"(?<what>.*)-v\\\\d": "${what}", "SQL_(.*)": "sql.$1"}'
    loaded = from_properties(b"name=c\n" + line, "f.properties").settings()
    assert isinstance(loaded, SourceSettings)
    assert list(loaded.topic_names.items()) == [(r"(?<what>.*)-v\d", "${what}"), ("SQL_(.*)", "sql.$1")]
    assert loaded.topic_of("orders-v1") == NamedBy("orders", r"topic_names '(?<what>.*)-v\\d'")
    again = from_json(b'{"name": "c", "topic_names": {"a": "b"}}', "f.json").settings()
    assert isinstance(again, SourceSettings)
    assert again.topic_names == {"a": "b"}


def test_the_order_of_rules_is_fixed_in_a_snapshot() -> None:
    def fixed(**rules: str) -> object:
        settings = SourceSettings.from_dict({"name": "c", "topic_names": rules})
        assert SourceSettings.from_dict(settings.to_dict()) == settings
        return settings.fixed_in_snapshot()

    assert fixed(a="x", b="y") == fixed(a="x", b="y")
    assert fixed(a="x", b="y") != fixed(b="y", a="x")


_PARTS = st.sampled_from(["(a)", "(b*)", "(a|ab)", "(?:a|b)", "(.+?)", "([ab]{1,2})", "-", "(-)?", "(?:(a)|b)+"])


@given(st.lists(_PARTS, max_size=5).map("".join), st.text("ab-", max_size=8))
@settings(max_examples=examples(300), deadline=None)
def test_groups_are_those_of_a_backtracking_matcher(expression: str, name: str) -> None:
    ours, python = LinearPattern(expression, re.ASCII), re.fullmatch(expression, name, re.ASCII)
    found = ours.groups(name)
    assert (found is None) == (python is None) == (not ours.fullmatch(name))
    if found is not None and python is not None and not ours.unclear:
        assert found == [python[0], *python.groups()]


@pytest.mark.parametrize("expression", ["((a+)+)b", "((a|a)*)b", "(.*.*.*.*.*.*.*x)"])
def test_groups_are_found_in_bounded_time(expression: str) -> None:
    assert LinearPattern(expression, re.ASCII).groups("a" * 249) is None
