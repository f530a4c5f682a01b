"""A real registry behind TLS that wants a client's certificate: PEM files, Java's stores and texts reach it alike."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.registry.client import Registry
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.shipped_stores import stores_as_text
from tests.support.java_stores import STORE_PASSWORD, JavaStores
from tests.support.registry import config, record
from tests.support.source_settings import build
from tools.servers import Certificates, SchemaRegistry

TLS = "schema.registry.ssl."
Settings = dict[str, str]


class TlsFront:
    """TLS in front of a plain port; a client must show a certificate of the authority."""

    def __init__(self, port: int, files: Certificates) -> None:
        self._port, self._context = port, ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(files.ca))
        self._context.load_cert_chain(files.folder / "server.pem")
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            client = stack.enter_context(self._context.wrap_socket(plain, server_side=True))
            server = stack.enter_context(socket.create_connection(("127.0.0.1", self._port)))
            threading.Thread(target=self._pump, args=(server, client), daemon=True).start()
            self._pump(client, server)

    @staticmethod
    def _pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    made = Certificates(tmp_path_factory.mktemp("certificates")).make()
    key, certificate, _ = pkcs12.load_key_and_certificates(made.server_store.read_bytes(), made.password.encode())
    assert key is not None
    assert certificate is not None
    text = certificate.public_bytes(Encoding.PEM) + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (made.folder / "server.pem").write_bytes(text)
    (made.folder / "both.pem").write_bytes(made.client_certificate.read_bytes() + made.client_key.read_bytes())
    return made


@pytest.fixture(scope="module")
def url(schema_registry: SchemaRegistry, files: Certificates) -> Iterator[str]:
    front = TlsFront(schema_registry.port, files)
    yield schema_registry.url.replace(f"http://127.0.0.1:{schema_registry.port}", front.url)
    front.close()


def of_stores(stores: JavaStores) -> Settings:
    return {
        f"{TLS}truststore.location": str(stores.trust),
        f"{TLS}truststore.password": STORE_PASSWORD,
        f"{TLS}keystore.location": str(stores.keys),
        f"{TLS}keystore.password": STORE_PASSWORD,
        f"{TLS}key.password": stores.key_password,
    }


def registered(url: str, of: Settings, subject: str) -> int:
    with Registry(config("", {}, {"schema.registry.url": url, **of})) as registry:
        return registry.registered(subject, record("id", "name")).id


@pytest.mark.parametrize("form", ["PEM", "JKS", "PKCS12", "JKS as text"])
def test_each_form_registers_the_same_schema(
    url: str, schema_registry: SchemaRegistry, files: Certificates, tmp_path: Path, form: str, unique: Callable[[str], str]
) -> None:
    subject = unique("people") + "-value"
    with Registry(config(schema_registry.url)) as plain:
        expected = plain.registered(subject, record("id", "name")).id
    if form == "PEM":
        of = {f"{TLS}truststore.location": str(files.ca), f"{TLS}keystore.location": str(files.folder / "both.pem")}
    else:
        of = of_stores(JavaStores.of(files, tmp_path, form.split()[0]))
    if form == "JKS as text":
        of = dict(stores_as_text(build(), Secrets(registry=of))[1].registry)
        for path in tmp_path.iterdir():
            path.unlink()
    assert registered(url, of, subject) == expected


def test_without_the_certificate_the_registry_does_not_answer(url: str, files: Certificates) -> None:
    """The front does want a certificate: the tests above would see a client that shows none."""
    of = config("", {}, {"schema.registry.url": url, f"{TLS}truststore.location": str(files.ca)}, retry_s=0.1)
    with Registry(of) as registry, pytest.raises(IgniteKafkaError):
        registry.registered("nothing-value", record("id"))


@pytest.mark.parametrize(("name", "at"), [("truststore.password", "trust"), ("keystore.password", "keys"), ("key.password", "keys")])
def test_a_wrong_password_names_the_file(url: str, files: Certificates, tmp_path: Path, name: str, at: str) -> None:
    stores = JavaStores.of(files, tmp_path, "JKS")
    with pytest.raises(SettingsError, match="is wrong") as raised:
        registered(url, {**of_stores(stores), TLS + name: "hunter2"}, "nothing-value")
    assert str(getattr(stores, at)) in str(raised.value)
    assert "hunter2" not in str(raised.value)
