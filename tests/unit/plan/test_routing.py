"""Caches and topics: lists of regular expressions, topic names, collisions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.errors import SettingsError
from ignite_kafka.plan import routing
from ignite_kafka.settings.source import SourceSettings


@pytest.mark.parametrize(
    ("cache", "whitelist", "blacklist", "copied"),
    [
        ("flights", (), (), True),
        ("flights", ("flights",), (), True),
        ("flights", ("flight",), (), False),
        ("flights", ("flight.*",), (), True),
        ("flights", ("x", "f.*"), (), True),
        ("flights", (), ("flights",), False),
        ("flights", (), ("light",), True),
        ("flights", ("f.*",), (".*s",), False),
        ("flight", ("f.*",), (".*s",), True),
        ("a|b", ("a|b",), (), False),
        ("ab", ("a|ab",), (), True),
        ("SQL_PUBLIC_CITY", (r"\QSQL_\E.*",), (), True),
        ("ignite-sys-cache", (), (), False),
        ("ignite-sys-cache", (".*",), (), False),
        ("ignite-kafka-tombstones-staff", (".*",), (), False),
    ],
)
def test_lists(cache: str, whitelist: tuple[str, ...], blacklist: tuple[str, ...], copied: bool) -> None:
    assert routing.matches(cache, whitelist, blacklist) is copied


def test_connectors_own_caches_are_never_selected() -> None:
    caches = ["b", "kafka-connect-backlog", "kafka-connect-backlog-c", "kafka-connect-backlogs", "a", "ignite-sys-cache"]
    assert routing.select(caches) == ["a", "b", "kafka-connect-backlogs"]
    assert routing.select(caches, [".*"], [], "b") == ["a", "kafka-connect-backlog", "kafka-connect-backlog-c", "kafka-connect-backlogs"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "a(",
        "[z-a]",
        r"\p{IsGreek}",
        r"[\P{Alpha}]",
        "[a-z&&[^b]]",
        "[a[b]]",
        "a{2,1}",
        r"(a)\1",
        r"(?<x>a)\k<x>",
        "a++b",
        "(?>a)b",
        "[a-z&&b]",
    ],
)
def test_a_bad_pattern_is_named(pattern: str) -> None:
    with pytest.raises(SettingsError, match="cache_whitelist holds no regular expression") as caught:
        routing.matches("a", [pattern])
    assert pattern in caught.value.what
    assert caught.value.where == {"setting": "cache_whitelist", "value": pattern}
    with pytest.raises(SettingsError, match="cache_blacklist"):
        routing.matches("a", [], [pattern])


def test_a_wildcard_gets_advice() -> None:
    with pytest.raises(SettingsError, match=r"write \.\*cache"):
        routing.matches("a", ["*cache"])


def routes(caches: list[str], internal: str = "ignite-kafka", **values: object) -> dict[str, str]:
    settings = SourceSettings.from_dict({"name": "c", **values})
    return routing.routes(caches, settings.topic_of, internal)


def test_topics() -> None:
    assert routes(["f" * 249]) == {"f" * 249: "f" * 249}
    assert routes(["b", "a"], topic_prefix="p-") == {"b": "p-b", "a": "p-a"}


def test_the_first_expression_that_matches_a_cache_names_its_topic() -> None:
    rules = {"SQL_PUBLIC_(.*)": "sql.$1", "(?<what>.*)-v[0-9]": "${what}", ".*-v2": "never"}
    found = routes(["SQL_PUBLIC_CITY", "orders-v2", "other"], topic_prefix="p-", topic_names=rules)
    assert found == {"SQL_PUBLIC_CITY": "sql.CITY", "orders-v2": "orders", "other": "p-other"}


@pytest.mark.parametrize("cache", ["", ".", "..", "f" * 250, "a b", "a/b", "ü", "a\n", "org.acme.Person$Key"])
def test_a_cache_whose_name_is_no_topic_name(cache: str) -> None:
    with pytest.raises(SettingsError, match="the name of a cache's topic is not valid") as caught:
        routes([cache])
    assert caught.value.where == {"cache": cache, "topic": cache, "named_by": "topic_prefix"}


def test_a_name_by_an_expression_that_is_no_topic_name() -> None:
    with pytest.raises(SettingsError, match="the name of a cache's topic is not valid") as caught:
        routes(["ab"], topic_names={"a(.*)b": "$1"})
    assert caught.value.where == {"cache": "ab", "topic": "", "named_by": "topic_names 'a(.*)b'"}


def test_colliding_topics() -> None:
    with pytest.raises(SettingsError, match=r"a_b \(by topic_prefix\) and a\.b \(by topic_prefix\) collide: Kafka does not distinguish"):
        routes(["a_b", "a.b"])
    with pytest.raises(
        SettingsError, match=r"eu-a \(by topic_names '\.\.-\(\.\*\)'\) and a \(by topic_prefix\) collide: they are one topic"
    ):
        routes(["eu-a", "a"], topic_names={"..-(.*)": "$1"})


def test_caches_share_a_topic_only_if_a_header_names_the_cache() -> None:
    settings = SourceSettings(name="c", topic_names={"(orders|returns)": "shop", "planes": "sh.op"})
    with pytest.raises(SettingsError, match=r"collide: they are one topic.*With cache_header, caches may share a topic"):
        routing.routes(["orders", "returns"], settings.topic_of)
    assert routing.routes(["orders", "returns"], settings.topic_of, shared=True) == {"orders": "shop", "returns": "shop"}
    settings = SourceSettings(name="c", topic_names={"(orders|returns)": "s_hop", "planes": "s.hop"})
    with pytest.raises(SettingsError, match="Kafka does not distinguish"):
        routing.routes(["orders", "returns", "planes"], settings.topic_of, shared=True)


@pytest.mark.parametrize("topic", ["configs", "status", "types", "offsets-c", "offsets"])
def test_internal_topics_are_no_data_topics(topic: str) -> None:
    with pytest.raises(SettingsError, match="internal topic"):
        routes([topic], topic_prefix="ignite-kafka-")
    with pytest.raises(SettingsError, match="internal topic"):
        routes(["x"], topic_names={"x": f"ignite-kafka-{topic}"})
    with pytest.raises(SettingsError, match="internal topic"):  # of connectors with the default prefix
        routes([topic], "other", topic_prefix="ignite-kafka-")
    assert routes([topic], topic_prefix="other-") == {topic: f"other-{topic}"}


def test_topics_of_the_broker_are_no_data_topics() -> None:
    with pytest.raises(SettingsError, match="internal topic"):
        routes(["consumer_offsets"], topic_prefix="__")


@given(st.lists(st.text("ab._-", min_size=3, max_size=6), unique=True), st.text("ab.-", max_size=3))
def test_routes_are_one_to_one_or_refused(caches: list[str], prefix: str) -> None:
    try:
        found = routes(caches, topic_prefix=prefix)
    except SettingsError:
        return
    assert len(set(found.values())) == len(caches)
    assert all(topic.removeprefix(prefix) == cache for cache, topic in found.items())
