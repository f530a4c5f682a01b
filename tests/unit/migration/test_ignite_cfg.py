"""Addresses, TLS, user and regions from a node's Spring XML file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.migration.ignite_cfg import read
from tests.support.connect_files import FILES


def test_addresses_of_discovery_get_the_client_connectors_port() -> None:
    found = read(str(FILES / "ignite-client.xml"))
    assert found.addresses == ("ignite-1.example.com:10800", "ignite-2.example.com:10800", "[2001:db8::7]:10800")
    assert found.port_assumed
    assert (found.tls, found.stores, found.username, found.password, found.regions, found.skipped) == (False, {}, "", "", (), ())


def test_everything_that_is_literal_is_read() -> None:
    found = read(str(FILES / "ignite-secured.xml"))
    assert (found.addresses, found.port_assumed, found.tls) == (("10.1.0.1:10900",), False, True)
    assert found.stores == {
        "keyStoreFilePath": "FOLDER/client.jks",
        "keyStorePassword": "hunter2-key",
        "trustStoreFilePath": "FOLDER/truststore.jks",
        "trustStorePassword": "changeit",
    }
    assert (found.username, found.password) == ("connect", "hunter2-ignite")
    assert found.regions == ("kafka-connect",)
    assert found.skipped == ("addresses",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file"),
        ("<beans>", "is no XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><beans/>', "declares entities"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_a_way_out(text: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "i.xml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=f"{message}.*--ignite"):
        read(str(path), "a.properties, line 3")
