"""The secured worker's file of Kafka Connect, from `migrate` to runs at a broker that requires TLS and SCRAM-SHA-512.

Of the files only addresses, names, paths and ``run_mode`` are the test's. The login, with a password that has every character with a
meaning, comes from the JAAS of ``producer.`` or ``consumer.``; the broker knows neither the worker's user nor that of ``admin.``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from pyspark.sql import SparkSession

from ignite_kafka.cli import main as cli
from ignite_kafka.errors import AuthenticationFailed
from ignite_kafka.run import run_request
from ignite_kafka.runtime.clients import kafka_clients
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings import secrets
from ignite_kafka.settings.files.load import load
from ignite_kafka.settings.secrets_file import SecretsFile
from ignite_kafka.state import status
from tests.support import QUICK_JVM
from tests.support.connect_files import PASSWORD, copied, edit, keytool, migrated, node_file, trust
from tests.support.connect_standalone import records_of
from tests.support.waiting import REQUEST_S
from tools.servers import IgniteCluster, Jars, KafkaBroker
from tools.servers.certificates import Certificates
from tools.servers.kafka import KafkaOptions

PEOPLE = {"ann": "Ann", "bo": 'Bo "é" 😀', "cy": ""}
STORE_PASSWORD = "changeit"
ADDRESSES = "kafka-1.example.com:9093,kafka-2.example.com:9093"


@dataclass
class World:
    """The servers, and a copy of the files for one test with its own names."""

    spark: SparkSession
    broker: KafkaBroker
    ignite: IgniteCluster
    folder: Path
    name: str = field(default_factory=lambda: f"secured{uuid.uuid4().hex[:6]}")

    @property
    def cache(self) -> str:
        return f"Person-{self.name}"

    @property
    def topic(self) -> str:
        return f"{self.name}-{self.cache}"

    def edit(self, file: str, **texts: str) -> None:
        """Replace texts of a file; each of them must occur."""
        edit(self.folder / file, **texts)

    def migrate(self, connector: str) -> tuple[Path, Path]:
        """The settings file and the secrets file that the command writes."""
        return migrated(self.folder, "distributed.properties", connector)

    def run(self, connector: str) -> None:
        """Run what the command writes, as it is, to its end."""
        path, hidden = self.migrate(connector)
        request = RunRequest(load(path).settings(), uuid.uuid4().hex, secrets_file=SecretsFile(str(hidden)))
        assert run_request(self.spark, request).state == status.COMPLETED

    def written(self) -> tuple[set[str], set[str]]:
        """Topics and caches."""
        with self.ignite.client() as client:
            return set(AdminClient({**self.broker.client_config}).list_topics(timeout=REQUEST_S).topics), set(client.get_cache_names())


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates")).make(["127.0.0.1"])


@pytest.fixture(scope="module")
def broker(jars: Jars, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker with the user of the worker's file beside its own."""
    options = KafkaOptions({"broker": "of-the-broker"}, certificates, java_options=QUICK_JVM)
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), jars=jars, options=options) as started:
        login = UserScramCredentialUpsertion("connect", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), PASSWORD.encode())
        admin = AdminClient({**started.client_config, "log_level": 0})
        admin.alter_user_scram_credentials([login])["connect"].result(REQUEST_S)
        yield started


@pytest.fixture
def world(spark: SparkSession, broker: KafkaBroker, ignite: IgniteCluster, certificates: Certificates, tmp_path: Path) -> World:
    world = World(spark, broker, ignite, copied(tmp_path, stores=True))
    trust(certificates.ca, tmp_path / "truststore.jks", STORE_PASSWORD)
    (tmp_path / "ignite-client.xml").write_text(node_file(ignite.address))
    world.edit("distributed.properties", **{ADDRESSES: broker.bootstrap})
    world.edit("tutorial-source.properties", **{"SQL_PUBLIC_PERSON,Person": world.cache})
    world.edit("tutorial-sink.properties", Person=world.cache)
    for file in ("tutorial-source.properties", "tutorial-sink.properties"):
        world.edit(file, quickstart=world.name, **{"tasks.max": f"run_mode=once\nslots=1\ninternal_topic_prefix={world.name}\ntasks.max"})
    with ignite.client() as client:
        client.get_or_create_cache(world.cache).put_all(PEOPLE)
    return world


