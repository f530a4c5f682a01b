"""Each Kafka Connect file from `migrate` to a run; the topics are compared with what a real Kafka Connect writes and reads.

One Kafka Connect worker with file connectors runs all the time: it writes the lines of files to topics, and the values of a topic as lines
to a file. The migrated sinks store its records in caches, and the migrated sources send these caches to topics.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession

from ignite_kafka.errors import AuthenticationFailed, RecordRefused
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.java.properties import parse
from ignite_kafka.run import run_request
from ignite_kafka.runtime.clients import kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files.load import load
from ignite_kafka.settings.secrets_file import SecretsFile
from ignite_kafka.state import status
from tests.support.connect_files import FILES, VARIABLES, copied, edit, migrated, node_file
from tests.support.connect_standalone import connect_standalone, file_sink, file_source, keyed_by, lines_of, records_of, write_properties
from tests.support.converters import converter
from tests.support.java_caches import read
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import IgniteCluster, Jars, KafkaBroker, SchemaRegistry

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
LINES = ["one", 'two "quoted"', "drei é 😀", "", "five = 5"]
SECURITY = ("security.", "sasl.", "ssl.", "admin.", "producer.s", "consumer.s")
ORDER_SCHEMA = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "country": {"type": "string"}, "item": {"type": "string"}},
    }
)


@dataclass
class World:
    """Servers, and files with their addresses and with names unique to this module; copied data is in cache ``people``."""

    spark: SparkSession
    kafka: KafkaBroker
    ignite: IgniteCluster
    folder: Path
    name: str = field(default_factory=lambda: f"m{uuid.uuid4().hex[:6]}")

    @property
    def people(self) -> str:
        """Name of the cache that the tutorial's sink filled from a topic of Kafka Connect."""
        return f"{self.name}-Person"

    def edit(self, file: str, **texts: str) -> None:
        """Replace texts of a file; each of them must occur."""
        edit(self.folder / file, **texts)

    def properties(self, file: str) -> dict[str, str]:
        return {entry.key: entry.value for entry in parse((self.folder / file).read_text())}

    def migrate(self, worker: str, connector: str, **more: Any) -> tuple[ConnectorSettings, SecretsFile | None]:
        """Settings and secrets written by the command, changed to run once with one slot."""
        path, secrets = migrated(self.folder, worker, connector)
        own = {"run_mode": "once", "slots": 1, "internal_topic_prefix": self.name, **more}
        settings = load(path).with_values(own, "the test").settings()
        return settings, SecretsFile(str(secrets)) if secrets.exists() else None

    def run(self, worker: str, connector: str, **more: Any) -> ConnectorSettings:
        """Migrate a connector, and run it until it ends."""
        settings, secrets = self.migrate(worker, connector, **more)
        run_id = uuid.uuid4().hex
        assert run_request(self.spark, RunRequest(settings, run_id, secrets_file=secrets)).state == status.COMPLETED
        return settings

    def create_topics(self, *names: str) -> None:
        admin = AdminClient({**self.kafka.client_config})
        for made in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
            made.result(REQUEST_S)

    def keyed_records(self, topic: str) -> dict[bytes | None, bytes | None]:
        """Values by key of a topic with one record for each line."""
        found = dict(records_of(self.kafka, topic, len(LINES)))
        assert len(found) == len(LINES)
        return found


def _connectors(world: World) -> list[dict[str, str]]:
    """The connectors of Kafka's quickstart files, and two sources of people, the second with the migrated chain."""
    name, distributed = world.name, world.properties("distributed.properties")
    chain = world.properties("transforms-source.properties")
    people = {
        "hoist.type": "HoistField$Value", "hoist.field": "name", **keyed_by("name"),
        "ssn.type": "InsertField$Value", "ssn.static.field": "ssn", "ssn.static.value": "078-05-1120",
        "text.type": "InsertField$Value", "text.static.field": "visits", "text.static.value": "7",
        "note.type": "InsertField$Value", "note.static.field": "note", "note.static.value": "none",
        "named.type": "SetSchemaMetadata$Value", "named.schema.name": f"{name}Human",
    }  # fmt: skip
    lines = world.folder / "test.txt"
    lines.write_text("".join(f"{line}\n" for line in LINES), "utf-8")
    plain = file_source(f"{name}-quickstart-Person", lines, people, name="people")
    transformed = file_source(f"{name}-connect", lines, people, name="transformed")
    transformed |= {key: value for key, value in chain.items() if key.startswith(("transforms.", "predicates"))}
    transformed["transforms"] += f",{chain['transforms']}"
    transformed |= {key: value for key, value in distributed.items() if key.startswith(("key.converter", "value.converter"))}
    quickstart = [world.properties(f"file-{kind}.properties") for kind in ("source", "sink")]
    stopped = {**file_sink(f"{name}-broken", world.folder / "none.txt"), **_dead_letters(f"{name}-connect-dead")}
    return [*quickstart, plain, transformed, stopped]


