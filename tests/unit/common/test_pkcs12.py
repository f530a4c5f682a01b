"""PKCS#12 stores that are meant to do harm, or are not what they are named for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import PrivateFormat, load_pem_private_key
from cryptography.hazmat.primitives.serialization import pkcs12 as library
from cryptography.x509 import load_pem_x509_certificate

from ignite_kafka.common import der, pkcs12
from ignite_kafka.common.key_stores import key_pair, trusted
from ignite_kafka.errors import SettingsError
from tools.servers.certificates import Certificates

PASSWORD = "sesame"
ROUNDS = 100_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A key store of 100,000 rounds."""
    files = Certificates(tmp_path_factory.mktemp("certificates")).make()
    key = load_pem_private_key(files.client_key.read_bytes(), None)
    builder = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(ROUNDS).hmac_hash(hashes.SHA256())
    certificate = load_pem_x509_certificate(files.client_certificate.read_bytes())
    return library.serialize_key_and_certificates(b"me", key, certificate, None, builder.build(PASSWORD.encode()))  # type: ignore[arg-type]


def element(tag: int, *content: bytes) -> bytes:
    body = b"".join(content)
    return bytes([tag, 0x84]) + len(body).to_bytes(4, "big") + body


def with_rounds(store: bytes, rounds: int) -> bytes:
    """The store with another number of rounds of its MAC, which is checked first."""
    [(_, start, end)] = der.items(store)
    *_, (_, _, before), (_, mac, _) = der.items(store, start, end)
    *_, (_, _, salt_end), (tag, _, _) = der.items(store, mac, end)
    assert tag == der.INTEGER
    return element(der.SEQUENCE, store[start:before], element(der.SEQUENCE, store[mac:salt_end], element(tag, rounds.to_bytes(4, "big"))))


def test_a_store_without_harm_opens(store: bytes, tmp_path: Path) -> None:
    path = tmp_path / "store.p12"
    path.write_bytes(store)
    assert "PRIVATE KEY" in key_pair(path, PASSWORD, "", "cert_file").key


def test_rounds_that_no_check_sees_end_with_the_process_that_computes_them(
    store: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pkcs12, "MAX_ITERATIONS", 1 << 40)  # as if the rounds were hidden
    monkeypatch.setattr(pkcs12, "MAX_CPU_S", 1)
    path = tmp_path / "store.p12"
    path.write_bytes(with_rounds(store, 2**31 - 1))
    with pytest.raises(SettingsError, match=r"opening it takes more than 1 s of processor time \(MAX_CPU_S\)"):
        key_pair(path, PASSWORD, "", "cert_file")


def test_a_number_of_a_million_digits_is_not_written_into_a_message(tmp_path: Path) -> None:
    path = tmp_path / "store.p12"
    costly = element(der.SEQUENCE, element(der.OCTETS, b"salt"), element(der.INTEGER, b"\x7f" * 1_000_000))
    path.write_bytes(element(der.SEQUENCE, b"\x02\x01\x03", costly))
    with pytest.raises(SettingsError, match="rounds of key derivation") as raised:
        trusted(path, PASSWORD, "ca_file")
    assert len(str(raised.value)) < 1_000


def test_a_store_with_a_private_key_is_no_trust_store(store: bytes, tmp_path: Path) -> None:
    """Java trusts its own certificate only; all that are in it would be more than somebody who pins it expects."""
    path = tmp_path / "store.p12"
    path.write_bytes(store)
    with pytest.raises(SettingsError, match=r"the trust store has a private key.*keytool -importcert"):
        trusted(path, PASSWORD, "ca_file")


def test_passwords_are_neither_arguments_nor_variables_of_the_process(store: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[list[str], dict[str, str]]] = []
    run = subprocess.run

    def recorded(command: list[str], **more: Any) -> Any:
        calls.append((command, more["env"]))
        return run(command, **more)

    monkeypatch.setattr(subprocess, "run", recorded)
    pkcs12.read_pkcs12(store, PASSWORD, PASSWORD, key=True)
    [(command, environment)] = calls
    assert PASSWORD not in " ".join([*command, *environment.values()])
