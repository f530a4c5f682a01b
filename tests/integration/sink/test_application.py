"""Records of foreign producers in the caches of a Java application, whose own puts and reads go on, on real servers."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import fastavro
import pytest

from ignite_kafka.events import KEY_SPELLED_OTHERWISE
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.schema import get_or_create_cache, register_type
from ignite_kafka.ignite.types.model import BinaryType, QueryEntity, QueryField, class_id
from ignite_kafka.java.hash_code import java_hash
from ignite_kafka.registry.client import Registry
from ignite_kafka.registry.schema import AVRO, RegistrySchema
from ignite_kafka.settings.sink import SinkSettings
from tests.support.ignite_bytes import string
from tests.support.java_programs import IGNITE_CLIENT_JVM, JavaProgram
from tests.support.json_forms import as_json, with_schema
from tests.support.kept_events import assert_kept
from tests.support.registry import config
from tests.support.sink_connector import Sink
from tests.support.two_clusters import Copy
from tests.support.verified_results import counts as verified_counts
from tests.support.verified_results import verified
from tools.servers import IgniteCluster, Jars, SchemaRegistry

Application = Callable[[str, str], list[str]]
INT, LONG, TEXT = "java.lang.Integer", "java.lang.Long", "java.lang.String"
BUS = {
    "type": "record",
    "name": "Bus",
    "fields": [{"name": "model", "type": "string"}, {"name": "color", "type": ["null", "string"], "default": None}],
}


@pytest.fixture(scope="module")
def application(ignite: IgniteCluster, jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """`application(do, cache or query)`: lines that the Java program gives; a put that fails ends the test."""
    classes = tmp_path_factory.mktemp("application")
    program = JavaProgram("Application", [jars.thin_client, jars.kafka], classes, [ignite.address], options=IGNITE_CLIENT_JVM)

    def ask(what: str, cache_or_query: str) -> list[str]:
        answer = program.ask({"do": what, "with": cache_or_query})
        assert "error" not in answer, f"{what}: {answer['error']}"
        return sorted(answer["lines"])

    yield ask
    program.close()


def context(sink: Sink, dead_topic: str) -> list[dict[str, str]]:
    """What the headers of each dead letter say of its error."""
    found = []
    for letter in sink.messages(dead_topic):
        headers = cast(list[tuple[str, bytes]], letter.headers())
        found.append({name.removeprefix("__connect.errors."): value.decode() for name, value in headers if name.startswith("__connect")})
    return found


def entities() -> dict[str, QueryEntity]:
    """Query entities of the application's caches, by the end of the cache's name."""
    person: dict[str, Any] = {
        "key_type": INT,
        "key_field": "id",
        "fields": (QueryField("id", INT, is_key=True), QueryField("name", TEXT), QueryField("age", INT)),
    }
    badge = (QueryField("dept", INT, is_key=True), QueryField("id", INT, is_key=True), QueryField("name", TEXT))
    found = {
        "staff": QueryEntity(value_type="Application$Person", table="STAFF", **person),
        "humans": QueryEntity(value_type="Application$Human", table="HUMANS", **person),
        "members": QueryEntity("Application$MemberKey", "Application$Member", table="MEMBERS", fields=badge),
    }
    for name, car, color in (("cars", "Car", "Color"), ("vans", "Van", "Shade"), ("buses", "Bus", "Paint")):
        fields = (QueryField("model", TEXT), QueryField("color", f"Application${color}"))
        found[name] = QueryEntity(LONG, f"Application${car}", table=name.upper(), fields=fields)
    return found


def send_vehicles(sink: Sink, avro: Callable[[dict[str, Any]], bytes]) -> None:
    """A constant of an enum, a null and, but for Avro, an absent field, each by all three converters."""
    vehicles: list[dict[str, Any]] = [{"model": "m", "color": "RED"}, {"model": "n", "color": None}, {"model": "o"}]
    for name, written in (("cars", as_json), ("vans", with_schema), ("buses", avro)):
        sink.send([(b"%d" % key, written(one)) for key, one in enumerate(vehicles, 1)], partition=0, topic=f"{sink.topic}-{name}")


def test_an_application_puts_its_own_objects_beside_foreign_records(
    sink: Sink, application: Application, schema_registry: SchemaRegistry
) -> None:
    with Cluster(IgniteEndpoint(sink.ignite.addresses)) as cluster:
        for name, entity in entities().items():
            sink.make_topic(f"{sink.topic}-{name}", 1)
            get_or_create_cache(cluster, CacheConfiguration(f"{sink.cache}-{name}", query_entities=(entity,)))
    with Registry(config(schema_registry.url)) as registry:
        schema = registry.registered(f"{sink.topic}-buses-value", RegistrySchema(json.dumps(BUS), AVRO)).id

    def avro(value: dict[str, Any]) -> bytes:
        body = io.BytesIO()
        fastavro.schemaless_writer(body, BUS, value)
        return b"\0" + schema.to_bytes(4, "big") + body.getvalue()

    for name, written in (("staff", as_json), ("humans", with_schema)):
        people = [{"id": number, "name": "a", "age": 30} for number in (1, 1 << 40)]
        records = [(b"1", written(people[0])), (b"3", written(people[1])), (b"4", written({**people[0], "id": "one"}))]
        sink.send(records, partition=0, topic=f"{sink.topic}-{name}")
    member = {"dept": 1, "id": 1}
    sink.send([(as_json(member), as_json({**member, "name": "a"}))], partition=0, topic=f"{sink.topic}-members")
    send_vehicles(sink, avro)
    schemas = {"value_converter": "json", "value_converter_config": {"schemas.enable": "true"}}
    settings: dict[str, Any] = {
        "topics": (),
        "topics_regex": f"{sink.topic}-.*",
        "topic_prefix": f"{sink.topic}-",
        "cache_prefix": f"{sink.cache}-",
        "cache_key_type": "",
        "cache_value_type": "",
        "cache_fields": {},
        "error_handling_policy": "DEAD_LETTER",
        "dead_letter_topic": f"{sink.name}-dead",
        "overrides": {
            ".*-(humans|vans)": schemas,
            ".*-buses": {"value_converter": "avro", "value_converter_config": {"schema.registry.url": schema_registry.url}},
        },
    }
    counts = {name.rpartition("-")[2]: (one.entries, one.bad) for name, one in sink.run(**settings).caches.items()}
    assert counts == {"staff": (1, 2), "humans": (1, 2), "members": (1, 0), "cars": (2, 1), "vans": (2, 1), "buses": (2, 1)}
    reasons = [one["exception.message"] for one in context(sink, f"{sink.name}-dead")]
    assert len([one for one in reasons if INT in one]) == 4, reasons
    assert all(len([one for one in reasons if f"Application${color}" in one]) == 1 for color in ("Color", "Shade", "Paint")), reasons

    for what, name in (("person", "staff"), ("human", "humans"), ("member", "members"), ("car", "cars"), ("van", "vans"), ("bus", "buses")):
        application(what, f"{sink.cache}-{name}")
    for name, kind in (("staff", "Person"), ("humans", "Human")):
        rows = application("sql", f'SELECT id, name, age FROM "{sink.cache}-{name}".{name}')
        assert rows == ["[1, a, 30]", "[2, b, 31]"]
        assert application("read", f"{sink.cache}-{name}") == [
            f"int:1 {kind}(age=int:30,id=int:1,name=str:61)",
            f"int:2 {kind}(age=int:31,id=int:2,name=str:62)",
        ]
    assert application("sql", f'SELECT dept, id, name FROM "{sink.cache}-members".members') == ["[1, 1, a]", "[2, 2, b]"]
    assert application("read", f"{sink.cache}-members") == [
        f"MemberKey(dept=int:{n},id=int:{n}) Member(dept=int:{n},id=int:{n},name=str:6{n})" for n in (1, 2)
    ]

    send_vehicles(sink, avro)
    counts = {name.rpartition("-")[2]: (one.entries, one.bad) for name, one in sink.run(**settings).caches.items()}
    assert {name: counts[name] for name in ("cars", "vans", "buses")} == dict.fromkeys(("cars", "vans", "buses"), (3, 0))
    for name, kind in (("cars", "Car"), ("vans", "Van"), ("buses", "Bus")):
        assert application("read", f"{sink.cache}-{name}") == [
            f"long:1 {kind}(color=enum:RED,model=str:6d)",
            f"long:2 {kind}(color=null,model=str:6e)",
            f"long:3 {kind}(color=null,model=str:6f)",
            f"long:99 {kind}(color=enum:GREEN,model=str:6a)",
        ]
        assert len(application("sql", f'SELECT model FROM "{sink.cache}-{name}".{name} WHERE color IS NOT NULL')) == 2


OWN_HASH = java_hash("com.example.Own")
OWN = struct.pack("<BiBihi", 254, 11, 102, OWN_HASH, 0, 7)
"""A value that Java's optimized marshaller wrote, of a class that nodes lack: code, length, Serializable, class, checksum, data."""


