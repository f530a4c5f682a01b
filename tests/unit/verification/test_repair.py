"""A repair sends what differs and nothing else, and only while no run of the connector is active."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from ignite_kafka.kafka.headers import pairs
from ignite_kafka.kafka.records import Records
from ignite_kafka.plan.source_plan import CachePlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.verification import repair
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.repair import select_records, store_again


def records(*pairs: tuple[bytes, bytes]) -> Records:
    keys, values = (pa.array([pair[side] for pair in pairs], pa.binary()) for side in (0, 1))
    return Records(keys, values)


def sent(parts: list[Records]) -> list[tuple[bytes, bytes | None]]:
    return [pair for part in parts for pair in zip(part.keys.to_pylist(), part.values.to_pylist(), strict=True)]


def test_missing_and_different_records_are_sent_and_tombstones_of_unexpected_keys() -> None:
    result = PairDifferences("c", "t", keys={})
    for kind, key in (("missing", b"1"), ("different", b"2"), ("unexpected", b"9"), ("missing", b"twice")):
        result.note(cast(Any, kind), key, "text")
    batches = [records((b"1", b"a"), (b"3", b"c"), (b"twice", b"x")), records((b"2", b"b"), (b"twice", b"y"))]
    assert sent(select_records(batches, result)) == [(b"1", b"a"), (b"2", b"b"), (b"9", None)]


def test_tombstones_are_left_out_where_they_are_not_wanted() -> None:
    result = PairDifferences("c", "t", keys={})
    result.note("missing", b"1", "text")
    result.note("unexpected", b"9", "text")
    assert sent(select_records([records((b"1", b"a"))], result, tombstones=False)) == [(b"1", b"a")]


def test_nothing_is_sent_where_nothing_differs() -> None:
    assert select_records([records((b"1", b"a"))], PairDifferences("c", "t", keys={})) == []
    assert select_records([], PairDifferences("c", "t")) == []


def test_entries_are_put_and_removed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, list[bytes]]] = []

    class Writer:
        def __init__(self, _cluster: Any, cache: str, *, overwrite: bool, fence: None) -> None:
            assert (cache, overwrite, fence) == ("info of c", True, None)

        def __enter__(self) -> Writer:
            return self

        def __exit__(self, *_: object) -> None:
            calls.append(("close", []))

        def put(self, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
            calls.append(("put", [*keys.to_pylist(), *values.to_pylist()]))

        def remove(self, keys: pa.BinaryArray) -> None:
            calls.append(("remove", keys.to_pylist()))

        def flush(self) -> None:
            calls.append(("flush", []))

    monkeypatch.setattr(repair, "CacheWriter", Writer)
    cluster: Any = SimpleNamespace(cache=lambda name: f"info of {name}")
    claim: Any = SimpleNamespace(fence="", check=lambda clients: calls.append((clients, [])))
    assert store_again(claim, cast(Any, "check by these clients"), cluster, "c", {b"1": b"a"}, [b"2", b"3"]) == 3
    assert calls == [("check by these clients", []), ("put", [b"1", b"a"]), ("remove", [b"2", b"3"]), ("flush", []), ("close", [])]


def test_records_and_tombstones_of_a_repair_have_the_header_with_their_cache() -> None:
    produced: list[tuple[str, Records]] = []
    producer = SimpleNamespace(begin=lambda: None, commit=lambda: None, produce_records=lambda *given: produced.append(given))
    parts = [records((b"1", b"a")), Records(pa.array([b"2"], pa.binary()), pa.nulls(1, pa.binary()))]
    cache = CachePlan("orders", 1, "shop", 1, 1)
    repair._send(cast(Any, producer), SourceSettings(name="c", cache_header="cache"), cache, parts, cast(Any, None))
    assert [(topic, part.values.null_count) for topic, part in produced] == [("shop", 0), ("shop", 1)]
    assert [pairs(part.headers) for _, part in produced if part.headers is not None] == [[[("cache", b"orders")]]] * 2