def _dead_letters(topic: str) -> dict[str, str]:
    """A dead-letter topic with the default errors.tolerance, none."""
    return {"errors.deadletterqueue.topic.name": topic, "errors.deadletterqueue.topic.replication.factor": "1"}


@pytest.fixture(scope="module")
def world(
    spark: SparkSession, kafka: KafkaBroker, ignite: IgniteCluster, jars: Jars, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """The servers, after Kafka Connect has written its sources' topics and the tutorial's sink has stored the topic of people."""
    folder = copied(tmp_path_factory.mktemp("connect"), stores=False)
    world = World(spark, kafka, ignite, folder)
    name = world.name
    (folder / "ignite-client.xml").write_text(node_file(ignite.addresses[0]))
    world.edit("standalone.properties", **{"localhost:9092": kafka.bootstrap})
    kept = [line for line in (folder / "distributed.properties").read_text().splitlines() if not line.startswith(SECURITY)]
    (folder / "distributed.properties").write_text("\n".join(kept) + "\n")
    world.edit("distributed.properties", **{"kafka-1.example.com:9093,kafka-2.example.com:9093": kafka.bootstrap})
    world.edit("file-source.properties", **{"=test.txt": f"={folder}/test.txt", "connect-test": f"{name}-audit"})
    world.edit("file-sink.properties", **{"=test.sink.txt": f"={folder}/test.sink.txt", "connect-test": f"acc-{name}-LOG_{name}-audit"})
    world.edit("kafka-key-sink.properties", audit=f"{name}-audit", LOG_=f"{name}-LOG_")
    world.edit("backlog-source.properties", accounts=f"{name}-accounts", **{"cacheWhitelist=": f"cacheWhitelist={name}-LOG_.*"})
    world.edit("tutorial-sink.properties", quickstart=f"{name}-quickstart", **{"copy-": f"{name}-"})
    world.edit("tutorial-source.properties", quickstart=f"{name}-quickstart", **{"SQL_PUBLIC_PERSON,Person": world.people})
    world.edit("transforms-source.properties", **{"=Person": f"={world.people}", "name=people": f"name={name}-people"})
    topics = [f"{name}-audit", f"{name}-audit-archive", f"{name}-quickstart-Person", f"masked-{name}-connect", f"{name}-broken"]
    world.create_topics(*topics, f"acc-{name}-LOG_{name}-audit")
    producer = Producer(kafka.client_config)
    producer.produce(f"{name}-broken", b"no JSON", b"no key")
    producer.flush()
    place = tmp_path_factory.mktemp("worker")
    worker = {key: value for key, value in world.properties("standalone.properties").items() if key != "plugin.path"}
    with connect_standalone(jars, kafka, place, *_connectors(world), worker=worker):
        records_of(kafka, f"{name}-quickstart-Person", len(LINES))
        world.run("standalone.properties", "tutorial-sink.properties")
        yield world


def test_lines_go_from_a_file_by_topics_and_a_cache_to_a_file(world: World) -> None:
    """From file via Kafka Connect, topic, sink, cache, source, topic, Kafka Connect to file: equal lines, and equal bytes in both
    topics."""
    name = world.name
    sent = [value for _, value in records_of(world.kafka, f"{name}-audit", len(LINES))]
    world.edit("backlog-source.properties", **{"tasks.max.enforce": "value.converter=" + BYTES + "\ntasks.max.enforce"})
    with world.ignite.client() as client:
        client.get_or_create_cache(f"{name}-LOG_{name}-audit")
    try:
        world.run("standalone.properties", "backlog-source.properties")  # begins the capture of an empty cache
        world.run("standalone.properties", "kafka-key-sink.properties")
        world.run("standalone.properties", "backlog-source.properties")
        records = records_of(world.kafka, f"acc-{name}-LOG_{name}-audit", len(LINES))
    finally:
        with ThinConnection(IgniteEndpoint(world.ignite.addresses), IgniteCredentials(), world.ignite.address) as connection:
            BacklogService(connection).force_stop(f"{name}-accounts", destroy=True)
    assert sorted(value or b"" for _, value in records) == sorted(value or b"" for value in sent)
    offsets = [json.loads(key or b"")["payload"]["__connect_offset"] for key, _ in records]
    assert sorted(offsets) == list(range(len(LINES)))
    written = world.folder / "test.sink.txt"
    wait_until(lambda: len(lines_of(written)) >= len(LINES), "the lines that Kafka Connect read")
    assert sorted(lines_of(written)) == sorted(LINES)


def test_the_tutorial_s_pair_writes_what_kafka_connect_wrote(world: World) -> None:
    connect = world.keyed_records(f"{world.name}-quickstart-Person")
    world.run("standalone.properties", "tutorial-source.properties")
    ours = world.keyed_records(f"{world.name}-quickstart-{world.people}")
    assert ours.keys() == connect.keys()
    for key, value in connect.items():
        assert_same_form(ours[key], value)


def assert_same_form(ours: bytes | None, connect: bytes | None) -> None:
    """Check that values with schemas are equal except for `optional`: only fields of Ignite's objects may be absent."""
    assert ours is not None
    assert connect is not None
    schemas = [json.loads(value)["schema"] for value in (ours, connect)]
    for schema in schemas:
        for one in schema["fields"]:
            del one["optional"]
    assert schemas[0] == schemas[1]
    payloads = [value.partition(b'"payload":')[2] for value in (ours, connect)]
    assert payloads[0] == payloads[1]


def test_the_record_that_stops_a_sink_is_in_the_dead_letter_topic(world: World) -> None:
    """As in Kafka Connect with a dead-letter topic and errors.tolerance=none."""
    name, file = world.name, "stopped-sink.properties"
    properties = world.properties("tutorial-sink.properties") | _dead_letters(f"{name}-dead")
    write_properties(world.folder / file, properties | {"name": f"{name}-stopped", "topics": f"{name}-broken", "topicPrefix": ""})
    settings, _ = world.migrate("standalone.properties", file)
    with pytest.raises(RecordRefused):
        run_request(world.spark, RunRequest(settings, uuid.uuid4().hex))
    assert records_of(world.kafka, f"{name}-dead", 1) == records_of(world.kafka, f"{name}-connect-dead", 1) == [(b"no key", b"no JSON")]


def test_a_chain_of_transforms_writes_the_bytes_that_kafka_connect_writes(world: World) -> None:
    world.run("distributed.properties", "transforms-source.properties")
    ours, connect = world.keyed_records(f"masked-{world.people}"), world.keyed_records(f"masked-{world.name}-connect")
    assert ours == connect
    assert ours[b"one"] == b'{"person":{"fullName":"one","ssn":"","visits":7,"origin":"ignite"}}'


def test_a_source_with_schemas_makes_the_topics_of_its_groups(world: World) -> None:
    name = world.name
    file, names = "schemas-source.properties", {"Customer": world.people, "Order": f"{name}-Order", "=prod": f"={name}prod"}
    world.edit(file, **names, **{"default.replication.factor=3": "default.replication.factor=1", "orders source": f"{name} orders"})
    with world.ignite.client() as client:
        client.get_or_create_cache(f"{name}-OrderLine").put(1, "a line")
    world.run("standalone.properties", file)
    connect, ours = world.keyed_records(f"{name}-quickstart-Person"), world.keyed_records(f"{name}prod.{world.people}")
    assert ours.keys() == connect.keys()
    for key, value in connect.items():
        assert_same_form(ours[key], value)
    admin = AdminClient({**world.kafka.client_config})
    made = admin.list_topics(timeout=REQUEST_S).topics
    assert {topic: len(made[f"{name}prod.{topic}"].partitions) for topic in (world.people, f"{name}-OrderLine")} == {
        world.people: 6,
        f"{name}-OrderLine": 24,
    }
    resource = ConfigResource(ConfigResource.Type.TOPIC, f"{name}prod.{world.people}")
    assert admin.describe_configs([resource])[resource].result(REQUEST_S)["cleanup.policy"].value == "compact"


def test_the_login_of_a_worker_s_file_is_that_of_the_run(world: World, kafka_broker: Callable[..., KafkaBroker]) -> None:
    """The worker's `producer.` JAAS with a password from a config provider logs in at a broker that requires it."""
    broker = kafka_broker(users={"connect": "of-the-file"})
    (world.folder / "secrets.properties").write_text("connect=of-the-file\nworker=of-the-worker\n")
    lines = (FILES / "distributed.properties").read_text().replace("FOLDER", str(world.folder)).splitlines()
    text = "\n".join(line for line in lines if "ssl.truststore." not in line)
    texts = {"SASL_SSL": "SASL_PLAINTEXT", "SCRAM-SHA-512": "PLAIN", "scram.Scram": "plain.Plain"}
    texts["kafka-1.example.com:9093,kafka-2.example.com:9093"] = broker.bootstrap
    for old, new in texts.items():
        text = text.replace(old, new)
    (world.folder / "login.properties").write_text(text)
    settings, secrets = world.migrate("login.properties", "tutorial-source.properties")
    assert secrets is not None
    kafka_clients(settings, secrets.load()).check()
    wrong = replace(secrets.load(), kafka={"sasl.password": "another"})
    with pytest.raises(AuthenticationFailed):
        kafka_clients(settings, wrong).check()


@pytest.fixture
def registry(schema_registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch) -> Iterator[SchemaRegistryClient]:
    """Confluent's client of the registry; sets the environment variables that the registry's files name."""
    for variable, value in VARIABLES.items():
        monkeypatch.setenv(variable, value)
    with SchemaRegistryClient({"url": schema_registry.url}) as client:
        yield client


def test_a_source_with_a_registry_writes_what_confluent_reads(
    world: World, registry: SchemaRegistryClient, schema_registry: SchemaRegistry
) -> None:
    name = world.name
    both = "https://registry-1.example.com:8081,https://registry-2.example.com:8081"
    world.edit("confluent-source.json", **{both: schema_registry.url, "Flights": world.people, "gridgain-flights": f"{name}-flights"})
    world.run("distributed.properties", "confluent-source.json")
    avro, context = AvroDeserializer(registry), SerializationContext(world.people, MessageField.VALUE)
    found = {avro(key, context): avro(value, context) for key, value in records_of(world.kafka, world.people, len(LINES))}
    assert found == {line: {"name": line, "ssn": "078-05-1120", "visits": "7", "note": "none"} for line in LINES}


def test_a_sink_with_a_registry_stores_what_confluent_wrote(
    world: World, registry: SchemaRegistryClient, schema_registry: SchemaRegistry
) -> None:
    name = world.name
    texts = {"https://registry-1.example.com:8081": schema_registry.url, "orders-": f"{name}-orders-", "latest": "earliest"}
    texts |= {"sink-eu": f"sink-{name}-eu", "gridgain-eu": f"{name}-eu"}
    texts |= {'"cachePrefix": ""': f'"cachePrefix": "{name}-"', 'replication.factor": "3"': 'replication.factor": "1"'}
    world.edit("confluent-sink.json", **texts)
    topics = {country: f"{name}-orders-{country}" for country in ("de", "fr")}
    world.create_topics(*topics.values(), f"dlq-gridgain-sink-{name}-eu")
    json_schema, producer = JSONSerializer(ORDER_SCHEMA, registry), Producer(world.kafka.client_config)
    for country, topic in topics.items():
        for number in (1, 2):
            order = {"id": number, "country": country, "item": f"item {number}"}
            producer.produce(topic, json_schema(order, SerializationContext(topic, MessageField.VALUE)), b"unused")
    producer.produce(topics["de"], b"no schema's id", b"bad")
    producer.flush()
    world.run("distributed.properties", "confluent-sink.json")
    with Cluster(IgniteEndpoint(world.ignite.addresses)) as cluster:
        for country in topics:
            stored = read(cluster, f"{name}-{country}")
            made = converter("json").convert(stored.pages, stored.info, stored.cluster)
            keys = sorted((json.loads(key) for key in made.keys.to_pylist()), key=lambda key: key["id"])
            assert keys == [{"id": number, "country": country} for number in (1, 2)]
            assert {json.loads(value)["item"] for value in made.values.to_pylist()} == {"item 1", "item 2"}
    assert records_of(world.kafka, f"dlq-gridgain-sink-{name}-eu", 1) == [(b"bad", b"no schema's id")]