def test_entries_of_a_class_that_nodes_lack_are_bad_records(sink: Sink) -> None:
    with Cluster(IgniteEndpoint(sink.ignite.addresses)) as cluster:  # its name travels by the source's types topic
        register_type(cluster, BinaryType(class_id(OWN_HASH), "com.example.Own"))
    good, in_list = string("good"), b"\x18\1\0\0\0\1" + OWN
    records = [(struct.pack("<Bq", 4, key), value) for key, value in enumerate([good, OWN, good, in_list, good, good])]
    sink.send([*records, (OWN, good)], partition=0)
    dead_topic = f"{sink.name}-dead"
    binary: dict[str, Any] = {"key_converter": "ignite-binary", "value_converter": "ignite-binary"}
    free: dict[str, Any] = {"cache_key_type": "", "cache_value_type": "", "cache_fields": {}}
    policy = {"error_handling_policy": "DEAD_LETTER", "dead_letter_topic": dead_topic}
    counts = sink.run(**binary, **free, **policy).caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (7, 4, 3)
    with sink.ignite.client() as client, client.get_cache(sink.cache).scan() as cursor:
        assert dict(cursor) == dict.fromkeys((0, 2, 4, 5), "good")
    letters = sink.messages(dead_topic)
    assert [(one.key(), one.value()) for one in letters] == [records[1], records[3], (OWN, good)]
    for one in context(sink, dead_topic):
        assert one["stage"] == "TASK_PUT"
        trace = one["exception.stacktrace"]
        assert "entries of com.example.Own: they cannot load it" in trace
        assert f"cache {sink.cache}" in trace
        assert "key " in trace


