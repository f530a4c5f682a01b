"""Java's key and trust stores, made by ``keytool`` from the certificates of tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
from cryptography.x509 import load_pem_x509_certificate

from tests.support.connect_files import keytool
from tools.servers import Certificates

STORE_PASSWORD, KEY_PASSWORD = "of-the-store", "of-the-key"


@dataclass(frozen=True)
class JavaStores:
    """A trust store and a client's key store of one form.

    :param key_password: of the private key: in PKCS#12 that of the store, in JKS another one.
    """

    trust: Path
    keys: Path
    key_password: str

    @staticmethod
    def of(files: Certificates, folder: Path, form: str) -> JavaStores:
        """Make stores of form ``JKS`` or ``PKCS12``."""
        folder.mkdir(parents=True, exist_ok=True)
        suffix = form.lower()
        trust, keys, plain = folder / f"trust.{suffix}", folder / f"keys.{suffix}", folder / "client.p12"
        secret = None if files.client_key_password is None else files.client_key_password.encode()
        key = load_pem_private_key(files.client_key.read_bytes(), secret)
        certificate = load_pem_x509_certificate(files.client_certificate.read_bytes())
        encryption = BestAvailableEncryption(STORE_PASSWORD.encode())
        plain.write_bytes(pkcs12.serialize_key_and_certificates(b"client", key, certificate, None, encryption))  # type: ignore[arg-type]
        key_password = KEY_PASSWORD if form == "JKS" else STORE_PASSWORD
        of_store = ("-storetype", form, "-storepass", STORE_PASSWORD)
        keytool("-importcert", "-noprompt", "-alias", "authority", "-file", str(files.ca), "-keystore", str(trust), *of_store)
        copied = ("-srckeystore", str(plain), "-srcstorepass", STORE_PASSWORD, "-srcalias", "client", "-destkeypass", key_password)
        keytool("-importkeystore", *copied, "-destkeystore", str(keys), "-deststoretype", form, "-deststorepass", STORE_PASSWORD)
        plain.unlink()
        return JavaStores(trust, keys, key_password)

    @property
    def kafka(self) -> dict[str, str]:
        """Java's properties of a Kafka client, without secrets."""
        return {"ssl.truststore.location": str(self.trust), "ssl.keystore.location": str(self.keys)}

    @property
    def kafka_secrets(self) -> dict[str, str]:
        """The passwords, by Java's names."""
        names = ("ssl.truststore.password", "ssl.keystore.password")
        return {**dict.fromkeys(names, STORE_PASSWORD), "ssl.key.password": self.key_password}
