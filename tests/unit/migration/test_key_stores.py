"""Programs that convert key stores: what they write is private from the beginning, and one that hangs is an error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.migration import key_stores


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A JKS store, and a keytool that lists one key and writes the new store with the mode that the process gives to files."""
    (tmp_path / "keytool").write_text(
        '#!/bin/sh\ncase "$1" in -list) echo "a, Jan 1, 2025, PrivateKeyEntry,";; *) for last; do :; done\n'
        'while [ $# -gt 0 ]; do [ "$1" = -destkeystore ] && echo key > "$2" && ls -l "$2" | cut -c1-10 > "$2.mode"; shift; done;; esac\n'
    )
    (tmp_path / "keytool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "s.jks"
    path.write_bytes(bytes.fromhex("feedfeed"))
    return path


def test_a_converted_store_is_private_while_it_is_written(store: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        made = key_stores.pkcs12(str(store), "changeit", "", tmp_path / "t.p12", "s")
    finally:
        os.umask(before)
    assert made.with_name("t.p12.mode").read_text().strip() == "-rw-------"


def test_a_program_that_does_not_end_is_an_error(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (store.parent / "keytool").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(key_stores, "_TIMEOUT_S", 0.2)
    with pytest.raises(SettingsError, match="keytool did not end within") as caught:
        key_stores.certificates(str(store), "hunter2", "ssl.truststore.location")
    assert caught.value.where == {"setting": "ssl.truststore.location", "file": str(store)}
