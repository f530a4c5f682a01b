"""A run whose key stores were read before it is handed to Spark: it has no path of a store and no password of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.ignite.tls import tls_context
from ignite_kafka.registry.client import Registry
from ignite_kafka.registry.config import config_of
from ignite_kafka.settings.converters import parse_properties
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.shipped_stores import stores_as_text
from tests.support.source_settings import build
from tools.servers.certificates import Certificates

REGISTRY = "schema.registry.ssl."


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates")).make()


def ignite(files: Certificates) -> dict[str, Any]:
    return {
        "ignite_tls_enabled": True, "ignite_tls_ca_file": str(files.trust_store), "ignite_tls_cert_file": str(files.server_store),
    }  # fmt: skip


def test_the_texts_travel_with_the_settings_and_the_secrets(files: Certificates) -> None:
    kafka = {"ssl.truststore.location": str(files.trust_store), "ssl.keystore.location": str(files.server_store)}
    password = files.password
    credentials = IgniteCredentials("ann", "p", ca_password=password, cert_password=password)
    of_kafka = {"ssl.truststore.password": password, "ssl.keystore.password": password, "sasl.password": "s"}
    of_registry = {
        f"{REGISTRY}truststore.location": str(files.trust_store), f"{REGISTRY}truststore.password": password,
        f"{REGISTRY}keystore.location": str(files.server_store), f"{REGISTRY}keystore.password": password,
        f"{REGISTRY}keystore.type": "PKCS12", "schema.registry.url": "https://registry:1",
    }  # fmt: skip
    given = build(**ignite(files), kafka_config={**kafka, "security.protocol": "ssl"})
    settings, secrets = stores_as_text(given, Secrets(credentials, of_kafka, of_registry), kafka)
    assert (settings.ignite_tls_ca_file, settings.ignite_tls_cert_file) == ("", "")
    assert settings.kafka_config.keys() == {"security.protocol", "ssl.ca.pem", "ssl.certificate.pem"}
    assert secrets.kafka.keys() == {"sasl.password", "ssl.key.pem"}
    assert secrets.registry.keys() == {
        "schema.registry.url", *(f"{REGISTRY}{name}" for name in ("truststore.certificates", "keystore.certificate.chain", "keystore.key"))
    }  # fmt: skip
    everything = f"{settings.to_dict()} {secrets.ignite.__dict__} {secrets.kafka} {secrets.registry}"
    for gone in (password, str(files.folder)):
        assert gone not in everything
    tls_context(settings.ignite_endpoint.tls, secrets.ignite)
    config = config_of("value", parse_properties("value_converter_config", "avro", {}), secrets.registry, {})
    assert Registry(config)._client is not None
    assert f"{REGISTRY}keystore.key" not in [name for name, value in config.properties.items() if value]
    assert stores_as_text(settings, secrets) == (settings, secrets)


@pytest.mark.parametrize("name", ["ssl.keystore.location", "ssl.truststore.location", "ssl.certificate.location", "ssl.ca.location"])
def test_a_store_that_the_settings_name_is_not_read(files: Certificates, name: str) -> None:
    """Else whoever writes settings has the worker send its private keys to Spark."""
    given = build(kafka_config={name: str(files.server_store), "security.protocol": "ssl"}), Secrets()
    assert stores_as_text(*given, {"bootstrap.servers", "security.protocol"}) == given


def test_pem_files_stay_files(files: Certificates) -> None:
    pem = {"ignite_tls_enabled": True, "ignite_tls_ca_file": str(files.ca), "kafka_config": {"ssl.ca.location": str(files.ca)}}
    given = build(**pem), Secrets(IgniteCredentials("ann", "p"), {"sasl.password": "s"}, {f"{REGISTRY}truststore.location": str(files.ca)})
    assert stores_as_text(*given) == given


def test_a_trust_store_alone_stays_a_file(files: Certificates) -> None:
    given = build(**{**ignite(files), "ignite_tls_cert_file": ""}), Secrets()
    assert stores_as_text(*given) == given


def test_a_wrong_password_is_found_before_the_run(files: Certificates) -> None:
    with pytest.raises(SettingsError, match=r"the password is wrong.*cert_file"):
        stores_as_text(build(**ignite(files)), Secrets(IgniteCredentials(ca_password=files.password, cert_password="hunter2")))


def test_a_key_beside_a_key_store_is_refused(files: Certificates, tmp_path: Path) -> None:
    given = build(**ignite(files), ignite_tls_key_file=str(files.client_key))
    with pytest.raises(SettingsError, match="key_file is another file"):
        stores_as_text(given, Secrets(IgniteCredentials(ca_password=files.password, cert_password=files.password)))
