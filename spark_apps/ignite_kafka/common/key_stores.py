"""Java's key and trust stores, JKS and PKCS#12, as PEM texts, which librdkafka and Python's TLS read.

``cryptography`` reads PKCS#12, keys and certificates; :mod:`.jks` reads JKS. A store is read where a connection is made, once in a process.
Every error names the file and never shows its content.
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
from . import der, jks

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

MAX_STORE_BYTES = 4 << 20
MAX_ITERATIONS = 5_000_000
"""Sum of the key derivation rounds of a PKCS#12 store: the JDK's own limit for one. More would keep a processor busy for minutes."""

FORMS = ("JKS", "PKCS12", "PEM")
_JCEKS = bytes.fromhex("cececece")
_SHROUDED_KEY, _KEY = (bytes.fromhex(f"2a864886f70d010c0a01{last}") for last in ("02", "01"))  # 1.2.840.113549.1.12.10.1.2 and .1
_ONE_KEY = "Export the key that the other side accepts: keytool -importkeystore -srcalias ALIAS -deststoretype PKCS12"
_REWRITE = "Write it anew: keytool -importkeystore -srckeystore FILE -destkeystore NEW.p12 -deststoretype PKCS12"


@dataclass(frozen=True, repr=False)
class KeyPair:
    """A private key and its certificate chain, the holder's first, as PEM; the key is not encrypted."""

    certificates: str
    key: str


def is_store(path: str | Path) -> bool:
    """Whether a file begins as a key store, JKS, JCEKS or PKCS#12; a PEM file, and what cannot be read, is none."""
    try:
        head = _read(path, 64)
    except (OSError, ValueError):
        return False
    return head[:4] in (jks.MAGIC, _JCEKS) or _is_pfx(head)


def trusted(path: str | Path, password: str, setting: str) -> str:
    """The certificates of a trust store, as PEM.

    :param password: of the store; empty: JKS is read without a check of its integrity, as Java does.
    :param setting: the setting that names the store, for errors.
    :raises SettingsError: the file is no store, the password is wrong, or no certificate in it is valid today.
    """
    found = _opened(str(path), password, "", _stamp(path, setting), setting, False)[0]
    now = datetime.datetime.now(datetime.timezone.utc)
    if not any(one.not_valid_after_utc >= now for one in found):
        what = "the trust store has no certificate" if not found else "every certificate of the trust store has expired"
        raise SettingsError(what, "Check that it is the right file: keytool -list -v -keystore FILE", setting=setting, file=path)
    return _pem(found)


def key_pair(path: str | Path, password: str, key_password: str, setting: str) -> KeyPair:
    """The private key of a key store, and its certificates.

    :param key_password: of the key; empty: that of the store.
    :raises SettingsError: the file is no store, a password is wrong, there is not exactly one private key, or its certificate is not valid
        today.
    """
    chain, key = _opened(str(path), password, key_password or password, _stamp(path, setting), setting, True)
    own, now = chain[0], datetime.datetime.now(datetime.timezone.utc)
    if not own.not_valid_before_utc <= now <= own.not_valid_after_utc:
        state = "has expired" if now > own.not_valid_after_utc else "is not valid yet"
        what = f"the certificate of the key store {state}: it is valid from {own.not_valid_before_utc:%F} to {own.not_valid_after_utc:%F}"
        raise SettingsError(what, "Have a new one issued, and put it into the store", setting=setting, file=path)
    return KeyPair(_pem(chain), key)


@functools.lru_cache(maxsize=16)
def _opened(path: str, password: str, key_password: str, _stamp: Any, setting: str, key: bool) -> tuple[Sequence[x509.Certificate], str]:
    """Certificates, and the key as PEM if it is wanted: once for each state of a file."""
    try:
        data = _read(path, MAX_STORE_BYTES + 1)
        if len(data) > MAX_STORE_BYTES:
            raise ValueError(f"it has more than {MAX_STORE_BYTES >> 20} MiB (MAX_STORE_BYTES)")
        read = _read_jks if data[:4] == jks.MAGIC else _read_pkcs12 if _is_pfx(data) else None
        if read is None:
            raise ValueError("it is JCEKS, and only JKS and PKCS#12 are read" if data[:4] == _JCEKS else "it is neither JKS nor PKCS#12")
        return read(data, password, key_password, key)
    except jks.WrongPassword as error:
        remedy = "Check the password of the store; keytool -list -keystore FILE asks for it, and -importkeystore also for that of a key"
        raise SettingsError(f"the key store cannot be opened: {error}", remedy, setting=setting, file=path) from None
    except _NotOneKey as error:
        raise SettingsError(str(error), _ONE_KEY, setting=setting, file=path) from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"the key store cannot be read: {error}", _REWRITE, setting=setting, file=path) from None
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"a key store cannot be read here: the package {error.name} is missing",
            "Install the extra keystores here: pip install 'airflow-provider-ignite-kafka[keystores]'; or convert the store to PEM",
            setting=setting,
            file=path,
        ) from error


