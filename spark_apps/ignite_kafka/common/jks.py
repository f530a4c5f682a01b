"""Reader of Java key stores in the JKS format.

The form is that of ``sun.security.provider.JavaKeyStore`` and ``KeyProtector`` of OpenJDK: big-endian entries, a SHA-1
digest over password, a constant and the entries; private keys by a stream of SHA-1. No maintained library reads it:
pyjks had its last release in 2020.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from . import der

MAGIC = bytes.fromhex("feedfeed")
_PHRASE = b"Mighty Aphrodite"
_DIGEST_BYTES = 20
_KEY = 1
_CERTIFICATE = 2
_PROTECTED = bytes.fromhex("2b060104012a021101 01".replace(" ", ""))  # 1.3.6.1.4.1.42.2.17.1.1
_CUT = "it is cut off or damaged"


class WrongPassword(ValueError):
    """Error of a password that does not open the key store or a private key."""


@dataclass(frozen=True)
class Entry:
    """One entry of a key store.

    :param chain: the entry's certificates as DER, beginning with its own.
    :param protected_key: DER of the encrypted private key; None for a trusted certificate.
    """

    alias: str
    chain: Sequence[bytes]
    protected_key: bytes | None = None


def read_jks(data: bytes, password: str) -> list[Entry]:
    """Read the entries of a key store; private keys stay encrypted.

    :param password: password of the store; empty: the store's integrity is not checked, as in Java's trust managers.
    :raises WrongPassword: the password is not that of the store, or the store was changed without it.
    :raises ValueError: the data has another form.
    """
    if len(data) < 12 + _DIGEST_BYTES or data[:4] != MAGIC:
        raise ValueError("it is no JKS store")
    body = data[:-_DIGEST_BYTES]
    if password and not hmac.compare_digest(
        hashlib.sha1(_utf16(password) + _PHRASE + body).digest(), data[-_DIGEST_BYTES:]
    ):
        raise WrongPassword("the password is wrong, or the file is damaged")
    reader = _Reader(body, 4)
    version = reader.number()
    count = reader.number()
    if version not in (1, 2):
        raise ValueError(f"it has the unknown version {version}")
    entries = [_read_entry(reader, version) for _ in range(min(count, len(body)))]
    if reader.at != len(body):
        raise ValueError(_CUT)
    return entries


def _read_entry(reader: _Reader, version: int) -> Entry:
    tag = reader.number()
    alias = reader.text()
    reader.take(8)  # time of creation
    if tag == _CERTIFICATE:
        return Entry(alias, [reader.certificate(version)])
    if tag != _KEY:
        raise ValueError("it has an entry that is neither a private key nor a certificate")
    key = reader.take(reader.number())
    return Entry(alias, [reader.certificate(version) for _ in range(min(reader.number(), len(reader.data)))], key)


def private_key(protected: bytes, password: str) -> bytes:
    """Decrypt a private key; return it as DER of PKCS#8.

    :raises WrongPassword: the password is not that of the key.
    :raises ValueError: the key is encrypted in another way.
    """
    sealed = _parse_sealed(protected)
    salt = sealed[:_DIGEST_BYTES]
    text = sealed[_DIGEST_BYTES:-_DIGEST_BYTES]
    digest = sealed[-_DIGEST_BYTES:]
    secret = _utf16(password)
    stream = bytearray()
    block = salt
    while len(stream) < len(text):
        block = hashlib.sha1(secret + block).digest()
        stream += block
    key = (int.from_bytes(text, "big") ^ int.from_bytes(stream[: len(text)], "big")).to_bytes(len(text), "big")
    if not hmac.compare_digest(hashlib.sha1(secret + key).digest(), digest):
        raise WrongPassword("the password of the private key is wrong")
    return key


def _parse_sealed(protected: bytes) -> bytes:
    """Return salt, encrypted key and digest from an EncryptedPrivateKeyInfo."""
    try:
        (_, start, end), *_ = der.items(protected)
        (_, *algorithm), (tag, *content) = der.items(protected, start, end)
        first = next(der.items(protected, *algorithm))
    except (ValueError, StopIteration):
        raise ValueError(_CUT) from None
    sealed = protected[content[0] : content[1]]
    if tag != der.OCTETS or protected[first[1] : first[2]] != _PROTECTED or len(sealed) <= 2 * _DIGEST_BYTES:
        raise ValueError("its private key is encrypted in a way that keytool does not use")
    return sealed


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")


@dataclass
class _Reader:
    data: bytes
    at: int

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ValueError(_CUT)
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def text(self) -> str:
        return self.take(struct.unpack(">H", self.take(2))[0]).decode("utf-8", "replace")

    def certificate(self, version: int) -> bytes:
        if version == 2:
            self.text()  # "X.509"
        return self.take(self.number())
