"""Key and trust stores made by keytool, of each form, and each way in which one cannot be used."""

from __future__ import annotations

import os
import ssl
import struct
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificates

from ignite_kafka.common import key_stores, pkcs12
from ignite_kafka.common.key_stores import is_store, key_pair, trusted
from ignite_kafka.common.private_files import private_file
from ignite_kafka.errors import SettingsError
from tests.support.connect_files import keytool

STORE, KEY, SETTING = "store-password", "key-password", "cert_file"
FORMS = ("JKS", "PKCS12", "old PKCS12")


def flags(form: str) -> tuple[str, ...]:
    old = ("-J-Dkeystore.pkcs12.legacy",) if form == "old PKCS12" else ()  # RC2 and SHA-1, as Java 8 writes
    return ("-storetype", form.removeprefix("old "), "-storepass", STORE, *old)


def generate(path: Path, form: str, *more: str, alias: str = "me", key: str = "RSA") -> Path:
    own = ("-keypass", KEY) if form == "JKS" else ()
    keytool("-genkeypair", "-alias", alias, "-keyalg", key, "-dname", f"CN={alias}", "-keystore", str(path), *flags(form), *own, *more)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key store and a trust store of each form, two keys in one store, an expired key, and a chain of three certificates."""
    at = tmp_path_factory.mktemp("stores")
    for form in FORMS:
        generate(at / f"key {form}", form)
        keytool("-exportcert", "-rfc", "-alias", "me", "-keystore", str(at / f"key {form}"), *flags(form), "-file", str(at / f"{form}.pem"))
        for alias, of in (("one", form), ("two", FORMS[0])):
            if alias == "one" or form != FORMS[0]:
                crt = ("-alias", alias, "-file", str(at / f"{of}.pem"))
                keytool("-importcert", "-noprompt", *crt, "-keystore", str(at / f"trust {form}"), *flags(form))
        generate(at / f"two {form}", form, alias="first")
        generate(at / f"two {form}", form, alias="second")
        generate(at / f"expired {form}", form, "-startdate", "-9d", "-validity", "4")
        generate(at / f"early {form}", form, "-startdate", "+9d")
        generate(at / f"ec {form}", form, key="EC")
    _chain(at)
    return at


def _chain(at: Path) -> None:
    """A store whose key is certified by an intermediate authority, which an authority has certified."""
    store = ("-keystore", str(at / "chain"), *flags("JKS"), "-keypass", KEY)
    signing = ("-ext", "bc:c", "-ext", "ku:c=keyCertSign")
    keytool("-genkeypair", "-alias", "root", "-keyalg", "EC", "-dname", "CN=root", *signing, *store)
    for alias, signer, extensions in (("middle", "root", signing), ("leaf", "middle", ())):
        keytool("-genkeypair", "-alias", alias, "-keyalg", "EC", "-dname", f"CN={alias}", *store)
        request, signed = at / f"{alias}.csr", at / f"{alias}.crt"
        keytool("-certreq", "-alias", alias, "-file", str(request), *store)
        keytool("-gencert", "-rfc", "-alias", signer, "-infile", str(request), "-outfile", str(signed), *extensions, *store)
        keytool("-importcert", "-alias", alias, "-file", str(signed), *store)
    alone = ("-srcalias", "leaf", "-srckeypass", KEY, "-srcstorepass", STORE, "-deststorepass", STORE)
    for form in ("JKS", "PKCS12"):
        to = ("-destkeystore", str(at / f"chain {form}"), "-deststoretype", form, *(("-destkeypass", KEY) if form == "JKS" else ()))
        keytool("-importkeystore", "-srckeystore", str(at / "chain"), *alone, *to)


def password_of_key(form: str) -> str:
    return KEY if form == "JKS" else ""


@pytest.mark.parametrize("kind", ["key", "ec"])
@pytest.mark.parametrize("form", FORMS)
def test_a_key_store_gives_its_key_and_its_certificate(folder: Path, form: str, kind: str) -> None:
    path = folder / f"{kind} {form}"
    assert is_store(path)
    found = key_pair(path, STORE, password_of_key(form), SETTING)
    [certificate] = load_pem_x509_certificates(found.certificates.encode())
    assert certificate.public_key() == load_pem_private_key(found.key.encode(), None).public_key()
    assert certificate.subject.rfc4514_string() == "CN=me"


@pytest.mark.parametrize("form", FORMS)
def test_a_trust_store_gives_its_certificates(folder: Path, form: str) -> None:
    found = load_pem_x509_certificates(trusted(folder / f"trust {form}", STORE, SETTING).encode())
    assert len(found) == (1 if form == "JKS" else 2)


def test_a_jks_trust_store_needs_no_password(folder: Path) -> None:
    assert trusted(folder / "trust JKS", "", SETTING) == trusted(folder / "trust JKS", STORE, SETTING)


@pytest.mark.parametrize("form", ["JKS", "PKCS12"])
def test_a_chain_begins_with_the_holder_and_is_loaded_with_its_key(folder: Path, form: str) -> None:
    found = key_pair(folder / f"chain {form}", STORE, password_of_key(form), SETTING)
    names = [one.subject.rfc4514_string() for one in load_pem_x509_certificates(found.certificates.encode())]
    assert names == ["CN=leaf", "CN=middle"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with private_file(found.certificates + found.key) as path:
        context.load_cert_chain(path)
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    ("kind", "form", "store", "key", "message"),
    [
        ("key", "JKS", "wrong", KEY, "cannot be opened: the password is wrong"),
        ("key", "PKCS12", "wrong", "", "cannot be opened: the password is wrong"),
        ("key", "old PKCS12", "wrong", "", "cannot be opened: the password is wrong"),
        ("key", "PKCS12", "", "", "cannot be opened: the password is wrong"),
        ("key", "JKS", STORE, "wrong", "the password of the private key is wrong"),
        ("key", "JKS", STORE, "", "the password of the private key is wrong"),
        ("key", "PKCS12", STORE, KEY, "another one is given for it"),
        ("trust", "JKS", STORE, KEY, "no private key: it is a trust store"),
        ("trust", "PKCS12", STORE, "", "no private key: it is a trust store"),
        ("two", "JKS", STORE, KEY, r"2 private keys \((first, second|second, first)\)"),
        ("two", "PKCS12", STORE, "", "2 private keys"),
        ("expired", "JKS", STORE, KEY, "certificate of the key store has expired: it is valid from"),
        ("expired", "PKCS12", STORE, "", "certificate of the key store has expired"),
        ("early", "PKCS12", STORE, "", "certificate of the key store is not valid yet"),
    ],
)
def test_a_key_store_that_cannot_be_used_is_named(folder: Path, kind: str, form: str, store: str, key: str, message: str) -> None:
    path = folder / f"{kind} {form}"
    with pytest.raises(SettingsError, match=message) as raised:
        key_pair(path, store, key, SETTING)
    assert str(path) in str(raised.value)
    assert raised.value.remedy
    for secret in (STORE, KEY):
        assert secret not in str(raised.value)


def test_a_trust_store_of_expired_certificates_is_refused(folder: Path) -> None:
    with pytest.raises(SettingsError, match="every certificate of the trust store has expired"):
        trusted(folder / "expired JKS", STORE, SETTING)


def test_a_replaced_store_is_read_again(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.write_bytes((folder / "key PKCS12").read_bytes())
    first = key_pair(path, STORE, "", SETTING)
    path.write_bytes((folder / "ec PKCS12").read_bytes())
    assert key_pair(path, STORE, "", SETTING).key != first.key


def test_other_forms_are_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "j.jceks"
    generate(other, "JCEKS", "-keypass", STORE)
    assert is_store(other)
    with pytest.raises(SettingsError, match="it is JCEKS"):
        trusted(other, STORE, SETTING)
    assert not is_store(folder / "JKS.pem")
    with pytest.raises(SettingsError, match="neither JKS nor PKCS#12"):
        trusted(folder / "JKS.pem", STORE, SETTING)


@pytest.mark.parametrize("form", ["JKS", "PKCS12"])
def test_any_cut_or_changed_store_is_refused_as_one(folder: Path, tmp_path: Path, form: str) -> None:
    """A changed byte that means nothing, such as a parameter of a digest's name, gives the same key."""
    whole, path = (folder / f"key {form}").read_bytes(), tmp_path / "store"
    path.write_bytes(whole)
    known = key_pair(path, STORE, password_of_key(form), SETTING)
    refused = 0
    for at in [*range(0, len(whole), 111), len(whole) - 1]:
        for broken in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            path.write_bytes(broken)
            try:
                found = key_pair(path, STORE, password_of_key(form), SETTING)
            except SettingsError:
                refused += 1
            else:
                assert found == known
    assert refused >= 2 * len(range(0, len(whole), 111)), "all but one, at most"


