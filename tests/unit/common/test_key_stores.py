"""PKCS#12 stores without Java; ``tests/integration/common/test_key_stores.py`` has those of keytool."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.common import der
from ignite_kafka.common.key_stores import is_store, key_pair, trusted
from ignite_kafka.errors import SettingsError
from tools.servers.certificates import Certificates


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates")).make()


def test_stores_of_pkcs12(files: Certificates) -> None:
    assert trusted(files.trust_store, files.password, "ca_file") == files.ca.read_text()
    found = key_pair(files.server_store, files.password, "", "cert_file")
    assert (found.certificates.count("BEGIN CERTIFICATE"), found.key.count("BEGIN PRIVATE KEY")) == (2, 1)
    assert (is_store(files.trust_store), is_store(files.ca), is_store(files.folder), is_store("/gone")) == (True, False, False, False)


def test_rounds_hidden_in_a_store_are_counted_wherever_they_are(tmp_path: Path) -> None:
    def element(tag: int, *content: bytes) -> bytes:
        body = b"".join(content)
        return bytes([tag, 0x82]) + len(body).to_bytes(2, "big") + body

    costly = element(der.SEQUENCE, element(der.OCTETS, b"salt"), element(der.INTEGER, (1 << 40).to_bytes(6, "big")))
    path = tmp_path / "store.p12"
    for inner in (costly, element(der.OCTETS, costly), element(0xA0, element(der.OCTETS, element(der.SEQUENCE, costly)))):
        path.write_bytes(element(der.SEQUENCE, b"\x02\x01\x03", inner))
        with pytest.raises(SettingsError, match="rounds of key derivation"):
            trusted(path, "x", "ca_file")


def test_a_store_nested_without_end_is_refused(tmp_path: Path) -> None:
    nested = b"\x05\x00"
    while len(nested) < 50_000:
        nested = b"\x30\x84" + len(nested).to_bytes(4, "big") + nested
    path = tmp_path / "store.p12"
    path.write_bytes(b"\x30\x84" + (len(nested) + 3).to_bytes(4, "big") + b"\x02\x01\x03" + nested)
    with pytest.raises(SettingsError, match="nested more than 24 deep"):
        trusted(path, "x", "ca_file")


def test_lengths_without_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.p12"
    path.write_bytes(b"\x30\x80\x02\x01\x03\x00\x00")
    with pytest.raises(SettingsError, match=r"indefinite.*keytool -importkeystore"):
        trusted(path, "x", "ca_file")
