"""Addresses, TLS, user and regions from a node's Spring XML file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.errors import SettingsError
from ignite_kafka.migration.ignite_cfg import read
from ignite_kafka.settings.files.load import load
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


_BEANS = """<beans xmlns="http://www.springframework.org/schema/beans" xmlns:p="http://www.springframework.org/schema/p">
<bean class="org.apache.ignite.configuration.IgniteConfiguration"><property name="discoverySpi">
<bean class="org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi"><property name="ipFinder">{}</property></bean>
</property></bean></beans>"""
_FINDER = "org.apache.ignite.spi.discovery.tcp.ipfinder"
_VM = f"{_FINDER}.vm.TcpDiscoveryVmIpFinder"
_TWO = "node-1:47500..47509,node-2"


@pytest.mark.parametrize(
    "finder",
    [
        f'<bean class="{_VM}"><property name="addresses" value="{_TWO}"/></bean>',
        f'<bean class="{_VM}" p:addresses="{_TWO}"/>',
        f'<bean class="{_VM}"><property name="addresses"><list><value>node-1:47500</value><value>node-2</value></list></property></bean>',
    ],
)
def test_addresses_are_read_however_they_are_written(finder: str, tmp_path: Path) -> None:
    path = tmp_path / "i.xml"
    path.write_text(_BEANS.format(finder))
    assert (read(str(path)).addresses, read(str(path)).finder) == (("node-1:10800", "node-2:10800"), _VM)


def test_a_file_without_addresses_is_an_error_unless_they_are_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The default address may be that of another cluster."""
    kubernetes = f"{_FINDER}.kubernetes.TcpDiscoveryKubernetesIpFinder"
    path, connector = tmp_path / "i.xml", tmp_path / "shop.properties"
    (tmp_path / "out").mkdir()
    path.write_text(_BEANS.format(f'<bean class="{kubernetes}"><property name="namespace" value="shop"/></bean>'))
    connector.write_text(f"name=shop\nconnector.class=org.gridgain.kafka.source.IgniteSourceConnector\nigniteCfg={path}\n")
    migrate = ["migrate", str(connector), "--output", str(tmp_path / "out")]
    for command in (migrate, ["validate", str(connector)], ["plan", str(connector)]):
        assert cli.main(command) != 0
        assert "--ignite" in capsys.readouterr().err
    assert not (tmp_path / "out" / "shop.properties").exists()
    assert cli.main([*migrate, "--ignite", "node-1:10800"]) == 0
    assert load(tmp_path / "out" / "shop.properties").settings().ignite_addresses == ("node-1:10800",)


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
