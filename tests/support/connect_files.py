"""The files of Kafka Connect in tests/migration, copied to a folder of the test with what they name."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from pathlib import Path

from ignite_kafka.cli import main as cli

FILES = Path(__file__).parents[1] / "migration"
STANDALONE = (
    "tutorial-source.properties",
    "tutorial-sink.properties",
    "kafka-key-sink.properties",
    "backlog-source.properties",
    "transforms-source.properties",
)
SECURED = ("schemas-source.properties", "confluent-source.json", "confluent-sink.json")
PASSWORD = "hunter2=;\"'\\x"
"""A password with every character that has a meaning in some form of a file."""
VARIABLES = {"CONNECT_REGISTRY_USER": "ann:hunter2-registry"}

_NODE = """<beans xmlns="http://www.springframework.org/schema/beans"><bean class="org.apache.ignite.configuration.IgniteConfiguration">
<property name="clientConnectorConfiguration"><bean class="org.apache.ignite.configuration.ClientConnectorConfiguration">
<property name="port" value="{port}"/></bean></property>
<property name="discoverySpi"><bean class="org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi"><property name="ipFinder">
<bean class="org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder"><property name="addresses"><list>
<value>{host}:47500..47509</value></list></property></bean></property></bean></property></bean></beans>"""


def node_file(address: str) -> str:
    """Write a file for igniteCfg with the client connector's address."""
    host, _, port = address.rpartition(":")
    return _NODE.format(host=host, port=port)


def keytool(*arguments: str) -> None:
    """Run the JDK's keytool."""
    subprocess.run(["keytool", *arguments], check=True, capture_output=True)


def trust(certificate: Path, store: Path, password: str, *, alias: str = "ca") -> None:
    """Add a PEM certificate to a trust store: PKCS#12 if the path ends with ``.p12``, else JKS. A missing store is created."""
    kind = "PKCS12" if store.suffix == ".p12" else "JKS"
    imported = ("-importcert", "-noprompt", "-alias", alias, "-file", str(certificate))
    keytool(*imported, "-keystore", str(store), "-storepass", password, "-storetype", kind)


def edit(path: Path, **texts: str) -> None:
    """Replace texts of a file; each of them must occur."""
    text = path.read_text()
    for old, new in texts.items():
        assert old in text, (path.name, old)
        text = text.replace(old, new)
    path.write_text(text)


def allowing(folder: Path) -> list[str]:
    """Return the arguments that let config providers read the files of a folder, and the variables of the connectors' files."""
    return [
        "--allow-config-provider", f"FileConfigProvider={folder}", "--allow-config-provider", f"DirectoryConfigProvider={folder}",
        "--allow-config-provider", "EnvVarConfigProvider=CONNECT_.*",
    ]  # fmt: skip


def migrated(folder: Path, worker: str, connector: str) -> tuple[Path, Path]:
    """Run `ignite-kafka migrate`; return the path of the settings file, and of the secrets file, which exists if there are secrets."""
    out = folder / uuid.uuid4().hex
    out.mkdir()
    assert cli.main(["migrate", str(folder / worker), str(folder / connector), "--output", str(out), *allowing(folder)]) == 0
    (path,) = out.glob("*.properties")
    return path, path.with_suffix(".secrets.json")


def copied(folder: Path, *, stores: bool) -> Path:
    """A copy of the files.

    :param stores: keep the names of JKS stores, which the test makes; else a PEM file stands for them, and none for Ignite's.
    """
    for path in FILES.iterdir():
        text = path.read_text().replace("FOLDER", str(folder))
        if not stores:
            lines = text.splitlines(keepends=True)
            pem = [line.replace("location=", "type=").partition("=")[0] + "=PEM\n" for line in lines if "ssl.truststore.location=" in line]
            text = "".join(lines + pem).replace("truststore.jks", "ca.pem").replace("ignite-secured.xml", "ignite-client.xml")
        (folder / path.name).write_text(text)
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\")
    (folder / "secrets.properties").write_text(f"connect={quoted}\nworker=hunter2-worker\n")
    (folder / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    shutil.rmtree(folder / "out", ignore_errors=True)
    (folder / "out").mkdir()
    return folder
