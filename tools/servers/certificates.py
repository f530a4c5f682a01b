"""Certificates of an authority, a server and a client for TLS, in files for Java and for Python."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

_LIFE = datetime.timedelta(days=2)
_Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class Certificates:
    """Certificate files in one folder.

    :param password: of the two Java key stores.
    :param client_key_password: of the client's key; None: the key is not encrypted.
    """

    folder: Path
    password: str = "changeit"
    client_key_password: str | None = None

    @property
    def ca(self) -> Path:
        """Certificate of the authority (PEM)."""
        return self.folder / "ca.pem"

    @property
    def server_store(self) -> Path:
        """Key and certificate of the server, for Java (PKCS12)."""
        return self.folder / "server.p12"

    @property
    def trust_store(self) -> Path:
        """Certificate of the authority, for Java (PKCS12)."""
        return self.folder / "trust.p12"

    @property
    def client_certificate(self) -> Path:
        """Certificate of the client, for Python (PEM)."""
        return self.folder / "client.pem"

    @property
    def client_key(self) -> Path:
        """Key of the client, for Python (PEM)."""
        return self.folder / "client.key"

    def make(self, host_names: Sequence[str] = ("localhost", "127.0.0.1")) -> Certificates:
        """Write the files; the server's certificate names ``host_names``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        ca_key = ec.generate_private_key(ec.SECP256R1())
        ca = _sign("Test authority", ca_key, "Test authority", ca_key, authority=True)
        server_key = ec.generate_private_key(ec.SECP256R1())
        server = _sign("Server", server_key, "Test authority", ca_key, host_names=host_names)
        client_key = ec.generate_private_key(ec.SECP256R1())
        client = _sign("Client", client_key, "Test authority", ca_key)
        self.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
        store_encryption = serialization.BestAvailableEncryption(self.password.encode())
        self.server_store.write_bytes(
            pkcs12.serialize_key_and_certificates(b"server", server_key, server, [ca], store_encryption)
        )
        self.trust_store.write_bytes(
            pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(ca, b"ca")], store_encryption)
        )
        self.client_certificate.write_bytes(client.public_bytes(serialization.Encoding.PEM))
        self._write_client_key(client_key)
        return self

    def _write_client_key(self, key: _Key) -> None:
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if self.client_key_password is not None:
            encryption = serialization.BestAvailableEncryption(self.client_key_password.encode())
        self.client_key.touch(mode=0o600)
        self.client_key.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        )


def _sign(
    name: str, key: _Key, issuer: str, issuer_key: _Key, *, authority: bool = False, host_names: Sequence[str] = ()
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LIFE)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if authority:
        builder = builder.add_extension(_key_usage(), critical=True)
    if host_names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_general_name(host) for host in host_names]), critical=False
        )
    return builder.sign(issuer_key, hashes.SHA256())


def _key_usage() -> x509.KeyUsage:
    names = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement key_cert_sign crl_sign"
    )
    return x509.KeyUsage(
        **{name: name in ("key_cert_sign", "crl_sign") for name in names.split()},
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
