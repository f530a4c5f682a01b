"""Packaging of the library as a zip file, for executors that have not installed it."""

from __future__ import annotations

import zipfile
import zipimport
from pathlib import Path

_LIBRARY = Path(__file__).parents[1]
_EPOCH = (1980, 1, 1, 0, 0, 0)


def zip_library(folder: Path, *beside: Path) -> Path:
    """Pack the library as ``ignite_kafka.zip`` for ``--py-files``; the same files give the same bytes.

    :param beside: files to put beside it in the zip file, under their names.
    :returns: path of the zip file.
    """
    target = folder / "ignite_kafka.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(_LIBRARY.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(_LIBRARY.parent).as_posix()
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
        for path in beside:
            archive.writestr(zipfile.ZipInfo(path.name, _EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


def packaged_text(name: str) -> str | None:
    """Read a text file packed into the zip file of the library; None if the library was not imported from one."""
    loader: object = getattr(__spec__, "loader", None)
    if not isinstance(loader, zipimport.zipimporter):
        return None
    with zipfile.ZipFile(loader.archive) as archive:
        return archive.read(name).decode() if name in archive.namelist() else None
