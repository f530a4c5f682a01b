"""The library as a zip file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ignite_kafka.runtime.library_zip import packaged_text, zip_library


def test_the_library_is_imported_from_its_zip_file(tmp_path: Path) -> None:
    path = zip_library(tmp_path)
    code = "import ignite_kafka.settings.source as module; print(module.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    assert done.stdout.startswith(str(path))


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first = zip_library(tmp_path).read_bytes()
    assert zip_library(tmp_path).read_bytes() == first


def test_an_app_of_the_zip_file_finds_a_request_that_is_only_there(tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"run_id": "r", "settings": {"topics": ["t"]}, "connector": "c"}))
    path = zip_library(tmp_path, request)
    request.unlink()
    code = (
        "from ignite_kafka.app import AppRequest; from ignite_kafka.settings.sink import SinkSettings; "
        "print(AppRequest.load('request.json', SinkSettings).run_id); AppRequest.load('/etc/other/request.json', SinkSettings)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(path)}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "r\n", done.stderr
    assert "SettingsError" in done.stderr  # a path is not looked up there


def test_a_library_of_a_folder_has_no_packaged_text() -> None:
    assert packaged_text("__init__.py") is None
