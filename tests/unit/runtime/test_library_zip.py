"""The library as a zip file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ignite_kafka.runtime.library_zip import zip_library


def test_the_library_is_imported_from_its_zip_file(tmp_path: Path) -> None:
    path = zip_library(tmp_path)
    code = "import ignite_kafka.settings.source as module; print(module.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    assert done.stdout.startswith(str(path))


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first = zip_library(tmp_path).read_bytes()
    assert zip_library(tmp_path).read_bytes() == first
