"""Detection of disk errors (disk full, over quota, read-only), raised as one error with path and free bytes.

Spark gives failures of its Java side, and of Python workers, as text. So disk errors come in two forms, as
``OSError`` and as text.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import LocalDiskFull

_REASONS = {errno.ENOSPC: "has no space left", errno.EDQUOT: "is over the user's quota", errno.EROFS: "is read-only"}
_IN_TEXT = re.compile("|".join(f"(?P<e{number}>{re.escape(os.strerror(number))})" for number in _REASONS))
_OF_PYTHON = re.compile(r"\[Errno \d+\] [^:\n]{1,80}: '([^'\n]{1,1000})'")
_OF_JAVA = re.compile(r"(/[^\s():]{1,1000}) \(")
_NO_FOLDER = re.compile(
    r"(?:Failed to create a temp directory \(under |No usable temporary directory found in )([^\n)]{1,1000})"
)
_TEMPORARY = "TMPDIR"
TEMPORARY_REMEDY = f"Free space there, or set the environment variable {_TEMPORARY} to a folder with space."
SPARK_REMEDY = (
    "Free space there on each host of Spark, or set spark.local.dir (on YARN and Kubernetes: their own folders) to one "
    "with space."
)


@contextmanager
def disk_errors(folder: str | Path | None = None, remedy: str = TEMPORARY_REMEDY) -> Iterator[None]:
    """Return a context that raises LocalDiskFull for errors of a full or read-only disk.

    :param folder: folder that is written to, for errors without a path; None: several folders, or the output.
    """
    try:
        yield
    except OSError as error:
        disk_error = _to_disk_error(error, None if folder is None else str(folder), remedy)
        if disk_error is None:
            raise
        raise disk_error from error


def disk_error_in(text: str, folder: str, *, remedy: str = SPARK_REMEDY) -> LocalDiskFull | None:
    """Return the disk error that a text of Spark describes; None if it describes none.

    :param text: text of a Spark exception: a Java stack trace or a worker's traceback.
    :param folder: Spark's local folder on the host of the driver, for texts without a path.
    """
    if missing := _NO_FOLDER.search(text):
        return _disk_full_error(missing[1], "cannot be written", remedy)
    match = _IN_TEXT.search(text)
    if match is None:
        return None
    line_start = text.rfind("\n", 0, match.start()) + 1
    line = text[line_start : match.end() + 1_100].partition("\n")[0]
    path = _OF_PYTHON.search(line) or _OF_JAVA.search(line)
    number = int(str(match.lastgroup)[1:])
    return _disk_full_error(path[1] if path else folder, _REASONS[number], remedy)


def _to_disk_error(error: OSError, folder: str | None, remedy: str) -> LocalDiskFull | None:
    if error.errno in _REASONS:
        path = error.filename if isinstance(error.filename, str) else folder
        if path is not None:
            return _disk_full_error(path, _REASONS[error.errno], remedy)
        what = f"a local file, or the output, could not be written: its file system {_REASONS[error.errno]}"
        return LocalDiskFull(what, remedy, temporary_files=os.environ.get(_TEMPORARY) or "/tmp")
    if missing := _NO_FOLDER.search(str(error)):  # tempfile has tried to write to each of these folders
        return _disk_full_error(missing[1], "cannot be written", remedy)
    return None


def _disk_full_error(path: str, reason: str, remedy: str) -> LocalDiskFull:
    return LocalDiskFull(
        f"a local file could not be written: the file system of {path} {reason}",
        remedy,
        path=path,
        free_bytes=_free_bytes(path),
    )


def _free_bytes(path: str) -> int | None:
    """Return the free bytes for this user at a path; None if this host has no such folder."""
    place = Path(path)
    while not place.exists() and place.parent != place:
        place = place.parent
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return None