def test_a_source_writes_with_the_producer_s_login_and_a_jks_store(world: World) -> None:
    world.run("tutorial-source.properties")
    found = records_of(world.broker, world.topic, len(PEOPLE))
    assert {(key or b"").decode(): json.loads(value or b"") for key, value in found} == PEOPLE


def test_a_sink_reads_with_the_consumer_s_login_and_a_pkcs12_store(world: World, certificates: Certificates) -> None:
    trust(certificates.ca, world.folder / "truststore.p12", STORE_PASSWORD)
    (world.folder / "truststore.jks").unlink()
    world.edit("distributed.properties", **{"truststore.jks": "truststore.p12"})
    admin, producer = AdminClient({**world.broker.client_config}), Producer(world.broker.client_config)
    admin.create_topics([NewTopic(world.topic, 1, 1)])[world.topic].result(REQUEST_S)
    for key, value in PEOPLE.items():
        producer.produce(world.topic, json.dumps(value), key)
    assert producer.flush(REQUEST_S) == 0
    world.run("tutorial-sink.properties")
    with world.ignite.client() as client, client.get_cache(f"copy-{world.cache}").scan(page_size=100) as found:
        assert dict(found) == PEOPLE


def test_the_key_store_of_the_producer_is_the_client_s_certificate(
    world: World, certificates: Certificates, kafka_broker: Callable[..., KafkaBroker]
) -> None:
    """At a broker that requires one, from JKS and from PKCS#12. The server's certificate serves as the client's."""
    password = certificates.password
    broker = kafka_broker(
        users={"connect": "of-the-file"}, certificates=certificates, settings={"listener.name.sasl_ssl.ssl.client.auth": "required"}
    )
    (world.folder / "secrets.properties").write_text("connect=of-the-file\nworker=hunter2-worker\n")
    stores = world.folder / "client.jks", certificates.server_store
    source = ("-srckeystore", str(stores[1]), "-srcstorepass", password)
    keytool("-importkeystore", "-noprompt", *source, "-destkeystore", str(stores[0]), "-deststorepass", password, "-deststoretype", "JKS")
    worker = (world.folder / "distributed.properties").read_text().replace(world.broker.bootstrap, broker.bootstrap)
    for store in ("", *stores):
        more = f"producer.ssl.keystore.location={store}\nproducer.ssl.keystore.password={password}\n" if store else ""
        (world.folder / "distributed.properties").write_text(worker + more)
        path, hidden = world.migrate("tutorial-source.properties")
        clients = kafka_clients(load(path).settings(), secrets.load(hidden))
        if store:
            clients.check()
        else:
            with pytest.raises(AuthenticationFailed, match="that the broker accepts the client's certificate"):
                clients.check()


def wrong_password(world: World, _: Path) -> None:
    (world.folder / "secrets.properties").write_text("connect=hunter2-wrong\nworker=hunter2-worker\n")


def another_authority(world: World, place: Path) -> None:
    (world.folder / "truststore.jks").unlink()
    trust(Certificates(place).make().ca, world.folder / "truststore.jks", STORE_PASSWORD)


@pytest.mark.parametrize("connector", ["tutorial-source.properties", "tutorial-sink.properties"])
@pytest.mark.parametrize(
    ("mistake", "reason", "remedy"),
    [
        (wrong_password, "invalid credentials with SASL mechanism SCRAM-SHA-512", "Check user, password or token, and sasl.mechanism"),
        (
            another_authority,
            "certificate verify failed",
            "Check that ssl.ca.location or ssl.ca.pem of the Kafka connection has the authority",
        ),
    ],
    ids=["password", "authority"],
)
def test_a_mistake_is_one_error_before_anything_is_written(
    mistake: Callable[[World, Path], None],
    reason: str,
    remedy: str,
    connector: str,
    world: World,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    mistake(world, tmp_path / "others")
    before = world.written()
    path, hidden = world.migrate(connector)
    capfd.readouterr()
    assert cli.main(["-q", "run", str(path), "--secrets", str(hidden)]) == 1
    shown = capfd.readouterr().err
    assert world.written() == before
    last = shown.rstrip().splitlines()[-1]
    assert last.startswith("ignite-kafka: AuthenticationFailed connecting to Kafka failed: ")
    for text in (f"bootstrap servers {world.broker.bootstrap}", reason, remedy):
        assert text in last
    assert last.count(reason) == 1
    assert "status record could not be written" not in shown
    assert "hunter2" not in shown
