"""Files and folders of this user alone: secrets that are gone after their use, and logs."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from ignite_kafka.common.private_files import ensure_private_folder, open_private_log, private_file


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


def test_a_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        ensure_private_folder(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o702, 0o770])
def test_a_folder_that_others_may_access_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PermissionError, match=f"other users may access the folder .mode {mode:04o}"):
        ensure_private_folder(folder)


def test_a_folder_of_another_user_and_a_file_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        ensure_private_folder(tmp_path / "file")
    monkeypatch.setattr(os, "geteuid", lambda: 4_711)
    with pytest.raises(PermissionError, match="belongs to another user"):
        ensure_private_folder(tmp_path / "work")


def test_a_log_is_appended_to_by_this_user_alone(tmp_path: Path) -> None:
    log = tmp_path / "c.log"
    log.write_text("before ")
    log.chmod(0o644)
    with open_private_log(log) as file:
        file.write(b"after")
    assert (log.read_text(), stat.S_IMODE(log.stat().st_mode)) == ("before after", 0o600)
    with open_private_log(tmp_path / "new.log"):
        assert stat.S_IMODE((tmp_path / "new.log").stat().st_mode) == 0o600


def test_a_log_is_no_link_and_no_pipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match=r"symbolic links|No such device"):
            open_private_log(tmp_path / name)
    assert (tmp_path / "target").read_text() == "kept"
    monkeypatch.setattr(os, "geteuid", lambda: 4_711)
    with pytest.raises(PermissionError, match="no regular file of this user"):
        open_private_log(tmp_path / "target")
