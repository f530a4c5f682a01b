"""A local folder that is full, over quota or read-only is one named error with its path, its free bytes and what to do."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from ignite_kafka.common.local_disk import disk_error_in, disk_errors
from ignite_kafka.errors import IgniteKafkaError, LocalDiskFull

REASONS = {errno.ENOSPC: "has no space left", errno.EDQUOT: "is over the user's quota", errno.EROFS: "is read-only"}
JAVA = "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 1.0 failed 1 times: java.io.{}\n\tat java.base/x"


@pytest.mark.parametrize("number", REASONS)
def test_an_error_of_the_system_names_path_reason_and_bytes(number: int, tmp_path: Path) -> None:
    path = tmp_path / "no" / "file"
    with pytest.raises(LocalDiskFull) as caught, disk_errors():
        raise OSError(number, os.strerror(number), str(path))
    assert caught.value.what == f"a local file could not be written: the file system of {path} {REASONS[number]}"
    assert caught.value.where["path"] == str(path)
    assert caught.value.where["free_bytes"] > 0
    assert "TMPDIR" in caught.value.remedy
    assert isinstance(caught.value.__cause__, OSError)
    assert not caught.value.final


def test_a_write_without_a_path_names_the_given_folder(tmp_path: Path) -> None:
    with pytest.raises(LocalDiskFull, match=str(tmp_path)), disk_errors(tmp_path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(LocalDiskFull, match="a local file, or the output, could not be written: its file system ") as caught, disk_errors():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.where["temporary_files"]


def test_other_errors_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), disk_errors():
        (tmp_path / "absent").read_text()
    with pytest.raises(IgniteKafkaError, match="mine"), disk_errors():
        raise IgniteKafkaError("mine")


def test_no_folder_for_temporary_files_is_such_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path)])
    monkeypatch.setattr(tempfile._os, "open", full)  # type: ignore[attr-defined]
    with pytest.raises(LocalDiskFull, match=str(tmp_path)), disk_errors(), tempfile.TemporaryDirectory():
        pass


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (JAVA.format("IOException: No space left on device"), "/spark"),
        (
            JAVA.format("FileNotFoundException: /data/blockmgr-1/0c/temp_shuffle (No space left on device)"),
            "/data/blockmgr-1/0c/temp_shuffle",
        ),
        (JAVA.format("IOException: Disk quota exceeded"), "/spark"),
        ("Traceback (most recent call last):\nOSError: [Errno 28] No space left on device: '/data/x y'\n", "/data/x y"),
        ("OSError: [Errno 30] Read-only file system: '/data/z'", "/data/z"),
        (JAVA.format("IOException: Failed to create a temp directory (under /data/s) after 10 attempts!"), "/data/s"),
    ],
)
def test_a_text_of_spark_names_the_path(text: str, path: str) -> None:
    found = disk_error_in(text, "/spark")
    assert found is not None
    assert found.where["path"] == path
    assert f"file system of {path} " in found.what
    assert "spark.local.dir" in found.remedy


def test_another_text_is_none() -> None:
    assert disk_error_in(JAVA.format("IOException: Connection reset"), "/spark") is None
