"""A router: entries by cache, what a filter keeps, and heads of values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.kafka.headers import headers_of
from ignite_kafka.state.cache_records import cache_key, cache_to_json
from tests.support.ignite_bytes import number
from tests.support.sink_stores import KAFKA, Caches, by_day, make_plan, make_router, routed_plan
from tests.support.to_ignite_records import consumed
from tests.support.types_log import NAME, TypesLog
from tests.unit.sink.test_cache_division import with_names

SCHEMAS = {"schemas.enable": "true"}
ENVELOPE = b'{"schema":{"type":"int32","optional":false},"payload":7}'


def test_what_is_compared_with_a_cache_is_what_the_filter_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    log, caches = TypesLog(), Caches()
    caches.replace_cluster(monkeypatch, log)
    router = make_router(make_plan(types_topic=NAME, where="n >= 2"), caches)
    routed = router.route(consumed([b'{"n":1}', None, b'{"n":2}', b'{"n":', b'{"n":3}']))
    ((cache, entries),) = routed.parts
    assert (cache, entries.rows.tolist(), entries.values.null_count, entries.bad) == ("cache", [1, 2, 4], 1, ())
    assert ([record.row for record in routed.bad], routed.filtered) == ([3], 1)
    assert not router.needs_times
    assert caches.put == []


def test_what_is_compared_is_by_cache_in_the_order_of_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, caches = by_day(monkeypatch, where="_key <> 3")
    router = make_router(plan, caches)
    assert (router.needs_times, router.needs_headers) == (True, False)
    given = replace(
        consumed([b'{"x":1}', b'{"x":2}', b'{"x":3}', b"7", b'{"x":4}'], [b"1", b"2", b"3", b"4", b"5"]),
        times_ms=np.array([0, 86_400_000, 0, 0, 0]),
    )
    days = [f"topic-1970010{day}" for day in (1, 2)]
    assert router.count_caches(given) == {days[0]: 3, days[1]: 1}, "3 is counted, 4 is refused by a transform"
    routed = router.route(given, leave_out=days[1:])
    assert caches.names == days[:1], "a cache that is left out is not created"
    assert ([cache for cache, _ in routed.parts], [record.row for record in routed.bad]) == (days[:1], [3])
    parts = router.route(given).parts
    assert {cache: made.rows.tolist() for cache, made in parts} == {days[0]: [0, 4], days[1]: [1]}
    assert [made.keys.to_pylist() for _, made in parts] == [[number(codes.LONG, key) for key in keys] for keys in ((1, 5), (2,))]
    assert all(put == [] for put in caches.by_cache.values())


def test_headers_choose_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    transforms = {
        kind: {"type": f"{KAFKA}RegexRouter", "regex": "topic", "replacement": kind, "predicate": f"is-{kind}"}
        for kind in ("orders", "returns")
    }
    predicates = {f"is-{kind}": {"type": f"{KAFKA}predicates.HasHeaderKey", "name": kind} for kind in transforms}
    plan, caches = routed_plan(
        monkeypatch,
        transforms=",".join(transforms), transform_config=transforms, predicates=",".join(predicates), predicate_config=predicates,
    )  # fmt: skip
    router = make_router(plan, caches)
    assert router.needs_headers
    names = ["orders", "other", "returns", "returns", "orders"]  # the last record has two headers, of which the first router's counts
    headers = headers_of(np.array([1, 1, 1, 2]), pa.array(names, pa.string()), pa.array([b""] * 5, pa.binary()))
    given = replace(consumed([b'{"x":1}', b'{"x":2}', b'{"x":3}', None]), headers=headers)
    assert router.count_caches(given) == {"orders": 2, "returns": 1, "topic": 1}
    parts = {cache: made.rows.tolist() for cache, made in router.route(given).parts}
    assert parts == {"orders": [0, 3], "returns": [2], "topic": [1]}


def test_a_header_names_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, caches = routed_plan(monkeypatch, cache_header="cache", header_caches="orders,returns,absent", where="_key <> 9")
    router = make_router(plan, caches)
    assert (router.needs_headers, router.needs_times) == (True, False)
    names: list[bytes | None] = [b"orders", b"returns", b"staff", b"orders", b"returns", None, b"absent", b"orders"]
    values = [b'{"x":1}', b'{"x":2}', b'{"x":3}', None, b'{"x":', b'{"x":6}', b'{"x":7}', b'{"x":8}']
    given = with_names(consumed(values, [b"1", b"1", b"1", b"1", b"1", b"1", b"1", b"9"]), names)
    assert router.count_caches(given) == {"orders": 3, "returns": 2, "absent": 1}
    routed = router.route(given, leave_out=["absent"])
    assert sorted(caches.names) == ["orders", "returns"], "neither a cache that is left out nor one that is not admitted is created"
    parts = {cache: (made.rows.tolist(), made.keys.to_pylist(), made.values.null_count) for cache, made in routed.parts}
    key = number(codes.LONG, 1)
    assert parts == {"orders": ([0, 3], [key, key], 1), "returns": ([1], [key], 0)}
    assert [record.row for record in routed.bad] == [2, 4, 5]
    assert routed.filtered == 1


def test_transforms_see_the_records_of_each_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    drop = {"type": f"{KAFKA}Filter", "predicate": "gone"}
    gone = {"gone": {"type": f"{KAFKA}predicates.RecordIsTombstone"}}
    plan, caches = routed_plan(
        monkeypatch, cache_header="cache", header_caches=".*",
        transforms="drop", transform_config={"drop": drop}, predicates="gone", predicate_config=gone,
    )  # fmt: skip
    router = make_router(plan, caches)
    given = with_names(consumed([b'{"x":1}', None, b'{"x":3}', b'{"x":4}', None]), [b"a", b"a", b"b", b"a", b"c"])
    assert router.count_caches(given) == {"a": 2, "b": 1}
    assert {cache: made.rows.tolist() for cache, made in router.route(given).parts} == {"a": [0, 3], "b": [2]}
    assert sorted(caches.names) == ["a", "b"]


def test_a_cache_that_a_header_names_is_created_as_that_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, caches = routed_plan(monkeypatch, cache_header="cache", header_caches=".*", cache_prefix="copy-")
    log, made = TypesLog(), list[CacheConfiguration]()
    for name, backups in (("topic/a", 2), ("topic", 1)):
        log.records.append((cache_key(name), cache_to_json(CacheConfiguration("a", backups=backups))))
    caches.replace_cluster(monkeypatch, log)

    def create(cluster: object, wanted: CacheConfiguration) -> CacheInfo:
        made.append(wanted)
        return caches.create(cluster, wanted)

    monkeypatch.setattr("ignite_kafka.sink.caches.get_or_create_cache", create)
    make_router(plan, caches).route(with_names(consumed([b"1", b"2"]), [b"a", b"b"]))
    assert [(cache.name, cache.backups) for cache in made] == [("copy-a", 2), ("copy-b", CacheConfiguration("b").backups)]


def test_heads_of_json_with_schemas_are_cut() -> None:
    overrides = {"plain": {"value_converter_config": {"schemas.enable": "false"}}}
    router = make_router(make_plan(("topic", "plain"), value_converter_config=SCHEMAS, overrides=overrides), Caches())
    assert router.head_of is not None
    assert router.head_of("topic", ENVELOPE) == ENVELOPE[:-2]
    assert router.head_of("plain", ENVELOPE) == b""


def test_a_record_without_its_head_is_the_same_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    log, caches = TypesLog(), Caches()
    caches.replace_cluster(monkeypatch, log)
    head, rest = ENVELOPE[:-2], [b"7}", b'"x"}', None, b"9}"]
    whole = [None if value is None else head + value for value in rest]
    results = []
    for batch in (consumed(whole), replace(consumed(rest), head=head)):
        plan = make_plan(value_converter_config=SCHEMAS, types_topic=NAME, error_handling_policy="LOG_ONLY", process_updates=True)
        routed = make_router(plan, caches).route(batch)
        ((_, entries),) = routed.parts
        results.append((entries.rows.tolist(), entries.keys.to_pylist(), entries.values.to_pylist(), routed.bad))
    assert results[0] == results[1]
    assert results[0][0] == [0, 2, 3]
    assert [bad.row for bad in results[0][3]] == [1]
