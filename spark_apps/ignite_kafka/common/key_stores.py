"""Conversion of Java's key and trust stores (JKS, PKCS#12) to PEM texts, for librdkafka and Python's TLS.

``cryptography`` reads keys and certificates; :mod:`.jks` and :mod:`.pkcs12` read the stores. A process that
makes connections reads each store once. Every error names the file and never shows its content.
"""

from __future__ import annotations

import datetime
import functools
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SettingsError
from . import jks, pkcs12

if TYPE_CHECKING:
    from cryptography import x509

MAX_STORE_BYTES = 4 << 20
FORMS = ("JKS", "PKCS12", "PEM")
_JCEKS = bytes.fromhex("cececece")
_ONE_KEY = "Export the key that the other side accepts: keytool -importkeystore -srcalias ALIAS -deststoretype PKCS12"
_ONLY_TRUSTED = (
    "Put the authorities alone into a trust store: keytool -importcert -alias CA -file CA.pem -keystore TRUST.p12"
)
_REWRITE = "Write it anew: keytool -importkeystore -srckeystore FILE -destkeystore NEW.p12 -deststoretype PKCS12"


@dataclass(frozen=True, repr=False)
class KeyPair:
    """A decrypted private key and its certificate chain, both as PEM."""

    certificates: str
    key: str


def is_store(path: str | Path) -> bool:
    """Return whether a file is a JKS, JCEKS or PKCS#12 key store, judged by its first bytes.

    An unreadable file is none.
    """
    head = _head(path)
    return head[:4] in (jks.MAGIC, _JCEKS) or _is_pfx(head)


def is_pem(path: str | Path) -> bool:
    """Return whether a file contains PEM; False for an unreadable file."""
    return b"-----BEGIN " in _head(path, MAX_STORE_BYTES)


def is_pkcs12(path: str | Path) -> bool:
    """Return whether a file is PKCS#12, judged by its first bytes; False for an unreadable file."""
    return _is_pfx(_head(path))


def trusted(path: str | Path, password: str, setting: str) -> str:
    """Return the certificates in a trust store as PEM.

    :param password: password of the store; empty: JKS is read without a check of its integrity, as in Java.
    :param setting: the setting that names the store, for errors.
    :raises SettingsError: the file is no store, the password is wrong, or no certificate in it is valid today.
    """
    certificates = _open_store(str(path), password, "", _stamp(path, setting), setting, False)[0]
    now = datetime.datetime.now(datetime.timezone.utc)
    if not any(certificate.not_valid_after_utc >= now for certificate in certificates):
        what = (
            "the trust store has no certificate"
            if not certificates
            else "every certificate of the trust store has expired"
        )
        raise SettingsError(
            what, "Check that it is the right file: keytool -list -v -keystore FILE", setting=setting, file=path
        )
    return _pem(certificates)


def key_pair(path: str | Path, password: str, key_password: str, setting: str) -> KeyPair:
    """Return the only private key in a key store, with its certificates.

    :param key_password: password of the key; empty: the store's password.
    :raises SettingsError: the file is no store, a password is wrong, there is not exactly one private key, or its
        certificate is not valid today.
    """
    chain, key = _open_store(str(path), password, key_password or password, _stamp(path, setting), setting, True)
    own = chain[0]
    now = datetime.datetime.now(datetime.timezone.utc)
    if not own.not_valid_before_utc <= now <= own.not_valid_after_utc:
        state = "has expired" if now > own.not_valid_after_utc else "is not valid yet"
        what = (
            f"the certificate of the key store {state}: it is valid from {own.not_valid_before_utc:%F} to "
            f"{own.not_valid_after_utc:%F}"
        )
        raise SettingsError(what, "Have a new one issued, and put it into the store", setting=setting, file=path)
    return KeyPair(_pem(chain), key)


