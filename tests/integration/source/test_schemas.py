"""Settings of schemas, by the records that snapshots of a real cluster write with each of them."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pyignite import GenericObjectMeta
from pyignite.datatypes import DateObject, IntObject, String
from pyspark.sql import SparkSession

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.runtime.clients import kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.snapshot.run import run_snapshot
from tools.servers import IgniteCluster, KafkaBroker

WITH_SCHEMAS = {"schemas.enable": "true"}
UNDEFINED = {"type": "struct", "fields": [], "optional": True, "name": "o.g.k.c.s.undef"}


@dataclass(frozen=True)
class Source:
    """A cache, and snapshots of it that differ in their settings."""

    spark: SparkSession
    ignite: IgniteCluster
    kafka: KafkaBroker
    cache: str

    def records(self, **changed: Any) -> dict[bytes, bytes]:
        """Key and value of each record of a new snapshot."""
        name = f"s{uuid.uuid4().hex[:8]}"
        settings = SourceSettings(
            name=name,
            ignite_addresses=self.ignite.addresses,
            bootstrap_servers=self.kafka.bootstrap,
            cache_whitelist=(self.cache,),
            topic_prefix=f"{name}-",
            internal_topic_prefix=f"in-{name}",
            topic_partitions=1,
            slots=4,
            **changed,
        )
        run_snapshot(self.spark, RunRequest(settings, uuid.uuid4().hex, "once"))
        clients = kafka_clients(settings, Secrets())
        found = read_to_end(clients, Topics(clients), f"{name}-{self.cache}", [0])
        return {message.key() or b"": message.value() or b"" for message in found}

    def values(self, **changed: Any) -> list[Any]:
        """Parsed values by key."""
        return [json.loads(value) for _, value in sorted(self.records(**changed).items())]


@pytest.fixture(scope="module")
def source(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[Source]:
    """Entry 1 has no town; entry 2 is of the class after it got field `since`."""
    stem = f"Person{uuid.uuid4().hex[:6]}"
    older: Any = GenericObjectMeta(stem, (), {}, schema={"name": String, "town": String})
    newer: Any = GenericObjectMeta(stem, (), {}, schema={"name": String, "town": String, "since": IntObject})
    with ignite.client() as client:
        cache = client.get_or_create_cache(stem)
        cache.put(1, older("a", None), key_hint=IntObject)
        cache.put(2, newer("b", "Ulm", 2020), key_hint=IntObject)
        yield Source(spark, ignite, kafka, stem)
        cache.destroy()


def _schema(source: Source, *fields: str) -> dict[str, Any]:
    kinds = {"name": "string", "town": "string", "since": "int32"}
    shown = [{"type": kinds[field], "optional": True, "field": field} for field in fields]
    return {"type": "struct", "fields": shown, "optional": False, "name": source.cache}


def test_lazy_leaves_null_fields_out_of_schema_and_record(source: Source) -> None:
    assert source.values(value_converter_config=WITH_SCHEMAS) == [
        {"schema": _schema(source, "name"), "payload": {"name": "a"}},
        {"schema": _schema(source, "name", "town", "since"), "payload": {"name": "b", "town": "Ulm", "since": 2020}},
    ]
    assert source.values() == [{"name": "a"}, {"name": "b", "town": "Ulm", "since": 2020}]


def test_eager_has_all_fields_of_the_type(source: Source) -> None:
    whole = _schema(source, "name", "town", "since")
    assert source.values(value_converter_config=WITH_SCHEMAS, field_nullability_policy="EAGER") == [
        {"schema": whole, "payload": {"name": "a", "town": None, "since": None}},
        {"schema": whole, "payload": {"name": "b", "town": "Ulm", "since": 2020}},
    ]
    plain = source.values(field_nullability_policy="EAGER")
    assert plain == [{"name": "a", "town": None, "since": None}, {"name": "b", "town": "Ulm", "since": 2020}]


def test_the_schema_of_the_first_value_is_that_of_all(source: Source) -> None:
    found = source.values(value_converter_config=WITH_SCHEMAS, is_schema_dynamic=False, tasks_max=1)
    assert len({json.dumps(one["schema"]) for one in found}) == 1
    (shown,) = {tuple(field["field"] for field in one["schema"]["fields"]) for one in found}
    assert shown in (("name",), ("name", "town", "since"))  # whichever entry is read first
    assert [one["payload"]["name"] for one in found] == ["a", "b"]


def test_schemaless_records_have_null_as_their_schema(source: Source) -> None:
    found = source.values(value_converter_config=WITH_SCHEMAS, is_schemaless=True)
    assert found == [{"schema": None, "payload": {"name": "a"}}, {"schema": None, "payload": {"name": "b", "town": "Ulm", "since": 2020}}]


@pytest.mark.parametrize(
    ("converter", "config", "keys"),
    [
        ("json", WITH_SCHEMAS, [b'{"schema":{"type":"int32","optional":false},"payload":%d}' % key for key in (1, 2)]),
        ("string", {}, [b"1", b"2"]),
        ("integer", {}, [b"\0\0\0\1", b"\0\0\0\2"]),
        ("ignite-binary", {}, [b"\3\1\0\0\0", b"\3\2\0\0\0"]),
    ],
)
def test_keys_have_a_converter_of_their_own(source: Source, converter: str, config: dict[str, str], keys: list[bytes]) -> None:
    found = source.records(key_converter=converter, key_converter_config=config)
    assert sorted(found) == keys
    assert [json.loads(found[key]) for key in keys] == [{"name": "a"}, {"name": "b", "town": "Ulm", "since": 2020}]


def test_a_converter_that_cannot_write_the_type_ends_the_run_with_its_name(source: Source) -> None:
    with pytest.raises(UnsupportedType, match=rf"cache {source.cache}"):
        source.records(value_converter="string")


def test_dates_have_the_days_of_their_time_zone(ignite: IgniteCluster, source: Source, unique: Callable[[str], str]) -> None:
    """A java.util.Date is an instant: the zone of dates does not move it."""
    name = unique("dates")
    with ignite.client() as client:
        cache = client.get_or_create_cache(name)
        cache.put(1, datetime.datetime(2026, 1, 1, tzinfo=UTC), key_hint=IntObject, value_hint=DateObject)
        moved = Source(source.spark, ignite, source.kafka, name)
        assert moved.values(date_time_zone="Europe/Berlin") == moved.values() == [1_767_225_600_000]
        cache.destroy()