def test_a_jks_store_that_promises_more_than_it_has_is_refused_at_once(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "trust JKS").read_bytes()
    path = tmp_path / "store"
    for field in (8, 12):  # the number of entries, the kind of the first
        path.write_bytes(whole[:field] + struct.pack(">I", 0xFFFF_FFFF) + whole[field + 4 :])
        with pytest.raises(SettingsError, match=r"cut off or damaged|neither a private key nor a certificate"):
            trusted(path, "", SETTING)


def test_a_store_that_would_keep_a_processor_busy_is_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pkcs12, "MAX_ITERATIONS", 9_999)  # keytool writes 10,000
    path = tmp_path / "store"
    path.write_bytes((folder / "key PKCS12").read_bytes())
    with pytest.raises(SettingsError, match=r"rounds of key derivation, more than 9,999 \(MAX_ITERATIONS\)"):
        key_pair(path, STORE, "", SETTING)


def test_a_store_that_is_too_large_or_no_file_is_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert not is_store(pipe)
    with pytest.raises(SettingsError, match="it is no file"):
        trusted(pipe, STORE, SETTING)
    with pytest.raises(SettingsError, match=r"cannot be read: No such file.*Check its path"):
        trusted(tmp_path / "gone", STORE, SETTING)
    monkeypatch.setattr(key_stores, "MAX_STORE_BYTES", 100)
    path = tmp_path / "store"
    path.write_bytes((folder / "key JKS").read_bytes())
    with pytest.raises(SettingsError, match="MAX_STORE_BYTES"):
        trusted(path, STORE, SETTING)


def test_without_cryptography_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.write_bytes((folder / "key PKCS12").read_bytes())
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "cryptography.py").write_text("raise ModuleNotFoundError(name=__name__)")
    monkeypatch.setattr(sys, "path", [str(hidden), *sys.path])  # of the process that opens the store
    with pytest.raises(SettingsError, match=r"package cryptography is missing.*Install the extra keystores"):
        key_pair(path, STORE, "", SETTING)