@functools.lru_cache(maxsize=16)
def _open_store(
    path: str, password: str, key_password: str, _stamp: Any, setting: str, key: bool
) -> tuple[Sequence[x509.Certificate], str]:
    """Return a store's certificates and, on request, its private key as PEM; cached until the file changes."""
    try:
        data = _read(path, MAX_STORE_BYTES + 1)
        if len(data) > MAX_STORE_BYTES:
            raise ValueError(f"it has more than {MAX_STORE_BYTES >> 20} MiB (MAX_STORE_BYTES)")
        read = _read_jks if data[:4] == jks.MAGIC else _read_pkcs12 if _is_pfx(data) else None
        if read is None:
            raise ValueError(
                "it is JCEKS, and only JKS and PKCS#12 are read"
                if data[:4] == _JCEKS
                else "it is neither JKS nor PKCS#12"
            )
        return read(data, password, key_password, key)
    except jks.WrongPassword as error:
        remedy = (
            "Check the password of the store; keytool -list -keystore FILE asks for it, and -importkeystore also for "
            "that of a key"
        )
        raise SettingsError(f"the key store cannot be opened: {error}", remedy, setting=setting, file=path) from None
    except pkcs12.NotOneKey as error:
        raise SettingsError(str(error), _ONE_KEY if key else _ONLY_TRUSTED, setting=setting, file=path) from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"the key store cannot be read: {error}", _REWRITE, setting=setting, file=path) from None
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"a key store cannot be read here: the package {error.name} is missing",
            "Install the extra keystores here: pip install 'airflow-provider-ignite-kafka[keystores]'; or convert the "
            "store to PEM",
            setting=setting,
            file=path,
        ) from error


def _read_jks(data: bytes, password: str, key_password: str, key: bool) -> tuple[list[x509.Certificate], str]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    entries = jks.read_jks(data, password)
    if not key:
        return [_certificate(entry.chain[0]) for entry in entries if entry.chain], ""
    keys = [(entry, entry.protected_key) for entry in entries if entry.protected_key is not None]
    # without a checked password the entries may be forged, so messages do not show their names
    pkcs12.one_key([entry.alias if password else "" for entry, _ in keys])
    [(entry, protected)] = keys
    if not entry.chain:
        raise ValueError("its private key has no certificate")
    try:
        private_key = load_der_private_key(jks.private_key(protected, key_password), None)
    except (UnsupportedAlgorithm, TypeError) as error:
        raise ValueError(f"its private key is of a form that is not supported: {error}") from None
    return [_certificate(certificate) for certificate in entry.chain], _key_text(private_key)


def _read_pkcs12(data: bytes, password: str, key_password: str, key: bool) -> tuple[list[x509.Certificate], str]:
    content = pkcs12.read_pkcs12(data, password, key_password, key=key)
    return [_certificate(certificate) for certificate in content.certificates], content.key


def _certificate(data: bytes) -> x509.Certificate:
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(data)


def _pem(certificates: Sequence[x509.Certificate]) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates)


def _key_text(key: Any) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return str(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())


def _is_pfx(data: bytes) -> bool:
    """Return whether data begins like PKCS#12: a SEQUENCE whose first element is the version 3."""
    size = data[1] & 0x7F if len(data) > 1 and data[1] & 0x80 else 0
    return data[:1] == b"\x30" and data[2 + size : 5 + size] == b"\x02\x01\x03"


def _stamp(path: str | Path, setting: str) -> tuple[int, int, int]:
    """Return an identification of a file's content, so that a replaced file is read again."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise SettingsError(
            f"the key store cannot be read: {error.strerror}", "Check its path", setting=setting, file=path
        ) from error
    return status.st_mtime_ns, status.st_size, status.st_ino


def _head(path: str | Path, size: int = 64) -> bytes:
    """Return the first bytes of a file; none if it is unreadable."""
    try:
        return _read(path, size)
    except (OSError, ValueError):
        return b""


def _read(path: str | Path, size: int) -> bytes:
    """Return the first bytes of a regular file; a pipe is refused without waiting for it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no file")
        return file.read(size)
