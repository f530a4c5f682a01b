"""Connections to real nodes: failover, TLS with a private authority, users and passwords."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from ignite_kafka.errors import AuthenticationFailed, IgniteUnreachable, SettingsError
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint, TlsSettings
from ignite_kafka.ignite.protocol import ThinError
from tests.integration.ignite.nodes import endpoint_of
from tools.servers import Certificates, IgniteCluster, IgniteOptions, Jars, free_ports

NOBODY = IgniteCredentials()
KEY_PASSWORD = "key-password"
ADMIN = IgniteCredentials("ignite", "ignite", KEY_PASSWORD)


def test_handshake(pair: IgniteCluster) -> None:
    with ThinConnection(endpoint_of(pair), NOBODY, pair.addresses[1]) as connection:
        assert connection.address == pair.addresses[1]
        assert connection.version == (1, 7, 0)
        assert connection.features >= protocol.FEATURES
        assert connection.node_id is not None


def test_replies_taken_in_any_order(pair: IgniteCluster) -> None:
    with ThinConnection(endpoint_of(pair), NOBODY) as connection:
        names = connection.send(protocol.CACHE_NAMES, b"")
        missing = connection.send(protocol.CACHE_CONFIGURATION, struct.pack("<iB", 5, 0))
        forgotten = connection.send(protocol.CACHE_NAMES, b"")
        again = connection.send(protocol.CACHE_NAMES, b"")
        connection.forget(forgotten)
        last = bytes(connection.receive(again))
        with pytest.raises(ThinError, match="Cache does not exist") as raised:
            connection.receive(missing)
        assert raised.value.status == protocol.CACHE_DOES_NOT_EXIST
        assert bytes(connection.receive(names)) == last


def test_the_next_address_serves_when_one_does_not(pair: IgniteCluster) -> None:
    dead = f"127.0.0.1:{free_ports(1)[0]}"
    for addresses in ((dead, pair.addresses[0]), (pair.addresses[0], dead)):
        with ThinConnection(IgniteEndpoint(addresses), NOBODY) as connection:
            assert connection.address == pair.addresses[0]


def test_every_address_is_named_with_its_reason() -> None:
    dead = tuple(f"127.0.0.1:{port}" for port in free_ports(2))
    with pytest.raises(IgniteUnreachable) as raised:
        ThinConnection(IgniteEndpoint((*dead, "no.such.host.invalid")), NOBODY)
    for address in dead:
        assert f"{address}: [Errno 111] Connection refused" in str(raised.value)
    assert "no.such.host.invalid: [Errno -" in str(raised.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """The node's certificate is for `localhost` only."""
    return Certificates(tmp_path_factory.mktemp("certificates"), client_key_password=KEY_PASSWORD).make(["localhost"])


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("others")).make()


@pytest.fixture(scope="module")
def secured(jars: Jars, tmp_path_factory: pytest.TempPathFactory, files: Certificates) -> Iterator[IgniteCluster]:
    """One node with TLS, client certificates, and users."""
    options = IgniteOptions(tls=files, client_certificate=True, authentication=True)
    with IgniteCluster(tmp_path_factory.mktemp("secured"), jars=jars, options=options) as nodes:
        yield nodes


def endpoint(address: str, files: Certificates, host: str = "localhost", **tls: object) -> IgniteEndpoint:
    settings = TlsSettings(True, str(files.ca), str(files.client_certificate), str(files.client_key))
    return IgniteEndpoint((f"{host}:{address.rpartition(':')[2]}",), dataclasses.replace(settings, **tls), 5_000, 20_000)  # type: ignore[arg-type]


def test_tls_with_a_private_authority(secured: IgniteCluster, files: Certificates) -> None:
    with Cluster(endpoint(secured.address, files), ADMIN) as cluster:
        assert cluster.cache_names() == []


