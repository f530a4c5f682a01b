"""The difference of two looks at a cluster's caches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import CacheNotFound, IgniteUnreachable, SettingsError
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.plan import routing
from ignite_kafka.plan.cache_changes import (
    KINDS,
    CacheDiff,
    CacheLists,
    CacheState,
    difference,
    poll_all,
    poll_caches,
    state_of,
    state_to_dict,
)
from tests.support.randomness import examples

CACHE = CacheState(7, 32, "PARTITIONED", "ATOMIC")
STATES = st.builds(
    CacheState,
    st.sampled_from([1, 2]),
    st.sampled_from([0, 7, 32]),
    st.sampled_from(["PARTITIONED", "REPLICATED"]),
    st.sampled_from(["ATOMIC", "TRANSACTIONAL"]),
    st.lists(st.text(max_size=3), max_size=2).map(tuple),
    st.sampled_from(["", "digest"]),
    st.sampled_from(["", "a", "b"]),
)
LOOKS = st.dictionaries(st.text(max_size=3), STATES, max_size=5)


@settings(max_examples=examples(40))
@given(LOOKS)
def test_no_difference_to_itself(state: dict[str, CacheState]) -> None:
    assert not difference(state, state)


@settings(max_examples=examples(40))
@given(LOOKS, LOOKS)
def test_difference_leads_from_one_state_to_the_other(before: dict[str, CacheState], after: dict[str, CacheState]) -> None:
    diff = difference(before, after)
    assert (before.keys() - set(diff.destroyed)) | set(diff.created) == after.keys() == diff.state.keys()
    assert set(diff.changed) <= before.keys() & after.keys()
    assert not set(diff.changed) & {*diff.created, *diff.destroyed}
    for name in before.keys() & after.keys() - {*diff.created, *diff.changed}:
        assert replace(before[name], partitions=0, incarnation="") == replace(after[name], partitions=0, incarnation="")
    assert not difference(diff.state, after)
    assert difference(before, after).id == diff.id


@settings(max_examples=examples(40))
@given(LOOKS, LOOKS)
def test_difference_and_state_survive_json(before: dict[str, CacheState], after: dict[str, CacheState]) -> None:
    diff = difference(before, after)
    data = json.loads(json.dumps(diff.to_dict()))
    assert CacheDiff.from_dict(data) == diff
    for form in (data, data["state"], json.dumps(data), json.dumps(data["state"])):
        assert state_of(form) == diff.state


@settings(max_examples=examples(40))
@given(LOOKS, LOOKS, st.sets(st.sampled_from(KINDS)))
def test_only_some_kinds(before: dict[str, CacheState], after: dict[str, CacheState], kinds: set[str]) -> None:
    diff = difference(before, after)
    some = diff.only(kinds)
    assert all(getattr(some, kind) == getattr(diff, kind) if kind in kinds else not getattr(some, kind) for kind in KINDS)
    assert (some.id, some.state) == (diff.id, diff.state)


@settings(max_examples=examples(40))
@given(LOOKS, LOOKS)
def test_whitelist_matches_what_came_or_changed_and_nothing_else(before: dict[str, CacheState], after: dict[str, CacheState]) -> None:
    diff = difference(before, after)
    matched = {name for name in {*before, *after, "other"} if routing.matches(name, diff.cache_whitelist)}
    assert matched == {*diff.created, *diff.changed}


@pytest.mark.parametrize(
    "other",
    [
        {"cache_id": 8},
        {"partitions": 64},
        {"mode": "REPLICATED"},
        {"atomicity": "TRANSACTIONAL"},
        {"incarnation": "second"},
        {"types": ("k → other",)},
    ],
    ids=str,
)
def test_made_again_is_destroyed_and_created(other: dict[str, Any]) -> None:
    before = replace(CACHE, incarnation="first", types=("k → v",))
    diff = difference({"c": before}, {"c": replace(before, **other)})
    assert (diff.created, diff.destroyed, diff.changed) == (("c",), ("c",), {})


@pytest.mark.parametrize("other", [{"types": ("a → b",)}, {"columns": "other"}], ids=str)
def test_other_query_entities_are_a_change(other: dict[str, Any]) -> None:
    diff = difference({"c": CACHE}, {"c": replace(CACHE, **other)})
    assert (diff.created, diff.destroyed, dict(diff.changed)) == ((), (), {"c": tuple(other)})


@pytest.mark.parametrize(("field", "unknown"), [("partitions", 0), ("incarnation", "")])
def test_what_is_not_known_for_a_while_is_no_change(field: str, unknown: Any) -> None:
    known = {"c": replace(CACHE, incarnation="first")}
    away = difference(known, {"c": replace(known["c"], **{field: unknown})})
    assert not away
    assert away.state == known


def test_state_of_a_cache_follows_its_query_entities() -> None:
    entity = QueryEntity("java.lang.Long", "Flight", fields=(QueryField("id", "java.lang.Long"),))
    plain, one = CacheInfo("c", 7, 32), CacheInfo("c", 7, 32, query_entities=(entity,))
    wider = replace(one, query_entities=(replace(entity, fields=(*entity.fields, QueryField("at", "java.sql.Timestamp"))),))
    assert CacheState.of(plain) == CACHE
    assert CacheState.of(one).types == ("java.lang.Long → Flight",)
    assert CacheState.of(wider).changed_fields(CacheState.of(one)) == ("columns",)
    assert CacheState.of(one).changed_fields(CACHE) == ("types", "columns")


class Caches:
    """A cluster with these caches; those without a value go while they are looked at."""

    def __init__(self, caches: Mapping[str, CacheInfo | None], active: bool = True) -> None:
        self.caches, self.is_active = caches, active

    def cache_names(self) -> list[str]:
        return sorted(self.caches)

    def cache(self, name: str) -> CacheInfo:
        found = self.caches[name]
        if found is None:
            raise CacheNotFound("gone", cache=name)
        return found

    def active(self) -> bool:
        return self.is_active


def test_a_look_chooses_as_a_connector_does() -> None:
    names = ["air", "airport", "sea", "backlog", "backlog-one", "ignite-sys-cache"]
    cluster = Caches({**{name: CacheInfo(name, 1) for name in names}, "air-gone": None})
    lists = CacheLists(("air.*", "back.*", "ignite.*"), ("airp.*",), "backlog")
    assert list(poll_caches(cluster, lists)) == ["air"] == routing.select(names, lists.whitelist, lists.blacklist, "backlog")


def test_a_cluster_that_is_not_active_is_not_looked_at() -> None:
    with pytest.raises(IgniteUnreachable, match="not active"):
        poll_caches(Caches({}, active=False), CacheLists())


def test_one_poll_serves_several_lists_and_reads_each_cache_once() -> None:
    read: list[str] = []

    class Counting(Caches):
        def cache(self, name: str) -> CacheInfo:
            read.append(name)
            return super().cache(name)

    cluster = Counting({name: CacheInfo(name, 1) for name in ("air", "airport", "sea")})
    both, one, none, wrong = CacheLists(("air.*",)), CacheLists(("airport",)), CacheLists(("x",)), CacheLists(("[",))
    found = poll_all(cluster, [both, one, none, wrong])
    assert [list(found[lists]) for lists in (both, one, none)] == [["air", "airport"], ["airport"], []]  # type: ignore[arg-type]
    assert isinstance(found[wrong], SettingsError)
    assert read == ["air", "airport"]
    with pytest.raises(SettingsError):
        poll_caches(cluster, wrong)


def test_a_poll_that_takes_too_long_reads_no_further_cache() -> None:
    now = iter([0.0, 1.0, 3.0])
    cluster = Caches({name: CacheInfo(name, 1) for name in ("a", "b", "c")})
    with pytest.raises(IgniteUnreachable, match="answers too slowly"):
        poll_caches(cluster, CacheLists(), Deadline.after(2.0, lambda: next(now)))


def test_states_of_newer_and_older_versions_are_read() -> None:
    newer = {"c": {**CACHE.to_dict(), "new": 1}}
    assert state_of(newer) == {"c": CACHE}
    older = state_of({"c": {"cache_id": CACHE.cache_id}})
    assert older is not None
    assert not difference(older, {"c": CACHE})
    assert difference(older, {"c": CACHE}).state == {"c": CACHE}
    diff = {"id": "1", "state": {"c": {"cache_id": CACHE.cache_id}}, "moved": []}
    assert CacheDiff.from_dict(diff) == CacheDiff("1", state=older)


@pytest.mark.parametrize("nothing", [None, "", " None ", "null"])
def test_no_state(nothing: str | None) -> None:
    assert state_of(nothing) is None


def test_an_empty_state_is_one() -> None:
    assert state_of("{}") == state_of({}) == {}
    assert difference({}, {"c": CACHE}).created == ("c",)


def test_caches_of_any_name_are_kept() -> None:
    state = {"state": CACHE, "id": CACHE}
    assert state_of(state_to_dict(state)) == state


@pytest.mark.parametrize("wrong", ["caches", "[1]", [1], 3, {"c": {}}, {"c": None}, {"id": "x"}])
def test_what_holds_no_state_is_refused(wrong: object) -> None:
    with pytest.raises(SettingsError, match="known holds no state"):
        state_of(wrong)
