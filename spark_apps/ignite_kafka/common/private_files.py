"""Temporary files with secrets, for libraries that read secrets from files only.

The files are in memory if the system supports this, otherwise in a private folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
