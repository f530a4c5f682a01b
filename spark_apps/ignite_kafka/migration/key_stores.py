"""Conversion of Java key stores to formats that librdkafka and Python's TLS can read.

``keytool`` of the JDK that Spark needs reads both JKS and PKCS#12; ``openssl`` writes a private key as PEM. Passwords
are passed in the environment, never as arguments, which other users of the host can see.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import SettingsError

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_ALIAS = re.compile(r"^(.+?), .*PrivateKeyEntry", re.MULTILINE)
_JKS = bytes.fromhex("feedfeed")
_STORE = "IGNITE_KAFKA_STORE_PASSWORD"
_KEY = "IGNITE_KAFKA_KEY_PASSWORD"
_TIMEOUT_S = 120


def is_jks(path: str | Path, setting: str) -> bool:
    """Return whether a key store has the JKS format; any other is taken for PKCS#12.

    :param setting: key that names the store, for the error.
    :raises SettingsError: the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read(4) == _JKS
    except OSError as error:
        raise SettingsError(
            f"the key store cannot be read: {error.strerror}", "Check its path", setting=setting, file=path
        ) from error


def certificates(path: str, password: str, setting: str) -> str:
    """Return the certificates of a trust store as PEM text.

    :param password: empty: the store is read without a check of its integrity, as Kafka's clients read JKS.
    :raises SettingsError: see :func:`is_jks`; also no keytool, a wrong password, or a store without certificates.
    """
    is_jks(path, setting)
    command = ["keytool", "-list", "-rfc", "-keystore", path, *(["-storepass:env", _STORE] if password else [])]
    blocks = _CERTIFICATE.findall(_run(command, {_STORE: password}, setting, path))
    if not blocks:
        what = "the trust store has no certificate" + (
            "" if password else ", or none that can be read without a password"
        )
        raise SettingsError(what, "Check that it is the right file, and its password", setting=setting, file=path)
    return "\n".join(blocks) + "\n"


def pkcs12(path: str, password: str, key_password: str, target: Path, setting: str) -> Path:
    """Return the path of a PKCS#12 store with the client's key: the given store, or a private file made from JKS.

    :raises SettingsError: see :func:`certificates`; also a store with no private key or several.
    """
    if not is_jks(path, setting):
        return Path(path)
    passwords = {_STORE: password, _KEY: key_password or password}
    listed = _run(["keytool", "-list", "-keystore", path, "-storepass:env", _STORE], passwords, setting, path)
    aliases = _ALIAS.findall(listed)
    if len(aliases) != 1:
        remedy = (
            "Export the one that Kafka's broker accepts into a store of its own, with keytool -importkeystore -srcalias"
        )
        raise SettingsError(
            f"the key store has {len(aliases)} private keys, and one is wanted", remedy, setting=setting, file=path
        )
    # each password option needs its own ":env"; the new store has one password for itself and its key
    command = [
        "keytool",
        "-importkeystore",
        "-noprompt",
        "-srckeystore",
        path,
        "-destkeystore",
        str(target),
        "-deststoretype",
        "PKCS12",
    ]
    command += [
        "-srcalias",
        aliases[0],
        "-srcstorepass:env",
        _STORE,
        "-srckeypass:env",
        _KEY,
        "-deststorepass:env",
        _STORE,
    ]
    _run([*command, "-destkeypass:env", _STORE], passwords, setting, path)
    return target


def pem(store: Path, password: str, target: Path, setting: str) -> Path:
    """Write key and certificates of a PKCS#12 store to a PEM file, with the key encrypted by the store's password.

    :raises SettingsError: see :func:`certificates`.
    """
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    command = [
        "openssl",
        "pkcs12",
        "-in",
        str(store),
        "-passin",
        f"env:{_STORE}",
        "-passout",
        f"env:{_STORE}",
        "-out",
        str(target),
    ]
    _run(command, {_STORE: password}, setting, str(store))
    return target


def _run(command: Sequence[str], passwords: dict[str, str], setting: str, path: str) -> str:
    """Run keytool or openssl, and return its output.

    Of the program's messages, an error shows only keytool's error lines, which have no password.
    """
    program = _find(command[0])
    by_hand = (
        f"Convert it to PEM: keytool -importkeystore -srckeystore {path} -destkeystore store.p12 -deststoretype "
        "PKCS12; openssl pkcs12 -in store.p12 -out store.pem"
    )
    if program is None:
        what = f"the key store cannot be converted: there is no {command[0]}"
        raise SettingsError(what, f"Install it. {by_hand}", setting=setting, file=path)
    # the language of messages is fixed, because the kind of an entry is read from them
    environment = {
        **os.environ,
        **passwords,
        "JAVA_TOOL_OPTIONS": "-Duser.language=en -Duser.country=US",
        "LC_ALL": "C",
    }
    try:
        done = subprocess.run(
            [program, *command[1:]], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_TIMEOUT_S,
            # keytool makes its file itself, and refuses an empty one: nobody else may read the key meanwhile
            check=False, umask=0o077,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        what = f"the key store cannot be read: {command[0]} did not end within {_TIMEOUT_S} s"
        raise SettingsError(what, by_hand, setting=setting, file=path) from None
    if done.returncode:
        messages = [
            line
            for line in (done.stdout + done.stderr).splitlines()
            if line.startswith("keytool error") or "invalid password" in line
        ]
        raise SettingsError(
            f"the key store cannot be read: {' '.join(messages) or command[0]}", by_hand, setting=setting, file=path
        )
    return done.stdout


def _find(program: str) -> str | None:
    """Return the path of a program, which for keytool may be in JAVA_HOME only; None if it is missing."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(program) or (shutil.which(program, path=f"{home}/bin") if home else None)
