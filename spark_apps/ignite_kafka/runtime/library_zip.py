"""The library as a zip file, for executors that have not installed it."""

from __future__ import annotations

import zipfile
from pathlib import Path

_LIBRARY = Path(__file__).parents[1]
_EPOCH = (1980, 1, 1, 0, 0, 0)


def zip_library(folder: Path) -> Path:
    """Pack the library as ``ignite_kafka.zip`` for ``--py-files``; the same files give the same bytes.

    :returns: path of the zip file.
    """
    target = folder / "ignite_kafka.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(_LIBRARY.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(_LIBRARY.parent).as_posix()
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target
