"""A secret as a file: readable while it is used, by its user alone, and gone afterwards."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from ignite_kafka.common.private_files import private_file


def test_the_file_is_memory_and_ends_with_its_block() -> None:
    with private_file("secret") as path:
        assert Path(path).read_text() == "secret"
        assert "memfd:" in os.readlink(path)
    assert not os.path.exists(path)


def test_without_memory_files_it_is_in_a_private_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with private_file("secret") as path:
        assert Path(path).read_text() == "secret"
        assert [stat.S_IMODE(os.stat(one).st_mode) for one in (path, os.path.dirname(path))] == [0o600, 0o700]
    with suppress(KeyError), private_file("secret"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
