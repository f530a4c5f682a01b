"""Bytecode in Spark's zip of PySpark, which drivers and workers import.

Python keeps no bytecode of what it imports from a zip (zipimport), so each driver and each daemon of workers would
compile PySpark again: half a second of CPU.
"""

from __future__ import annotations

import os
import py_compile
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

_UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH  # a time of change would depend on the time zone


def add_bytecode(archive: Path) -> None:
    """Add to a zip the bytecode of each of its modules, unless it has some; programs that have it open keep what they read."""
    with ZipFile(archive) as zipped, TemporaryDirectory(dir=archive.parent) as folder:
        names = zipped.namelist()
        modules = [name for name in names if name.endswith(".py")]
        if any(f"{name}c" in names for name in modules):
            return
        zipped.extractall(folder)
        new = Path(folder) / archive.name
        with ZipFile(new, "w", ZIP_DEFLATED) as written:
            for name in names:
                written.writestr(zipped.getinfo(name), zipped.read(name))
            for name in modules:
                source = Path(folder) / name
                py_compile.compile(
                    str(source), f"{source}c", str(archive / name), doraise=True, invalidation_mode=_UNCHECKED
                )
                written.write(f"{source}c", f"{name}c")
        os.replace(new, archive)
