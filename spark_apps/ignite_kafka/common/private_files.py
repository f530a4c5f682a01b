"""Files and folders that only this user may access.

Temporary files with secrets are for libraries that read secrets from files only. They are in memory if the system
supports this, otherwise in a private folder.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def private_file(text: str) -> Iterator[str]:
    """Return a context with the path of a file that holds a text, readable by this user only.

    On Linux the file is anonymous memory and never on a disk. Elsewhere it has mode 0600 in a temporary folder of mode
    0700.
    """
    try:
        descriptor = os.memfd_create("ignite-kafka", os.MFD_CLOEXEC)
    except (AttributeError, OSError):  # another system, or a sandbox without it
        with tempfile.TemporaryDirectory(prefix="ignite-kafka-") as folder:
            path = Path(folder) / "secret"
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(text)
            yield str(path)
        return
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"


def ensure_private_folder(path: Path) -> None:
    """Create a folder of mode 0700 if it is missing; check an existing one.

    :raises PermissionError: another user owns the folder, or may write or read it.
    :raises OSError: it cannot be created, or is no folder.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    for owner in (status.st_uid, path.lstat().st_uid):  # of the folder, and of a link that leads to it
        if owner != os.geteuid():
            raise PermissionError(errno.EACCES, f"the folder belongs to another user (uid {owner})", str(path))
    if mode & 0o077:
        raise PermissionError(errno.EACCES, f"other users may access the folder (mode {mode:04o})", str(path))


def open_private_log(path: Path) -> BinaryIO:
    """Open a file of mode 0600 to append to it; create it if it is missing.

    A link is not followed, and a file of another kind, such as a pipe, is not opened.

    :raises PermissionError: another user owns the file, or it is no regular file.
    :raises OSError: it is a link, or cannot be opened.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags, 0o600), "ab")
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        file.close()
        raise PermissionError(errno.EACCES, "the log is no regular file of this user", str(path))
    os.fchmod(file.fileno(), 0o600)
    return file
