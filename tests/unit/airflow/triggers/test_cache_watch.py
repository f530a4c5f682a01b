"""Trigger on a simulated cluster, poll by poll."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.models.trigger import Trigger
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, TaskDeferred
from airflow.sdk import Asset, AssetWatcher
from airflow.triggers.base import BaseEventTrigger
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_ignite_kafka.triggers.cache_watch import IgniteCacheWatchTrigger
from ignite_kafka.errors import AuthenticationFailed, IgniteUnreachable, SettingsError
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.plan.cache_changes import state_to_dict
from tests.support.airflow_versions import (
    ASSET_STORE,
    WATCHER_MAPPINGS,
    AssetStateStoreAccessors,
    encode_trigger,
    smart_decode_trigger_kwargs,
)
from tests.support.randomness import examples
from tests.unit.airflow.simulated_caches import AWAY, Poll, Run, Store, caches, fired, names, sensor


def test_each_change_fires_once() -> None:
    polls = [caches("a"), caches("a"), caches("a", "b"), caches("a", "b"), caches("b"), caches("b", columns="wider")]
    events = fired(polls)
    assert names(events) == [(["b"], []), ([], ["a"]), ([], [])]
    assert events[2]["changed"] == {"b": ["columns"]}
    assert len({event["id"] for event in events}) == 3


def test_what_changed_while_ignite_was_away_fires_once(capsys: pytest.CaptureFixture[str]) -> None:
    polls: list[Poll] = [AWAY, caches("a"), caches("a", "b"), AWAY, OSError("reset"), caches("b", "c"), AWAY, caches("b", "c")]
    assert names(fired(polls)) == [(["b"], []), (["c"], ["a"])]
    printed = capsys.readouterr().out
    assert printed.count("Ignite could not be polled; next poll in 0 s") == 4
    assert "Caches created: c; destroyed: a" in printed


@settings(max_examples=examples(40))
@given(st.lists(st.sets(st.sampled_from("abc")).map(lambda chosen: caches(*chosen)), min_size=1, max_size=8), st.data())
def test_restarts_of_the_triggerer_lose_nothing_and_repeat_only_the_last_event(polls: list[Poll], data: st.DataObject) -> None:
    """The triggerer dies after an event and before the state is stored: the event is fired again, with the same id."""
    store, events = Store(), []
    rest = list(polls)
    while True:
        stop_after = data.draw(st.none() | st.just(1))
        new = fired(rest, store=store, stop_after=stop_after)
        events += new
        if stop_after is None or not new:
            break
        rest = rest[next(i for i, poll in enumerate(rest) if isinstance(poll, dict) and set(poll) == set(new[-1]["state"])) :]
    once = {event["id"]: event for event in events}
    folded = set(polls[0])  # type: ignore[arg-type]
    for event in once.values():
        folded = (folded - set(event["destroyed"])) | set(event["created"])
    assert folded == set(polls[-1])  # type: ignore[arg-type]


def test_restart_after_the_state_was_stored_repeats_nothing() -> None:
    store = Store()
    assert names(fired([caches("a"), caches("a", "b"), caches("a", "b")], store=store)) == [(["b"], [])]
    assert fired([caches("a", "b")], store=store) == []
    assert names(fired([caches("b")], store=store)) == [([], ["a"])]


def test_first_poll_is_stored_before_anything_changed() -> None:
    store = Store()
    assert fired([caches("a")], store=store) == []
    assert names(fired([caches("a", "b")], store=store)) == [(["b"], [])]


def test_known_is_the_initial_state_unless_one_is_stored() -> None:
    store = Store()
    assert names(fired([caches("a")], store=store, known={})) == [(["a"], [])]
    assert fired([caches("a")], store=store, known={}) == []
    assert fired([caches("a")], store=store, known=state_to_dict(caches("a"))) == []


def test_other_kinds_of_change_only_update_the_state() -> None:
    polls = [caches("a"), caches(), caches("a")]
    assert names(fired(polls, kinds=["created"])) == [(["a"], [])]


def test_once_begins_with_its_first_poll_and_fires_the_next_change() -> None:
    assert names(fired([AWAY, caches("a"), caches("b")], once=True)) == [([], [])]
    assert names(fired([caches("a"), AWAY, caches("a", "b"), caches()], once=True, known=state_to_dict(caches("a")))) == [(["b"], [])]


@pytest.mark.parametrize("error", [AuthenticationFailed("no"), SettingsError("no")])
def test_a_task_gets_an_error_that_no_later_poll_cures_and_a_watcher_waits(error: Exception) -> None:
    assert names(fired([caches(), error, caches("a")])) == [(["a"], [])]
    [event] = fired([error], once=True)
    assert event == {"error": f"{type(error).__name__}: no", "final": True}
    with pytest.raises(AirflowFailException, match="no"):
        sensor(deferrable=True).execute_complete(Run().context, event)


def test_a_connection_that_cannot_be_read_now_may_be_read_by_a_retry() -> None:
    [event] = fired([AirflowException("the API server is away")], once=True)
    with pytest.raises(AirflowException, match="the API server is away") as failed:
        sensor(deferrable=True).execute_complete(Run().context, event)
    assert failed.type is AirflowException


WRONG: list[dict[str, Any]] = [
    {"kinds": ["made"]},
    {"kinds": 5},
    {"known": "[]"},
    {"known": 5},
    {"cache_whitelist": [5]},
    {"cache_whitelist": ["["]},
    {"cache_blacklist": 5},
    {"poll_interval": "soon"},
    {"poll_interval": -1},
    {"poll_timeout": 0},
    {"poll_timeout": "never"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_arguments_end_no_triggerer(wrong: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Airflow's triggerer ends when a constructor raises, and restarts an ended watcher at once."""
    [event] = fired([], once=True, **wrong)
    assert event["final"]
    assert event["error"].startswith("SettingsError: ")
    with pytest.raises(SettingsError):  # shown by the Dag processor, before a triggerer gets the trigger
        IgniteCacheWatchTrigger(**wrong).serialize()

    async def run() -> None:
        trigger = IgniteCacheWatchTrigger(**wrong)
        trigger.blocked_s = 0.01
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(aiter(trigger.run())), 0.1)

    asyncio.run(run())
    assert capsys.readouterr().out.count("This watcher cannot work until its Dag is corrected") > 1


