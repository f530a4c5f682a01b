"""The sample files are valid, and say what the docs show."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.settings import secrets
from ignite_kafka.settings.files import load
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(("file", "direction"), [("source.properties", SourceSettings), ("sink.json", SinkSettings)])
def test_a_sample_file_loads_and_none_of_its_settings_is_ignored(file: str, direction: type, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load(EXAMPLES / file)
    assert not loaded.ignored
    assert isinstance(loaded.settings(), direction)
    assert cli.main(["validate", str(EXAMPLES / file)]) == 0
    assert "is valid" in capsys.readouterr().out


def test_the_sample_of_a_secrets_file_loads_once_it_is_its_owner_s_alone(tmp_path: Path) -> None:
    copy = tmp_path / "secrets.json"
    copy.touch(0o600)
    copy.write_bytes((EXAMPLES / "secrets.json").read_bytes())
    found = secrets.load(copy)
    assert (found.ignite.username, found.kafka) == ("app", {"sasl.password": "change me"})


def test_the_readme_names_every_sample() -> None:
    readme = (ROOT / "README.md").read_text()
    assert all(f"examples/{path.name}" in readme for path in EXAMPLES.iterdir())
