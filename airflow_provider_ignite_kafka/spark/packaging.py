"""What Spark is given to run: the app and the library, found beside the installed package, in a checkout as in site-packages."""

from __future__ import annotations

import zipfile
from pathlib import Path

import ignite_kafka
from ignite_kafka.errors import SettingsError

_EPOCH = (1980, 1, 1, 0, 0, 0)


def app_path(name: str) -> Path:
    """Path of a Spark app.

    :raises SettingsError: the installation lacks it.
    """
    path = _library().parent / name
    if not path.is_file():
        raise SettingsError(
            f"the Spark app {name} is not installed", "Install the wheel again, or name the app in `application`.", path=path
        )
    return path


def zip_library(folder: Path) -> Path:
    """Pack the library as `ignite_kafka.zip` for ``--py-files``; the same files give the same bytes."""
    library = _library()
    target = folder / "ignite_kafka.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(library.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(library.parent).as_posix()
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


def _library() -> Path:
    assert ignite_kafka.__file__ is not None
    return Path(ignite_kafka.__file__).resolve().parent
