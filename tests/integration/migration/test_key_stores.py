"""Java's key stores, made by keytool, become what librdkafka and Python's TLS read."""

from __future__ import annotations

import json
import shutil
import ssl
from pathlib import Path

import pytest
from confluent_kafka import Producer
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
from cryptography.x509 import load_pem_x509_certificates

from ignite_kafka.cli import main as cli
from ignite_kafka.errors import SettingsError
from ignite_kafka.migration.key_stores import certificates, is_jks, pkcs12
from ignite_kafka.registry.config import config_of
from ignite_kafka.settings import secrets
from ignite_kafka.settings.files.load import load
from ignite_kafka.settings.source import SourceSettings
from tests.support.connect_files import PASSWORD, VARIABLES, allowing, copied, keytool, trust

STORE, KEY = "changeit", "hunter2-key"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JKS and PKCS#12 stores: a client's key, and two trusted certificates."""
    tmp_path = tmp_path_factory.mktemp("stores")
    key = tmp_path / "client.jks"
    made = ("-genkeypair", "-keyalg", "RSA", "-alias", "client", "-dname", "CN=client", "-storetype", "JKS")
    keytool(*made, "-keystore", str(key), "-storepass", KEY, "-keypass", KEY)
    for name in ("one", "two"):
        own = tmp_path / f"{name}.p12"
        keytool("-genkeypair", "-keyalg", "RSA", "-alias", name, "-dname", f"CN={name}", "-keystore", str(own), "-storepass", STORE)
        keytool("-exportcert", "-rfc", "-alias", name, "-keystore", str(own), "-storepass", STORE, "-file", str(tmp_path / f"{name}.crt"))
        for file in ("truststore.jks", "truststore.p12"):
            trust(tmp_path / f"{name}.crt", tmp_path / file, STORE, alias=name)
    return tmp_path