def test_unknown_authority_is_refused(secured: IgniteCluster, files: Certificates, other: Certificates) -> None:
    with pytest.raises(IgniteUnreachable, match=r"certificate is not accepted.*ca_file must hold the authority"):
        ThinConnection(endpoint(secured.address, files, ca_file=str(other.ca)), ADMIN)


def test_system_authorities_do_not_know_a_private_one(secured: IgniteCluster, files: Certificates) -> None:
    with pytest.raises(IgniteUnreachable, match="certificate is not accepted"):
        ThinConnection(endpoint(secured.address, files, ca_file=None), ADMIN)


def test_another_host_name_is_refused(secured: IgniteCluster, files: Certificates) -> None:
    address = secured.address
    hint = "use the name in the certificate as address, or set check_hostname to false"
    with pytest.raises(IgniteUnreachable, match=rf"not valid for '127\.0\.0\.1'.*{hint}"):
        ThinConnection(endpoint(address, files, "127.0.0.1"), ADMIN)
    ThinConnection(endpoint(address, files, "127.0.0.1", check_hostname=False), ADMIN).close()


def test_the_certificate_must_name_the_mapped_address(secured: IgniteCluster, files: Certificates) -> None:
    """The node announces 127.0.0.1, and its certificate is for localhost."""
    mapped = dataclasses.replace(endpoint(secured.address, files), address_map=("127.0.0.1=localhost",))
    with Cluster(mapped, ADMIN) as cluster:
        [announced] = cluster.endpoints().values()
        [address] = cluster.reachable(announced)
    ThinConnection(mapped, ADMIN, address).close()
    with pytest.raises(IgniteUnreachable, match=r"not valid for '127\.0\.0\.1'"):
        ThinConnection(mapped, ADMIN, announced[0])


def test_verification_only_ends_when_told_so(secured: IgniteCluster, files: Certificates) -> None:
    ThinConnection(endpoint(secured.address, files, "127.0.0.1", ca_file=None, verify=False), ADMIN).close()


def test_client_certificate_is_wanted(secured: IgniteCluster, files: Certificates) -> None:
    with pytest.raises(IgniteUnreachable, match="does it want a client certificate"):
        ThinConnection(endpoint(secured.address, files, cert_file=None, key_file=None), ADMIN)


def test_plain_client_of_a_tls_node(secured: IgniteCluster) -> None:
    with pytest.raises(IgniteUnreachable, match="does it want TLS"):
        ThinConnection(IgniteEndpoint((secured.address,), connect_timeout_ms=3_000), ADMIN)


def test_tls_client_of_a_plain_node(pair: IgniteCluster, files: Certificates) -> None:
    with pytest.raises(IgniteUnreachable, match=r"does this node speak TLS|no answer in time|closed"):
        ThinConnection(dataclasses.replace(endpoint(pair.address, files), connect_timeout_ms=2_000), ADMIN)


@pytest.mark.parametrize(
    ("credentials", "shown"),
    [
        (IgniteCredentials("ignite", "wrong", KEY_PASSWORD), "user 'ignite'"),
        (IgniteCredentials("nobody", "ignite", KEY_PASSWORD), "user 'nobody'"),
        (IgniteCredentials(key_password=KEY_PASSWORD), "a connection without a user"),
    ],
)
def test_wrong_user_or_password(secured: IgniteCluster, files: Certificates, credentials: IgniteCredentials, shown: str) -> None:
    with pytest.raises(AuthenticationFailed, match=f"Ignite refused {shown}: .*address localhost") as raised:
        ThinConnection(endpoint(secured.address, files), credentials)
    assert raised.value.final
    assert "wrong" not in str(raised.value)


def test_files_that_cannot_be_used(files: Certificates, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ca file .*missing.pem"):
        ThinConnection(endpoint("node:1", files, ca_file=str(tmp_path / "missing.pem")), ADMIN)
    with pytest.raises(SettingsError, match="client certificate or its key"):
        ThinConnection(endpoint("node:1", files), IgniteCredentials(key_password="other"))
