"""Key and trust stores among the properties of a Kafka client, by Java's names and in place of PEM files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.kafka.clients import make_client
from ignite_kafka.settings import client_stores
from ignite_kafka.settings.client_stores import stores_as_text
from tools.servers.certificates import Certificates

PEM = {"ssl.ca.location": "/ca.pem", "ssl.certificate.location": "/c.pem", "ssl.key.location": "/k.pem", "ssl.key.password": "p"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates")).make()


def passwords(files: Certificates) -> dict[str, str]:
    return {"ssl.truststore.password": files.password, "ssl.keystore.password": files.password}


def test_pem_files_stay_as_they_are() -> None:
    assert stores_as_text(PEM) == PEM
    assert stores_as_text({"ssl.ca.pem": "x", "sasl.password": "y"}) == {"ssl.ca.pem": "x", "sasl.password": "y"}


@pytest.mark.parametrize("names", [("ssl.truststore.location", "ssl.keystore.location"), ("ssl.ca.location", "ssl.certificate.location")])
def test_stores_become_text(files: Certificates, names: tuple[str, str]) -> None:
    given = {names[0]: str(files.trust_store), names[1]: str(files.server_store), **passwords(files), "sasl.username": "ann"}
    found = stores_as_text(given)
    assert found.keys() == {"ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem", "sasl.username"}
    assert found["ssl.ca.pem"] == files.ca.read_text()
    assert found["ssl.key.pem"].startswith("-----BEGIN PRIVATE KEY-----")
    assert stores_as_text(found) == found


def test_java_s_type_pem_names_files() -> None:
    given = {
        "ssl.truststore.location": "/ca.pem", "ssl.truststore.type": "pem",
        "ssl.keystore.location": "/me.pem", "ssl.keystore.type": "PEM", "ssl.key.password": "p",
    }  # fmt: skip
    assert stores_as_text(given) == {
        "ssl.ca.location": "/ca.pem", "ssl.certificate.location": "/me.pem", "ssl.key.location": "/me.pem", "ssl.key.password": "p",
    }  # fmt: skip


def test_a_pem_file_by_java_s_names_needs_no_type(files: Certificates) -> None:
    given = {"ssl.truststore.location": str(files.ca), "ssl.keystore.location": str(files.client_key)}
    key = str(files.client_key)
    expected = {"ssl.ca.location": str(files.ca), "ssl.certificate.location": key, "ssl.key.location": key}
    assert stores_as_text(given) == expected


def test_without_cryptography_librdkafka_reads_pkcs12_itself(files: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_stores, "find_spec", lambda _name: None)
    given = {"ssl.keystore.location": str(files.server_store), "ssl.keystore.password": files.password}
    assert stores_as_text(given) == given


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"ssl.truststore.location": "TRUST", "ssl.ca.location": "/ca.pem"}, "ssl.truststore.location and ssl.ca.location are both set"),
        ({"ssl.truststore.location": "TRUST", "ssl.ca.pem": "x"}, "ssl.truststore.location and ssl.ca.pem are both set"),
        ({"ssl.keystore.location": "KEYS", "ssl.key.pem": "x"}, "ssl.keystore.location and ssl.key.pem are both set"),
        ({"ssl.certificate.location": "KEYS", "ssl.key.location": "/k.pem"}, "are both set"),
        ({"ssl.truststore.type": "BKS"}, "ssl.truststore.type is none of JKS, PKCS12, PEM"),
        ({"ssl.truststore.location": "TRUST", "ssl.truststore.password": "hunter2"}, "the password is wrong"),
        ({"ssl.keystore.location": "KEYS", "ssl.keystore.password": "hunter2"}, "the password is wrong"),
        ({"ssl.keystore.location": "TRUST"}, "no private key"),
        ({"ssl.truststore.location": "/gone"}, "cannot be read: No such file"),
    ],
)
def test_a_client_is_not_made_of_stores_that_cannot_be_used(files: Certificates, more: dict[str, str], message: str) -> None:
    paths = {"TRUST": str(files.trust_store), "KEYS": str(files.server_store)}
    given = {**passwords(files), **{name: paths.get(value, value) for name, value in more.items()}}
    with pytest.raises(SettingsError, match=message) as raised:
        make_client(dict, given)
    assert "hunter2" not in str(raised.value)


def test_every_client_gets_the_text(files: Certificates, tmp_path: Path) -> None:
    got: list[dict[str, Any]] = []
    make_client(got.append, {"ssl.truststore.location": str(files.trust_store), **passwords(files)})
    assert got[0].keys() == {"ssl.ca.pem", "ssl.keystore.password"}
