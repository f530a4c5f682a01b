"""Snapshots and streams through Kafka Connect's transforms and own ones, on real servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from pyspark.sql import SparkSession

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.errors import SettingsError, TransformFailed
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.verification.connector import check_connector
from ignite_kafka.verification.result import VerifyOptions
from tests.support.snapshot_world import ROWS, Trade, World
from tests.support.stream_world import Part, await_that
from tests.support.stream_world import World as StreamWorld

KAFKA = "org.apache.kafka.connect.transforms."
CAST = f"{KAFKA}Cast$Value"
DAY_MS = 86_400_000


def chain(**transforms: dict[str, str]) -> dict[str, Any]:
    """Settings of transforms, by alias."""
    return {"transforms": tuple(transforms), "transform_config": transforms}


def messages(world: World, topic: str) -> list[Message]:
    topics = Topics(world.clients)
    return list(read_to_end(world.clients, topics, topic, list(range(topics.partitions(topic)))))


def value_of(message: Message) -> Any:
    return json.loads(message.value() or b"null")


def key_of(message: Message) -> Any:
    return json.loads(message.key() or b"null")


def test_a_snapshot_is_transformed_routed_and_verified(fresh: World) -> None:
    transforms = chain(
        drop={"type": f"{KAFKA}ReplaceField$Value", "exclude": "price,at"},
        mask={"type": f"{KAFKA}MaskField$Value", "fields": "symbol"},
        by={"type": f"{KAFKA}InsertHeader", "header": "by", "value.literal": "ignite"},
        route={"type": f"{KAFKA}RegexRouter", "regex": "(.*)-trades", "replacement": "$1-masked"},
    )
    changed = {**transforms, "cache_whitelist": (f"{fresh.stem}-trades",), "provenance_headers": ("cache",)}
    cache = f"{fresh.stem}-trades"
    counts = fresh.run(**changed).caches[cache]
    assert (counts.entries, counts.records, counts.bad) == (ROWS, ROWS, 0)
    found = messages(fresh, f"{fresh.settings.topic_prefix}{fresh.stem}-masked")
    expected = {number: {"id": number} | ({"symbol": ""} if number % 7 else {}) for number in range(ROWS)}
    assert {key_of(one): value_of(one) for one in found} == expected
    assert {tuple(one.headers() or ()) for one in found} == {(("by", b"ignite"), ("ignite_kafka.cache", cache.encode()))}
    assert fresh.verify(**changed)["trades"].equal


def test_records_of_a_snapshot_go_to_topics_by_their_times(fresh: World) -> None:
    cache, prefix = f"{fresh.stem}-days", fresh.settings.topic_prefix
    days = {number: datetime(2024, 1, 30 + number % 2, tzinfo=UTC) for number in range(50)}
    with fresh.ignite.client() as client:
        client.create_cache(cache).put_all(
            {key: Trade(id=key, symbol="a", price=1.0, at=(at.replace(tzinfo=None), 0)) for key, at in days.items()}
        )
    transforms = chain(
        day={"type": f"{KAFKA}TimestampRouter"}, mask={"type": f"{KAFKA}ReplaceField$Value", "include": "id"},
        topic={"type": f"{KAFKA}InsertField$Value", "topic.field": "topic"},
    )  # fmt: skip
    changed = {**transforms, "cache_whitelist": (cache,), "record_timestamp_field": "at"}
    counts = fresh.run("days", **changed).caches[cache]
    assert (counts.entries, counts.records, counts.bad) == (50, 50, 0)
    assert fresh.run("days", **changed).already_complete
    names = {day: f"{prefix}{cache}-202401{day}" for day in (30, 31)}
    for day, name in names.items():
        found = messages(fresh, name)
        assert {key_of(one): value_of(one) for one in found} == {
            key: {"id": key, "topic": name} for key, at in days.items() if at.day == day
        }
        assert {one.timestamp()[1] for one in found} == {int(datetime(2024, 1, day, tzinfo=UTC).timestamp() * 1000)}
    existing = Topics(fresh.clients).existing()
    assert {name: count for name, count in existing.items() if cache in name} == dict.fromkeys(names.values(), 3)
    with pytest.raises(SettingsError, match="transforms give each record of these caches a topic"):
        check_connector(replace(fresh.settings, **changed), Secrets(), VerifyOptions())


def test_an_own_transform_is_shipped_with_the_app_and_dropped_entries_count_as_read(
    fresh: World, spark: SparkSession, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    module = unique("own").replace("-", "_")
    path = tmp_path / f"{module}.py"
    path.write_text(
        "import pyarrow.compute as pc\nfrom ignite_kafka import transform_function\n\n\n"
        "@transform_function\ndef small(batch, most):\n"
        "    return batch.filter(pc.less(pc.struct_field(batch['value'], 'id'), int(most)))\n"
    )
    spark.sparkContext.addPyFile(str(path))
    changed = {**chain(own={"type": f"{module}:small", "most": "100"}), "cache_whitelist": (f"{fresh.stem}-trades",)}
    counts = fresh.run(**changed).caches[f"{fresh.stem}-trades"]
    assert (counts.entries, counts.records, counts.bad) == (ROWS, 100, 0)
    assert {key_of(one) for one in messages(fresh, f"{fresh.settings.topic_prefix}{fresh.stem}-trades")} == set(range(100))


def test_an_exception_stops_the_run_or_makes_dead_letters(fresh: World) -> None:
    cache, dead = f"{fresh.stem}-names", f"{fresh.settings.name}-dead"
    changed = {**chain(number={"type": CAST, "spec": "int32"}), "cache_whitelist": (cache,)}
    with pytest.raises(TransformFailed, match="transform number throws") as stopped:
        fresh.run(**changed)
    assert stopped.value.where["cache"] == cache
    assert stopped.value.where["transform"] == "number"
    assert {"partition", "key"} <= stopped.value.where.keys()
    letters = {"error_handling_policy": "DEAD_LETTER", "dead_letter_topic": dead}
    counts = fresh.run(f"{fresh.settings.name}-2", **changed, **letters).caches[cache]
    assert (counts.entries, counts.records, counts.bad) == (50, 0, 50)
    found = messages(fresh, dead)
    assert len(found) == 50
    headers = [dict(one.headers() or ()) for one in found]
    assert {one["__connect.errors.stage"] for one in headers} == {b"TRANSFORMATION"}
    assert {one["__connect.errors.class.name"] for one in headers} == {CAST.encode()}
    assert {one["__connect.errors.exception.class.name"] for one in headers} == {b"org.apache.kafka.connect.errors.DataException"}
    assert {one["ignite_kafka.errors.cache"] for one in headers} == {cache.encode()}


def test_a_stream_is_transformed_and_removals_are_tombstones(stream: StreamWorld) -> None:
    transforms = chain(
        drop={"type": f"{KAFKA}ReplaceField$Value", "renames": "name:label"},
        by={"type": f"{KAFKA}InsertHeader", "header": "by", "value.literal": "ignite"},
    )
    stream.settings = replace(stream.settings, **transforms)
    stream.put("parts", {key: Part(key, f"part {key}") for key in range(20)})
    with stream.running() as run:
        stream.await_equal("parts", run)
        stream.put("parts", {key: Part(key, f"changed {key}") for key in range(5, 30)})
        stream.remove("parts", [1, 2])
        stream.await_equal("parts", run)
        await_that(lambda: (b"2", None) in stream.records("parts"), "tombstones", run)
    last = dict(stream.records("parts"))
    assert last[b"1"] is None
    assert json.loads(last[b"7"] or b"") == {"id": 7, "label": "changed 7"}
    assert {tuple(one.headers() or ()) for one in stream.messages("parts")} == {(("by", b"ignite"),)}


def test_changes_of_a_stream_go_to_topics_by_their_times(stream: StreamWorld) -> None:
    stream.settings = replace(
        stream.settings, process_removals=False, record_timestamp_field="id", **chain(day={"type": f"{KAFKA}TimestampRouter"})
    )

    def texts(day: int) -> list[str]:
        return sorted(value_of(one)["name"] for one in stream.messages(f"parts-1970010{day}"))

    stream.put("parts", {day: Part(day * DAY_MS, "loaded") for day in (1, 2)})
    with stream.running() as run:
        await_that(lambda: texts(2) == texts(3) == ["loaded"], "the entries of both days", run)
        stream.put("parts", {2: Part(3 * DAY_MS, "moved"), 4: Part(2 * DAY_MS, "new")})
        stream.remove("parts", [1])
        await_that(lambda: texts(4) == ["moved"] and texts(3) == ["loaded", "new"], "changes in the topics of their days", run)
    assert texts(2) == ["loaded"]
    assert [name for name in Topics(stream.clients).existing() if name == f"{stream.stem}-parts"] == []


def test_a_filter_of_tombstones_keeps_removed_keys_in_the_topic(stream: StreamWorld) -> None:
    filtered = {
        **chain(live={"type": f"{KAFKA}Filter", "predicate": "gone"}),
        "predicates": ("gone",),
        "predicate_config": {"gone": {"type": f"{KAFKA}predicates.RecordIsTombstone"}},
    }
    stream.settings = replace(stream.settings, **filtered)
    stream.put("parts", {key: Part(key, f"part {key}") for key in range(3)})
    with stream.running() as run:
        stream.await_equal("parts", run)
        stream.remove("parts", [1])
        stream.put("parts", {2: Part(2, "behind the removal")})
        await_that(lambda: dict(stream.records("parts")).get(b"2") == b'{"id":2,"name":"behind the removal"}', "the later put", run)
    assert dict(stream.records("parts")).keys() == {b"0", b"1", b"2"}
    assert all(value is not None for _, value in stream.records("parts"))
