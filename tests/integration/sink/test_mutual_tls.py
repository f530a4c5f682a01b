"""A cache to a topic to a cache, where both clusters want TLS, a certificate of the client and a login, with one run refused for each."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from ignite_kafka.errors import AuthenticationFailed, IgniteKafkaError, IgniteUnreachable, SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.secrets_file import ShippedSecrets
from ignite_kafka.settings.shipped_stores import stores_as_text
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.run import run_sink
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.state import status
from ignite_kafka.verification.connector import verify_connector
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.result import VerifyOptions
from tests.support import PARTITIONS, QUICK_JVM
from tests.support.java_stores import STORE_PASSWORD, JavaStores
from tools.servers import IgniteCluster, Jars, KafkaBroker
from tools.servers.certificates import Certificates
from tools.servers.ignite_config import IgniteOptions

ENTRIES = {key: f"value {key}" for key in range(500)}
ADMIN = IgniteCredentials("ignite", "ignite")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates")).make()


@pytest.fixture(scope="module")
def ignite_tls(jars: Jars, tmp_path_factory: pytest.TempPathFactory, files: Certificates) -> Iterator[IgniteCluster]:
    options = IgniteOptions(tls=files, client_certificate=True, authentication=True, java_options=QUICK_JVM, partitions=PARTITIONS)
    with IgniteCluster(tmp_path_factory.mktemp("secured"), jars=jars, options=options) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def kafka_tls(jars: Jars, tmp_path_factory: pytest.TempPathFactory, files: Certificates) -> Iterator[KafkaBroker]:
    wanted = {"listener.name.sasl_ssl.ssl.client.auth": "required"}
    directory = tmp_path_factory.mktemp("secured")
    options: dict[str, Any] = {"users": {"copier": "of-kafka"}, "certificates": files, "settings": wanted, "java_options": QUICK_JVM}
    with KafkaBroker(directory, jars=jars, **options) as broker:
        yield broker


class Copy:
    """A source and a sink between caches of one cluster, by way of one topic."""

    def __init__(self, spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker, files: Certificates, name: str) -> None:
        self.spark, self.cache, self.copy = spark, f"{name}-cache", f"{name}-copy"
        login = kafka.client_config
        secret = ("sasl.username", "sasl.password")
        connection: dict[str, Any] = {
            "ignite_addresses": ignite.addresses,
            "ignite_tls_enabled": True,
            "ignite_tls_ca_file": str(files.ca),
            "ignite_tls_cert_file": str(files.client_certificate),
            "ignite_tls_key_file": str(files.client_key),
            "bootstrap_servers": kafka.bootstrap,
            "kafka_config": {name: value for name, value in login.items() if name not in (*secret, "bootstrap.servers")},
            "internal_topic_prefix": f"in-{name}",
            "slots": 2,
        }
        self.secrets = Secrets(ADMIN, {name: login[name] for name in secret})
        binary: dict[str, Any] = {"key_converter": "ignite-binary", "value_converter": "ignite-binary"}
        self.source = SourceSettings(name=name, cache_whitelist=(self.cache,), topic_prefix="", **connection, **binary)
        sink: dict[str, Any] = {"topics": (self.cache,), "topic_prefix": self.cache, "cache_prefix": self.copy}
        self.sink = SinkSettings(name=f"{name}-sink", **sink, **connection, **binary)

    def run(self, settings: SourceSettings | SinkSettings) -> str:
        request: Any = RunRequest(settings, uuid.uuid4().hex, secrets_file=ShippedSecrets(self.secrets))
        run = run_sink if isinstance(settings, SinkSettings) else run_snapshot
        return run(self.spark, request).state

    def verified(self, settings: SourceSettings | SinkSettings) -> PairDifferences:
        (found,) = verify_connector(self.spark, settings, self.secrets, ShippedSecrets(self.secrets), VerifyOptions()).caches
        return found.result


@pytest.fixture
def copy(
    spark: SparkSession, ignite_tls: IgniteCluster, kafka_tls: KafkaBroker, files: Certificates, unique: Callable[[str], str]
) -> Iterator[Copy]:
    made = Copy(spark, ignite_tls, kafka_tls, files, unique("tls"))
    with ignite_tls.client() as client:
        client.get_or_create_cache(made.cache).put_all(ENTRIES)
    yield made
    ignite_tls.destroy_caches(made.cache, made.copy)


def test_a_source_and_a_sink_with_certificates_of_the_client(copy: Copy, ignite_tls: IgniteCluster) -> None:
    assert copy.run(copy.source) == status.COMPLETED
    assert copy.run(copy.sink) == status.COMPLETED
    with ignite_tls.client() as client, client.get_cache(copy.copy).scan() as found:
        assert dict(found) == ENTRIES
    for settings in (copy.source, copy.sink):
        assert (copy.verified(settings).equal, copy.verified(settings).entries) == (True, len(ENTRIES))


def with_stores(copy: Copy, ignite: JavaStores, kafka: JavaStores) -> None:
    """Replace the PEM files of a copy by stores and their passwords."""
    files: Any = {"ignite_tls_ca_file": str(ignite.trust), "ignite_tls_cert_file": str(ignite.keys), "ignite_tls_key_file": ""}
    kept = {name: value for name, value in copy.source.kafka_config.items() if not name.startswith("ssl.")}
    copy.source = replace(copy.source, **files, kafka_config={**kept, **kafka.kafka})
    copy.sink = replace(copy.sink, **files, kafka_config={**kept, **kafka.kafka})
    passwords = {"ca_password": STORE_PASSWORD, "cert_password": STORE_PASSWORD, "key_password": ignite.key_password}
    copy.secrets = Secrets(replace(ADMIN, **passwords), {**copy.secrets.kafka, **kafka.kafka_secrets})


@pytest.mark.parametrize("form", ["JKS", pytest.param("PKCS12", marks=pytest.mark.long("JKS"))])
def test_java_stores_give_the_same_copy(copy: Copy, ignite_tls: IgniteCluster, files: Certificates, tmp_path: Path, form: str) -> None:
    """A source whose processes read the stores, then a sink that carries their content and whose stores are gone."""
    stores = JavaStores.of(files, tmp_path, form)
    with_stores(copy, stores, JavaStores.of(files, tmp_path / "other", "PKCS12" if form == "JKS" else "JKS"))
    assert copy.run(copy.source) == status.COMPLETED
    assert copy.verified(copy.source).equal
    copy.sink, copy.secrets = stores_as_text(copy.sink, copy.secrets, copy.sink.kafka_config.keys())
    for path in tmp_path.rglob("*.*"):
        path.unlink()
    assert copy.run(copy.sink) == status.COMPLETED
    with ignite_tls.client() as client, client.get_cache(copy.copy).scan() as found:
        assert dict(found) == ENTRIES


@pytest.mark.parametrize("of", ["ca_password", "cert_password", "ssl.truststore.password", "ssl.key.password"])
def test_a_wrong_password_of_a_store_ends_a_run_before_anything_is_moved(
    copy: Copy, files: Certificates, tmp_path: Path, kafka_tls: KafkaBroker, of: str
) -> None:
    stores = JavaStores.of(files, tmp_path, "JKS")
    with_stores(copy, stores, stores)
    if of.startswith("ssl."):
        copy.secrets = replace(copy.secrets, kafka={**copy.secrets.kafka, of: "wrong"})
    else:
        copy.secrets = replace(copy.secrets, ignite=replace(copy.secrets.ignite, **{of: "wrong"}))
    with pytest.raises(SettingsError, match=r"the password (of the private key )?is wrong") as raised:
        copy.run(copy.source)
    assert str(stores.trust if of in ("ca_password", "ssl.truststore.password") else stores.keys) in str(raised.value)
    names = AdminClient({**kafka_tls.client_config}).list_topics(timeout=60).topics
    assert copy.cache not in names


@pytest.mark.parametrize("of", ["Ignite", "Kafka"])
def test_without_the_certificate_a_run_is_refused_by_name(copy: Copy, of: str) -> None:
    if of == "Ignite":
        settings = replace(copy.source, ignite_tls_cert_file="", ignite_tls_key_file="", retry_timeout_ms=1_000)
        error: type[IgniteKafkaError] = IgniteUnreachable
    else:
        kept = {name: value for name, value in copy.source.kafka_config.items() if not name.startswith(("ssl.certificate", "ssl.key"))}
        settings, error = replace(copy.source, kafka_config=kept, retry_timeout_ms=1_000), AuthenticationFailed
    with pytest.raises(error, match="certificate"):
        copy.run(settings)


def test_a_key_that_is_gone_is_named(copy: Copy, tmp_path: Path) -> None:
    with pytest.raises(IgniteKafkaError, match=r"gone\.key"):
        copy.run(replace(copy.source, ignite_tls_key_file=str(tmp_path / "gone.key")))