class _NotOneKey(ValueError):
    pass


def _one_key(aliases: Sequence[str]) -> None:
    if not aliases:
        raise _NotOneKey("the key store has no private key: it is a trust store, or the wrong file")
    if len(aliases) > 1:
        listed = f" ({', '.join(aliases)})" if any(aliases) else ""
        raise _NotOneKey(f"the key store has {len(aliases)} private keys{listed}, and it is not said which one to use")


def _read_jks(data: bytes, password: str, key_password: str, key: bool) -> tuple[list[x509.Certificate], str]:
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    entries = jks.read(data, password)
    if not key:
        return [_certificate(entry.chain[0]) for entry in entries if entry.chain], ""
    keys = [(entry, entry.protected_key) for entry in entries if entry.protected_key is not None]
    _one_key([entry.alias for entry, _ in keys])
    [(entry, protected)] = keys
    if not entry.chain:
        raise ValueError("its private key has no certificate")
    found = load_der_private_key(jks.private_key(protected, key_password), None)
    return [_certificate(one) for one in entry.chain], _key_text(found)


def _read_pkcs12(data: bytes, password: str, key_password: str, key: bool) -> tuple[list[x509.Certificate], str]:
    keys = _check_pkcs12(data)
    if key:
        _one_key([""] * keys)
    found = _load_pkcs12(data, password)
    others = [one.certificate for one in found.additional_certs]
    own = [] if found.cert is None else [found.cert.certificate]
    if not key:
        return own + others, ""
    if found.key is None or not own:
        raise ValueError("its private key has no certificate")
    if key_password != password:
        raise ValueError("a private key in PKCS#12 has the password of the store, and another one is given for it")
    return _chain(own[0], others), _key_text(found.key)


def _load_pkcs12(data: bytes, password: str) -> PKCS12KeyAndCertificates:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        return load_pkcs12(data, password.encode() if password else None)
    except UnsupportedAlgorithm as error:
        raise ValueError(f"it is encrypted by an algorithm that is not supported: {error}") from None
    except ValueError:
        raise jks.WrongPassword("the password is wrong, or that of the private key differs from it, or the file is damaged") from None


def _check_pkcs12(data: bytes) -> int:
    """Check the cost of opening a store; the number of private keys that can be seen in it."""
    rounds = keys = 0
    for group in der.walk(data):
        for (tag, start, end), (before, *_) in zip(group, [(0, 0, 0), *group], strict=False):
            if tag == der.INTEGER and before == der.OCTETS:  # salt, then rounds: in PBE, PBKDF2, scrypt and the MAC alike
                rounds += int.from_bytes(data[start:end], "big")
            keys += tag == der.OID and data[start:end] in (_SHROUDED_KEY, _KEY)
        if rounds > MAX_ITERATIONS:
            raise ValueError(f"opening it would take {rounds:,} rounds of key derivation, more than {MAX_ITERATIONS:,} (MAX_ITERATIONS)")
    return keys


def _chain(own: x509.Certificate, others: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    """The certificates from a holder's to its authority's; others of the store are left out."""
    chain, left = [own], list(others)
    while chain[-1].issuer != chain[-1].subject:
        issuer = next((one for one in left if one.subject == chain[-1].issuer), None)
        if issuer is None:
            break
        left.remove(issuer)
        chain.append(issuer)
    return chain


def _certificate(data: bytes) -> x509.Certificate:
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(data)


def _pem(certificates: Sequence[x509.Certificate]) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return "".join(one.public_bytes(Encoding.PEM).decode() for one in certificates)


def _key_text(key: Any) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return str(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())


def _is_pfx(data: bytes) -> bool:
    """Whether a text begins as PFX: a SEQUENCE whose first element is the version 3."""
    size = data[1] & 0x7F if len(data) > 1 and data[1] & 0x80 else 0
    return data[:1] == b"\x30" and data[2 + size : 5 + size] == b"\x02\x01\x03"


def _stamp(path: str | Path, setting: str) -> tuple[int, int, int]:
    """State of a file, so that a store that was replaced is read again."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise SettingsError(f"the key store cannot be read: {error.strerror}", "Check its path", setting=setting, file=path) from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(path: str | Path, size: int) -> bytes:
    """The first bytes of a regular file; a pipe is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no file")
        return file.read(size)
