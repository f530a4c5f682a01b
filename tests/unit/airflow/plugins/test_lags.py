"""Lags within a time limit: what is not read in time is read by a later page."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial

from airflow_provider_ignite_kafka.plugins.lags import Lag, LagReader, Read
from tests.support.waiting import REQUEST_S


def test_a_page_waits_for_its_own_connector_only() -> None:
    answer = threading.Event()

    def slow() -> Lag:
        answer.wait(REQUEST_S)
        return {"slow": 1}

    def quick() -> Mapping[str, int]:
        return {"quick": 2}

    reader = LagReader()
    assert reader.read({"quick": quick, "slow": slow}, {}, 0.0, "quick") == {"quick": {"quick": 2}}
    answer.set()
    assert reader.read({"quick": quick, "slow": slow}, {}, 0.0, "slow")["slow"] == {"slow": 1}


def test_those_read_longest_ago_come_first() -> None:
    asked: list[str] = []
    reader = LagReader()

    def ask(name: str) -> Lag:
        asked.append(name)
        return None

    def reads(*names: str) -> dict[str, Read]:
        return {name: partial(ask, name) for name in names}

    reader.read({}, reads("a"), REQUEST_S)
    reader.read({}, reads("b"), REQUEST_S)
    asked.clear()
    reader.read({}, reads("a", "b", "c"), REQUEST_S)
    assert asked == ["c", "a", "b"]
    asked.clear()
    reader.read({}, reads("a", "b", "c"), REQUEST_S, needed="b")
    assert asked == ["b", "c", "a"]


def test_sources_are_asked_one_after_the_other() -> None:
    threads: set[int] = set()
    LagReader().read({}, {str(number): lambda: threads.add(threading.get_ident()) for number in range(20)}, REQUEST_S)
    assert len(threads) == 1


def test_what_has_not_begun_in_time_is_left_to_a_later_page() -> None:
    answer = threading.Event()
    asked: list[str] = []
    reader = LagReader()
    reader._sources.submit(answer.wait, REQUEST_S)
    assert reader.read({}, {"a": lambda: asked.append("a")}, 0.0) == {}
    answer.set()
    assert reader.read({}, {"b": lambda: {"b": 1}}, REQUEST_S) == {"b": {"b": 1}}
    assert asked == []