def test_whole_arrays_and_lists_of_enums_are_the_same_keys(sink: Sink, application: Application) -> None:
    """A node makes Object[] of an array of enums, and gives back another form of each constant."""
    kinds = {"enums": "[enum:GREEN,null]", "lists of enums": "[enum:GREEN,null]", "objects": "[int:1]"}
    caches = {f"{sink.cache}-{kind.replace(' ', '_')}": kind for kind in kinds}
    for name, kind in caches.items():
        application(kind, name)
    copy = Copy(sink.spark, sink.kafka, sink.ignite, sink.ignite, "json")
    copy.sink = SinkSettings.from_dict({**copy.sink.to_dict(), "cache_prefix": f"{sink.cache}-b-", "types_topic": copy.types_topic})
    copy.run(*caches)
    for name, kind in caches.items():
        assert application("read", f"{sink.cache}-b-{name}") == application("read", name)
        assert application("found", f"{sink.cache}-b-{name}") == [kinds[kind]], "the keys are not those of Java"
    assert {verified_counts(one) for one in verified(sink, copy.sink).values()} == {(2, 2, 0, 0, 0)}


HEADER_TEXTS = (b"69203120e780", b"1::2", b"1", b"007", b"7", b"1E-2", b"0.01", b"true", b"2024-01-31", b" x")
OF_SPRING: tuple[list[tuple[str, bytes | None]], ...] = (
    [("b", b"\xff\xfe"), ("c", b"x")],
    [("spring_json_header_types", b'{"trace":"java.lang.String"}'), ("trace", b"abc")],
    [("a", None), ("a", b""), ("", b"e"), ("c", b"007")],
)
ZEROS = (b'{"a":0102}', b'{"b":-007}', b'{"c":00.5}', b'{"d":[01,2]}', b"0102", b'{"n":1.}', b'{"n":+1}', b'{"n":.5}')


