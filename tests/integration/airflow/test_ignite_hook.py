"""Test button of the Ignite connection on a node with TLS, client certificates and users."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from pyignite.exceptions import ReconnectError

from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from ignite_kafka.errors import IgniteUnreachable
from tests.support import QUICK_JVM
from tools.servers import Certificates, IgniteCluster, IgniteOptions, Jars

KEY_PASSWORD = "mellon"
Press = Callable[..., tuple[bool, str]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """The node's certificate is for `localhost` only."""
    return Certificates(tmp_path_factory.mktemp("certificates"), client_key_password=KEY_PASSWORD).make(["localhost"])


@pytest.fixture(scope="module")
def node(jars: Jars, tmp_path_factory: pytest.TempPathFactory, files: Certificates) -> Iterator[IgniteCluster]:
    options = IgniteOptions(tls=files, client_certificate=True, authentication=True)
    with IgniteCluster(tmp_path_factory.mktemp("tls"), jars=jars, options=options, java_options=QUICK_JVM) as started:
        with started.client() as client:
            client.create_cache("people")
        yield started


@pytest.fixture
def press(node: IgniteCluster, files: Certificates, monkeypatch: pytest.MonkeyPatch) -> Press:
    """``press(host=..., password=..., **extra)``: the button's answer for a connection to the node."""

    def pressed(host: str = "localhost", password: str = node.password, login: str = node.user, **extra: Any) -> tuple[bool, str]:
        tls = {"tls": True, "ca_file": str(files.ca), "cert_file": str(files.client_certificate), "key_file": str(files.client_key)}
        connection = {"conn_type": "ignite", "host": host, "port": int(node.address.rpartition(":")[2]), "login": login}
        given = {**connection, "password": password, "extra": {**tls, "key_password": KEY_PASSWORD, **extra}}
        monkeypatch.setenv("AIRFLOW_CONN_TLS", json.dumps(given))
        return IgniteHook("tls").test_connection()

    return pressed


def test_a_client_over_tls_with_the_login_of_the_connection(press: Press) -> None:
    assert press()[0]
    hook = IgniteHook("tls")
    with closing(hook.get_conn()) as client:
        assert client.get_cache_names() == ["people"]
    hook.run("CREATE USER \"zoë\" WITH PASSWORD 'größe'")
    assert press(login="zoë", password="größe")[0], "pyignite itself counts letters, not bytes"


def test_a_client_verifies_the_host_name_also_when_it_connects_again(press: Press) -> None:
    assert press(host="127.0.0.1", check_hostname=False)[0]
    hook = IgniteHook("tls")
    with closing(hook.get_conn()) as client:
        client.random_node.close()
        context = client._context
        assert context is not None
        context.check_hostname = True
        with pytest.raises(ReconnectError):
            client.get_cache_names()
    assert not press(host="127.0.0.1")[0]
    with pytest.raises(IgniteUnreachable, match="use the name in the certificate"):
        IgniteHook("tls").get_conn()


def test_the_answer_of_the_cluster_over_tls(press: Press, node: IgniteCluster) -> None:
    port = node.address.rpartition(":")[2]
    assert press() == (True, f"Connected to localhost:{port}: the cluster is ACTIVE, 1 cache: people")


def test_a_wrong_password_is_reported_and_not_shown(press: Press) -> None:
    works, message = press(password="wrong-sesame")
    assert not works
    assert "Check user and password of the connection" in message
    assert "wrong-sesame" not in message


def test_a_certificate_of_another_host_is_refused(press: Press) -> None:
    works, message = press(host="127.0.0.1")
    assert not works
    assert "use the name in the certificate as address, or set check_hostname to false" in message
    assert press(host="127.0.0.1", check_hostname=False)[0]


def test_a_ca_file_that_does_not_exist_is_reported(press: Press) -> None:
    works, message = press(ca_file="/missing.pem")
    assert not works
    assert "ca_file must be a PEM file" in message
