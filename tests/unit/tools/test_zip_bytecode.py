"""A zip with bytecode is imported without being compiled, and its errors still show the source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tools.servers.zip_bytecode import add_bytecode

# prints whether the module came from bytecode, and a traceback with its source
PROGRAM = """
import sys, traceback
sys.path.insert(0, sys.argv[1])
import package.fails
print(package.fails.__file__)
try:
    package.fails.call()
except ValueError:
    traceback.print_exc(file=sys.stdout)
"""


def test_modules_are_loaded_from_their_bytecode(tmp_path: Path) -> None:
    archive = tmp_path / "library.zip"
    with ZipFile(archive, "w") as zipped:
        zipped.writestr("package/__init__.py", "")
        zipped.writestr("package/fails.py", "def call():\n    raise ValueError('in the zip')\n")
        zipped.writestr("package/text.txt", "kept")
    add_bytecode(archive)
    before = archive.read_bytes()
    add_bytecode(archive)
    assert archive.read_bytes() == before
    with ZipFile(archive) as zipped:
        assert zipped.read("package/text.txt") == b"kept"
        assert {"package/fails.py", "package/fails.pyc", "package/__init__.pyc"} < set(zipped.namelist())
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(archive)], capture_output=True, text=True, check=True)
    assert f"{archive}/package/fails.pyc" in done.stdout
    assert "raise ValueError('in the zip')" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["library.zip"]
