"""The packed Python of the tests on YARN: which packages it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.packed_python import PACKAGES, REQUIREMENTS, locked, packed

GIVEN = """first==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
other==2.0 ; python_version < "3.12" \\
    --hash=sha256:cc
other-one==3.0 \\
    --hash=sha256:dd
"""


def test_entries_are_taken_with_their_hashes() -> None:
    assert locked(GIVEN, ["first"]) == "first==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
    assert locked(GIVEN, ["other-one", "other"]).splitlines()[::2] == [
        "other-one==3.0 \\",
        'other==2.0 ; python_version < "3.12" \\',
    ]


def test_a_package_that_is_not_locked_is_named() -> None:
    with pytest.raises(LookupError, match="no third"):
        locked(GIVEN, ["first", "third"])


def test_the_packages_of_executors_are_locked() -> None:
    entries = locked(REQUIREMENTS.read_text(), PACKAGES)
    assert entries.count("==") == len(PACKAGES)
    assert "--hash=sha256:" in entries


def test_a_variable_names_another_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "env.tar.gz"
    monkeypatch.setenv("TEST_YARN_PACKED", str(file))
    with pytest.raises(FileNotFoundError, match=r"env\.tar\.gz: run `make setup`"):
        packed()
    file.touch()
    assert packed() == file