@pytest.fixture
def folder(stores: Path, tmp_path: Path) -> Path:
    """A copy of the stores for one test."""
    shutil.copytree(stores, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("store", ["truststore.jks", "truststore.p12"])
def test_a_trust_store_becomes_pem(store: str, folder: Path) -> None:
    found = load_pem_x509_certificates(certificates(str(folder / store), STORE, "s").encode())
    assert {one.subject.rfc4514_string() for one in found} == {"CN=one", "CN=two"}
    assert is_jks(folder / store, "s") == store.endswith("jks")


def test_a_jks_trust_store_is_read_without_a_password_as_kafka_s_clients_do(folder: Path) -> None:
    assert certificates(str(folder / "truststore.jks"), "", "s") == certificates(str(folder / "truststore.jks"), STORE, "s")
    with pytest.raises(SettingsError, match="none that can be read without a password"):
        certificates(str(folder / "truststore.p12"), "", "s")


def test_a_jks_key_store_becomes_pkcs12(folder: Path) -> None:
    made = pkcs12(str(folder / "client.jks"), KEY, "", folder / "new.p12", "s")
    assert made.stat().st_mode & 0o777 == 0o600
    read = load_pkcs12(made.read_bytes(), KEY.encode())
    assert read.key is not None
    assert read.cert is not None
    assert read.cert.certificate.subject.rfc4514_string() == "CN=client"
    assert pkcs12(str(made), KEY, "", folder / "other.p12", "s") == made


@pytest.mark.parametrize(
    ("store", "password", "message"),
    [
        ("none.jks", STORE, "No such file"),
        ("truststore.jks", "hunter2-wrong", "cannot be read.*Convert it to PEM"),
        ("empty.jks", STORE, "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named_without_the_password(store: str, password: str, message: str, folder: Path) -> None:
    (folder / "empty.jks").write_bytes(b"")
    with pytest.raises(SettingsError, match=message) as caught:
        certificates(str(folder / store), password, "ssl.truststore.location")
    assert password not in str(caught.value)


def test_a_store_without_a_private_key_is_no_key_store(folder: Path) -> None:
    with pytest.raises(SettingsError, match="has 0 private keys"):
        pkcs12(str(folder / "truststore.jks"), STORE, "", folder / "new.p12", "s")


def test_without_keytool_the_command_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SettingsError, match=r"there is no keytool.*keytool -importkeystore"):
        certificates(str(folder / "truststore.jks"), STORE, "s")


def test_the_stores_of_a_registry_become_pem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied(folder, stores=True)
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    connector = json.loads((folder / "confluent-source.json").read_text())
    prefix = "value.converter.schema.registry.ssl."
    connector["config"] |= {
        f"{prefix}truststore.location": f"{folder}/truststore.jks", f"{prefix}truststore.password": STORE,
        f"{prefix}keystore.location": f"{folder}/client.jks", f"{prefix}keystore.password": KEY, f"{prefix}key.password": KEY,
        f"{prefix}keystore.type": "JKS", "key.converter.schema.registry.ssl.truststore.location": f"{folder}/truststore.p12",
        "key.converter.schema.registry.ssl.truststore.type": "PKCS12", "key.converter.schema.registry.ssl.truststore.password": STORE,
    }  # fmt: skip
    (folder / "confluent-source.json").write_text(json.dumps(connector))
    given = [str(folder / "distributed.properties"), str(folder / "confluent-source.json"), "--output", str(folder / "out")]
    assert cli.main(["migrate", *given, *allowing(folder)]) == 0
    settings = load(folder / "out" / "gridgain-flights.properties").settings()
    hidden = secrets.load(folder / "out" / "gridgain-flights.secrets.json")
    # as the client of the registry is configured
    client = config_of("value", settings.converter_properties("value"), hidden.registry_of("value"), {}).client
    context = ssl.create_default_context(cafile=client["ssl.ca.location"])
    context.load_cert_chain(client["ssl.certificate.location"], password=client["ssl.key.password"])
    trusted = config_of("key", settings.converter_properties("key"), hidden.registry_of("key"), {}).client["ssl.ca.location"]
    assert len(load_pem_x509_certificates(Path(trusted).read_bytes())) == 2
    assert STORE not in (folder / "out" / "gridgain-flights.properties").read_text()


def test_a_secured_connector_connects_with_what_migrate_wrote(folder: Path) -> None:
    copied(folder, stores=True)
    with (folder / "distributed.properties").open("a") as file:
        file.write(f"producer.ssl.keystore.location={folder}/client.jks\nproducer.ssl.keystore.password={KEY}\n")
    given = [str(folder / "distributed.properties"), str(folder / "schemas-source.properties"), "--output", str(folder / "out")]
    assert cli.main(["migrate", *given, *allowing(folder)]) == 0
    path, hidden = folder / "out" / "orders-source.properties", secrets.load(folder / "out" / "orders-source.secrets.json")
    settings = load(path).settings_of(SourceSettings)
    assert hidden.kafka == {"sasl.password": PASSWORD, "ssl.keystore.password": KEY}
    # librdkafka reads trust, key and password when it makes a client
    Producer({**settings.kafka_config, **hidden.kafka, "bootstrap.servers": "127.0.0.1:1"})
    assert (hidden.ignite.username, hidden.ignite.password) == ("connect", "hunter2-ignite")
    assert settings.ignite_addresses == ("10.1.0.1:10900",)
    assert settings.ignite_tls_enabled
    assert len(load_pem_x509_certificates(Path(settings.ignite_tls_ca_file).read_bytes())) == 2
    context = ssl.create_default_context(cafile=settings.ignite_tls_ca_file)
    context.load_cert_chain(settings.ignite_tls_cert_file, password=hidden.ignite.key_password)
    for one in (folder / "out").iterdir():
        assert one.suffix == ".properties" or "ca" in one.name or one.stat().st_mode & 0o077 == 0, one
    assert cli.main(["validate", str(path), "--secrets", str(folder / "out" / "orders-source.secrets.json")]) == 0
