"""State of watchers in the stores of their assets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from airflow_provider_ignite_kafka.cache_watch.asset_state import AssetState
from airflow_provider_ignite_kafka.cache_watch.poll import CachePoller
from ignite_kafka.plan.cache_changes import KINDS, CacheLists, state_to_dict
from tests.unit.airflow.simulated_caches import Store, caches, fired, names

POLLER = CachePoller("ignite_default", CacheLists())
EARLIER: dict[str, Any] = {"id": "step", "state": state_to_dict(caches("a"))}  # without the time that later versions add


def state(*stores: Store, key: str = "key", earlier: str = "key") -> AssetState:
    return AssetState(stores, key, earlier)


def test_the_newest_state_of_several_assets_is_used_and_the_others_get_it() -> None:
    left, stays, new = Store(), Store(), Store()
    asyncio.run(state(left, stays).save(caches("a"), "1"))
    stays.values["key"] = stays.values["key"].replace('"written_ms": ', '"written_ms": 9').replace('"id": "1"', '"id": "2"')
    for stores in ((left, stays, new), (new, stays, left)):
        assert asyncio.run(state(*stores).load()) == (caches("a"), "2", False)
    asyncio.run(state(left, stays, new).save(caches("b"), "3"))
    assert asyncio.run(state(left, stays, new).load()) == (caches("b"), "3", True)


def test_without_a_store_nothing_is_missing() -> None:
    assert asyncio.run(state().load()) == (None, "", True)


def test_watchers_of_one_asset_for_different_changes_keep_their_states_apart() -> None:
    store = Store()
    assert fired([caches("a")], store=store, kinds=["created"]) == []
    assert fired([caches("a")], store=store, kinds=["destroyed"]) == []
    assert names(fired([caches("b")], store=store, kinds=["created"])) == [(["b"], [])]
    assert names(fired([caches("b")], store=store, kinds=["destroyed"])) == [([], ["a"])]


@pytest.mark.parametrize("kinds", [["created"], list(KINDS)])
def test_state_of_an_earlier_version_is_continued(kinds: list[str]) -> None:
    store = Store()
    store.set(POLLER.state_key(None), EARLIER)
    assert names(fired([caches("a", "b")], store=store, kinds=kinds)) == [(["b"], [])]


def test_an_earlier_version_can_read_the_state() -> None:
    store = Store()
    assert fired([caches("a")], store=store) == []
    kept = store.get(POLLER.state_key(None))
    assert (kept["id"], kept["state"]) == ("", state_to_dict(caches("a")))


@pytest.mark.parametrize(
    "unreadable", [{"id": "x"}, {"state": {"a": {}}}, {"state": 5, "id": "x"}, ["new"], {"state": {}, "written_ms": "soon"}], ids=str
)
def test_a_state_that_cannot_be_read_is_left_out(unreadable: Any) -> None:
    store = Store()
    store.set("key", unreadable)
    assert asyncio.run(state(store).load()) == (None, "", False)


def test_a_newer_version_s_state_is_read() -> None:
    store = Store()
    newer = {name: {**of_cache, "new": 1} for name, of_cache in EARLIER["state"].items()}
    store.set("key", {"id": "step", "state": newer, "written_ms": 7, "more": {}})
    assert asyncio.run(state(store).load()) == (caches("a"), "step", True)
