"""Caches and topics: lists of regular expressions, topic names, collisions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.errors import SettingsError
from ignite_kafka.plan import routing


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


def test_topics() -> None:
    assert routing.topic_of("flights", "nyc.") == "nyc.flights"
    assert routing.topic_of("f" * 249) == "f" * 249
    assert routing.routes(["b", "a"], "p-") == {"b": "p-b", "a": "p-a"}


@pytest.mark.parametrize("cache", ["", ".", "..", "f" * 250, "a b", "a/b", "ü", "a\n", "org.acme.Person$Key"])
def test_a_cache_whose_name_is_no_topic_name(cache: str) -> None:
    with pytest.raises(SettingsError, match="the topic's name, which contains the cache's name, is not valid") as caught:
        routing.topic_of(cache)
    assert caught.value.where == {"cache": cache, "topic": cache}


def test_colliding_topics() -> None:
    with pytest.raises(SettingsError, match=r"a_b and a\.b collide"):
        routing.routes(["a_b", "a.b"])


@pytest.mark.parametrize("topic", ["configs", "status", "types", "offsets-c", "offsets"])
def test_internal_topics_are_no_data_topics(topic: str) -> None:
    with pytest.raises(SettingsError, match="internal topic"):
        routing.routes([topic], "ignite-kafka-")
    assert routing.routes([topic], "ignite-kafka-", "other") == {topic: f"ignite-kafka-{topic}"}


def test_topics_of_the_broker_are_no_data_topics() -> None:
    with pytest.raises(SettingsError, match="internal topic"):
        routing.routes(["consumer_offsets"], "__")


@given(st.lists(st.text("ab._-", min_size=3, max_size=6), unique=True), st.text("ab.-", max_size=3))
def test_routes_are_one_to_one_or_refused(caches: list[str], prefix: str) -> None:
    try:
        found = routing.routes(caches, prefix)
    except SettingsError:
        return
    assert len(set(found.values())) == len(caches)
    assert all(topic.removeprefix(prefix) == cache for cache, topic in found.items())