def test_arguments_of_a_newer_version_are_ignored_by_a_triggerer_and_refused_in_a_dag(capsys: pytest.CaptureFixture[str]) -> None:
    newer: dict[str, Any] = {"cache_whitelst": ["a"], "tags": ["b"]}
    assert names(fired([caches(), caches("a")], **newer)) == [(["a"], [])]
    assert "Arguments of another version of the provider are ignored: cache_whitelst, tags" in capsys.readouterr().out
    with pytest.raises(SettingsError, match=r"has no argument cache_whitelst, tags. Did you mean cache_whitelist\?"):
        IgniteCacheWatchTrigger(**newer).serialize()


@pytest.mark.parametrize("missing", ["cache_blacklist", "backlog_cache_name", "kinds", "poll_interval", "known", "once"])
def test_arguments_that_an_older_version_did_not_store_have_defaults(missing: str) -> None:
    default = IgniteCacheWatchTrigger().serialize()[1][missing]
    stored = {name: value for name, value in ARGUMENTS.items() if name != missing}
    assert IgniteCacheWatchTrigger(**stored).serialize()[1] == {**ARGUMENTS, missing: default}  # type: ignore[arg-type]


def test_an_expression_that_backtracks_without_end_does_not_block_the_triggerer(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("ignite_default", conn_type="ignite")
    long = "a" * 200

    class Cluster(nullcontext[Any]):
        def __enter__(self) -> Any:
            return SimpleNamespace(active=lambda: True, cache_names=lambda: [long], cache=lambda name: CacheInfo(name, 8))

    monkeypatch.setattr("airflow_provider_ignite_kafka.hooks.ignite_connection.IgniteConnection.cluster", lambda *_: Cluster())

    async def run() -> int:
        trigger = IgniteCacheWatchTrigger(cache_whitelist=["(a+)+b", "(a|a)*c"], once=True)
        event = asyncio.ensure_future(anext(aiter(trigger.run())))
        turns = 0
        while not event.done():
            turns += 1
            await asyncio.sleep(0.001)
        assert (await event).payload["state"] == {}
        return turns

    assert asyncio.run(asyncio.wait_for(run(), 30)) > 0


POLL_S = 3.0  # a busy machine may let the loop wait for some tenths of a second


def test_a_cluster_that_accepts_and_never_answers_is_given_up_at_the_deadline(connect: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connect("silent", conn_type="ignite", host="127.0.0.1", port=silent.getsockname()[1])

        async def run() -> float:
            trigger = IgniteCacheWatchTrigger(ignite_conn_id="silent", poll_interval=60, poll_timeout=POLL_S)
            waiting = asyncio.ensure_future(anext(aiter(trigger.run())))
            began, longest = time.monotonic(), 0.0
            while time.monotonic() - began < POLL_S + 0.5:
                turn = time.monotonic()
                await asyncio.sleep(0.01)
                longest = max(longest, time.monotonic() - turn)
            assert not waiting.done()
            waiting.cancel()
            await asyncio.wait([waiting])
            return longest

        assert asyncio.run(run()) < POLL_S, "the loop of all triggers stood for a whole poll"


def test_an_asset_s_state_that_cannot_be_stored_is_stored_later() -> None:
    class Failing(Store):
        failures = 1

        async def aset(self, key: str, value: Any) -> None:
            if self.failures:
                self.failures -= 1
                raise AirflowFailException("no database")
            await super().aset(key, value)

    store = Failing()
    assert fired([caches("a"), caches("a")], store=store) == []
    assert names(fired([caches()], store=store)) == [([], ["a"])]


def stores_of(*assets: str) -> Any:
    """Airflow's accessor of assets' stores, with stores of the tests."""
    shared = AssetStateStoreAccessors(inlets=[Asset(name=name) for name in assets])
    shared._by_name = {name: Store() for name in shared._by_name}  # type: ignore[misc]
    return shared


@ASSET_STORE
def test_equal_triggers_of_two_assets_are_one_trigger_that_keeps_the_state_of_both() -> None:
    both = stores_of("one", "two")
    assert names(fired([caches("a"), caches("a", "b")], store=both)) == [(["b"], [])]
    assert both._by_name["one"].values == both._by_name["two"].values != {}
    assert names(fired([caches("b")], store=both)) == [([], ["a"])]


@ASSET_STORE
def test_an_asset_that_joins_a_trigger_gets_its_state() -> None:
    one = stores_of("two")
    assert fired([caches("a")], store=one) == []
    both = stores_of("one", "two")
    both._by_name["two"] = one._by_name["two"]
    assert names(fired([caches("a", "b")], store=both)) == [(["b"], [])]
    assert both._by_name["one"].values == both._by_name["two"].values


ARGUMENTS = {
    "ignite_conn_id": "secured",
    "cache_whitelist": ["a.*"],
    "cache_blacklist": ["ab"],
    "backlog_cache_name": "backlog",
    "kinds": ["created"],
    "poll_interval": 5.0,
    "known": state_to_dict(caches("a")),
    "once": True,
}


def test_trigger_survives_serialisation_and_holds_no_secret(connect: Any) -> None:
    connect("secured", conn_type="ignite", host="node-1", login="user", password="sesame", extra={"key_password": "mellon"})
    path, arguments = IgniteCacheWatchTrigger(**ARGUMENTS).serialize()  # type: ignore[arg-type]
    assert path == "airflow_provider_ignite_kafka.triggers.cache_watch.IgniteCacheWatchTrigger"
    assert arguments == ARGUMENTS
    assert IgniteCacheWatchTrigger(**arguments).serialize() == (path, arguments)
    assert not any(secret in json.dumps(arguments) for secret in ("sesame", "mellon", "user", "node-1"))


def test_sensor_and_trigger_poll_with_a_secrets_file(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect("ignite_default", conn_type="ignite")
    asked: list[str | None] = []

    def away(_connection: object, secrets_file: str | None, timeout_s: float) -> Any:
        asked.append(secrets_file)
        raise IgniteUnreachable("away")

    monkeypatch.setattr("airflow_provider_ignite_kafka.hooks.ignite_connection.IgniteConnection.cluster", away)
    waiting = sensor(secrets_file="/mnt/{{ params.file }}", deferrable=True)
    waiting.render_template_fields({"params": {"file": "s.json"}})
    with pytest.raises(TaskDeferred) as deferred:
        waiting.execute(Run().context)
    path, arguments = deferred.value.trigger.serialize()
    assert arguments["secrets_file"] == "/mnt/s.json"
    again = IgniteCacheWatchTrigger(**arguments)
    assert again.serialize() == (path, arguments)
    again._prepare()
    assert again.poller is not None
    with pytest.raises(IgniteUnreachable):
        again.poller.poll()
    assert asked == ["/mnt/s.json", "/mnt/s.json"]


@WATCHER_MAPPINGS
@pytest.mark.parametrize(
    "arguments",
    [{}, {"known": {}}, {**ARGUMENTS, "once": False}, {"secrets_file": "/mnt/s.json"}, {"poll_timeout": 5, "poll_interval": 30}],
    ids=["defaults", "empty", "all", "file", "timeout"],
)
def test_airflow_takes_the_stored_trigger_for_the_same_as_the_dag_s(arguments: dict[str, Any]) -> None:
    """Otherwise each parsing of the Dag would create a new trigger."""
    watcher = AssetWatcher(name="w", trigger=IgniteCacheWatchTrigger(**arguments))
    Asset("a", watchers=[watcher])
    encoded = encode_trigger(watcher.trigger)
    row = Trigger(classpath=encoded["classpath"], kwargs=encoded["kwargs"])
    assert BaseEventTrigger.hash(row.classpath, row.kwargs) == BaseEventTrigger.hash(encoded["classpath"], encoded["kwargs"])
    again = IgniteCacheWatchTrigger(**{name: smart_decode_trigger_kwargs(value) for name, value in row.kwargs.items()})
    assert again.serialize() == watcher.trigger.serialize()