def test_headers_and_numbers_of_foreign_producers(sink: Sink) -> None:
    """Texts of headers as keys, binary headers that steps drop, numbers with leading zeros: with two header converters."""
    for name in ("text", "free", "spring", "zeros"):
        sink.make_topic(f"{sink.topic}-{name}", 1)
    for number, text in enumerate(HEADER_TEXTS):
        for name in ("text", "free"):
            sink.send([(None, b'{"n": %d}' % number)], partition=0, topic=f"{sink.topic}-{name}", headers=[("id", text)])
    for number, headers in enumerate(OF_SPRING):
        sink.send([(b"%d" % number, b'{"n":1}')], partition=0, topic=f"{sink.topic}-spring", headers=headers)
    sink.send([(b"%d" % number, value) for number, value in enumerate(ZEROS)], partition=0, topic=f"{sink.topic}-zeros")
    drop = {"type": "org.apache.kafka.connect.transforms.DropHeaders", "headers": "b,spring_json_header_types"}
    settings: dict[str, Any] = {
        "topics": (),
        "topics_regex": f"{sink.topic}-.*",
        "topic_prefix": f"{sink.topic}-",
        "cache_key_type": "",
        "cache_value_type": "",
        "cache_fields": {},
        "error_handling_policy": "DEAD_LETTER",
        "overrides": {
            ".*-text": {
                "key_policy": "header",
                "key_fields": ["id"],
                "cache_key_type": TEXT,
                "cache_value_type": f"T{sink.name}",
                "cache_fields": {"n": LONG},
            },
            ".*-free": {"key_policy": "header", "key_fields": ["id"]},
            ".*-spring": {"transforms": ["d"], "transform_config": {"d": drop}},
        },
    }
    for converter, wanted in (
        ("simple", {"spring": (3, 0), "zeros": (5, 3)}),
        ("string", {"text": (10, 0), "free": (10, 0), "spring": (3, 0), "zeros": (5, 3)}),
    ):
        prefix, dead = f"{sink.cache}-{converter}-", f"{sink.name}-{converter}-dead"
        of_run = {"name": f"{sink.name}-{converter}", "cache_prefix": prefix, "dead_letter_topic": dead, "header_converter": converter}
        found = {name.rpartition("-")[2]: (one.entries, one.bad) for name, one in sink.run(**settings, **of_run).caches.items()}
        assert {name: found[name] for name in wanted} == wanted
        letters = context(sink, dead)
        reasons = {name: [one["exception.message"] for one in letters if one["topic"].endswith(name)] for name in ("text", "free")}
        if converter == "simple":
            assert found["text"][1] == len(reasons["text"]) > 0
            assert sum(found["text"]) == sum(found["free"]) == len(HEADER_TEXTS)
            assert all("header_converter=string" in one and "header id" in one for one in reasons["text"]), reasons
            assert_kept(replace(sink.settings, name=of_run["name"]), KEY_SPELLED_OTHERWISE)
            assert any("1::2" in one and "several texts would be one key" in one for one in reasons["free"]), reasons
        else:
            with sink.ignite.client() as client, client.get_cache(f"{prefix}text").scan() as cursor:
                assert {key for key, _ in cursor} == {text.decode() for text in HEADER_TEXTS}
