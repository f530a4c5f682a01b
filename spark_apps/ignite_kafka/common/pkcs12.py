"""Reader of PKCS#12 key stores, in a process of its own with limits of time and memory.

A store can demand any number of key derivation rounds, also inside parts that are encrypted and cannot be checked
before. The library holds Python's lock meanwhile, so no thread could end it or run beside it. So a separate
process reads the store under the limits.

Source: RFC 7292.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import der
from .jks import WrongPassword

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

MAX_ITERATIONS = 5_000_000
"""Maximum number of key derivation rounds that a store may demand visibly, as the JDK allows for one derivation."""

MAX_CPU_S = 20
MAX_MEMORY_BYTES = 2 << 30
_WALL_S = 180.0  # on a busy machine
_LONGEST_INTEGER = 8
# 1.2.840.113549.1.12.10.1.2 and .1
_SHROUDED_KEY, _KEY = (bytes.fromhex(f"2a864886f70d010c0a01{last}") for last in ("02", "01"))
_PROGRAM = "from ignite_kafka.common.pkcs12 import main; main()"


class NotOneKey(ValueError):
    """Error of a key store that does not have exactly one private key."""


@dataclass(frozen=True)
class Content:
    """Certificates and private key in a PKCS#12 store.

    :param certificates: certificates as DER; in a key store, from the holder's to its authority's.
    :param key: private key as PEM, not encrypted; empty if not requested.
    """

    certificates: Sequence[bytes]
    key: str


def read_pkcs12(data: bytes, password: str, key_password: str, *, key: bool) -> Content:
    """Read a store in another process, whose time and memory are limited.

    :param key: whether the store is read as a key store; otherwise as a trust store.
    :raises WrongPassword: the password does not open the store.
    :raises NotOneKey: a key store does not have exactly one private key, or a trust store has a private key.
    :raises ModuleNotFoundError: ``cryptography`` is not installed.
    :raises ValueError: the data has another form, or opening the store exceeds the limits.
    """
    limits = {"cpu_s": MAX_CPU_S, "memory_bytes": MAX_MEMORY_BYTES, "iterations": MAX_ITERATIONS}
    request = json.dumps(
        {"data": base64.b64encode(data).decode(), "passwords": [password, key_password], "key": key, **limits}
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            input=request.encode(),
            capture_output=True,
            env=environment,
            timeout=_WALL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"opening it took more than {_WALL_S:.0f} s") from None
    try:
        answer = json.loads(ended.stdout)
    except ValueError:  # no answer, because the kernel ended the process
        most = f"{MAX_CPU_S} s of processor time (MAX_CPU_S) or {MAX_MEMORY_BYTES >> 20} MiB of memory"
        raise ValueError(
            f"opening it takes more than {most}, or the process that reads it was ended ({ended.returncode})"
        ) from None
    if "error" in answer:
        raise _to_exception(answer["error"], answer["text"])
    return Content([base64.b64decode(certificate) for certificate in answer["certificates"]], answer["key"])


def _to_exception(name: str, text: str) -> Exception:
    if name == ModuleNotFoundError.__name__:
        return ModuleNotFoundError(text, name=text)
    return {kind.__name__: kind for kind in (WrongPassword, NotOneKey)}.get(name, ValueError)(text)


def main() -> None:
    """Run in the other process: read a store from stdin under the limits, and write its content to stdout."""
    import resource

    request = json.loads(sys.stdin.buffer.read())
    for name, most in ((resource.RLIMIT_CPU, request["cpu_s"]), (resource.RLIMIT_AS, request["memory_bytes"])):
        resource.setrlimit(name, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core dump, because the memory has passwords
    answer: dict[str, Any]
    try:
        data = base64.b64decode(request["data"])
        keys = checked_keys(data, request["iterations"])
        content = open_store(data, *request["passwords"], key=request["key"], keys=keys)
        answer = {
            "certificates": [base64.b64encode(certificate).decode() for certificate in content.certificates],
            "key": content.key,
        }
    except ModuleNotFoundError as error:
        answer = {"error": ModuleNotFoundError.__name__, "text": error.name or "cryptography"}
    except (ValueError, MemoryError) as error:
        answer = {"error": type(error).__name__, "text": str(error) or "it needs too much memory"}
    sys.stdout.write(json.dumps(answer))


def open_store(data: bytes, password: str, key_password: str, *, key: bool, keys: int) -> Content:
    """Read a store in this process; see :func:`read_pkcs12`.

    :param keys: number of private keys, from :func:`checked_keys`.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if key:
        one_key([""] * keys)
    store = _load(data, password)
    others = [certificate.certificate for certificate in store.additional_certs]
    own = [] if store.cert is None else [store.cert.certificate]
    if not key:
        if store.key is not None:
            raise NotOneKey("the trust store has a private key, so which of its certificates are trusted is not clear")
        return Content([certificate.public_bytes(Encoding.DER) for certificate in own + others], "")
    if store.key is None or not own:
        raise ValueError("its private key has no certificate")
    if key_password != password:
        raise ValueError("a private key in PKCS#12 has the password of the store, and another one is given for it")
    text = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Content([certificate.public_bytes(Encoding.DER) for certificate in _chain(own[0], others)], text)


def one_key(aliases: Sequence[str]) -> None:
    """Raise NotOneKey unless a store has exactly one private key.

    :param aliases: aliases of the store's private keys; empty texts for unknown aliases.
    :raises NotOneKey: the store has no private key, or several.
    """
    if not aliases:
        raise NotOneKey("the key store has no private key: it is a trust store, or the wrong file")
    if len(aliases) > 1:
        listed = f" ({', '.join(aliases)})" if any(aliases) else ""
        raise NotOneKey(f"the key store has {len(aliases)} private keys{listed}, and it is not said which one to use")


def checked_keys(data: bytes, most_rounds: int) -> int:
    """Refuse a store that is too costly to open; return its number of visible private keys.

    :raises ValueError: opening the store would take more rounds of key derivation, or the data is no DER.
    """
    rounds = keys = 0
    for group in der.walk(data):
        for (tag, start, end), (before, *_) in zip(group, [(0, 0, 0), *group], strict=False):
            # salt, then rounds: in PBE, PBKDF2, scrypt and the MAC alike
            if tag == der.INTEGER and before == der.OCTETS:
                rounds += int.from_bytes(data[start : min(end, start + _LONGEST_INTEGER)], "big")
            keys += tag == der.OID and data[start:end] in (_SHROUDED_KEY, _KEY)
        if rounds > most_rounds:
            raise ValueError(
                f"opening it would take {rounds:,} rounds of key derivation, more than {most_rounds:,} (MAX_ITERATIONS)"
            )
    return keys


def _load(data: bytes, password: str) -> PKCS12KeyAndCertificates:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        return load_pkcs12(data, password.encode() if password else None)
    except UnsupportedAlgorithm as error:
        raise ValueError(f"it is encrypted by an algorithm that is not supported: {error}") from None
    except ValueError:
        raise WrongPassword(
            "the password is wrong, or that of the private key differs from it, or the file is damaged"
        ) from None


def _chain(own: x509.Certificate, others: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    """Return the certificates that lead from the holder's to its authority's, in this order."""
    chain = [own]
    left = list(others)
    while chain[-1].issuer != chain[-1].subject:
        issuer = next((certificate for certificate in left if certificate.subject == chain[-1].issuer), None)
        if issuer is None:
            break
        left.remove(issuer)
        chain.append(issuer)
    return chain
