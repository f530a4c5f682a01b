"""`ignite-kafka validate` of a folder, and arguments of `apply`; plan and apply need servers: tests/integration/admin."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.cli import main as cli


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text("name: a\nclass: IgniteSink\nconfig: {topics: t, group.id: g}\ndag: {schedule: '@daily'}\n")
    (tmp_path / "b.yaml").write_text("name: b\nstate: paused\nconfig: {run_mode: continuous}\n")
    return tmp_path


def test_validate_lists_the_connectors_and_what_is_ignored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["-q", "validate", str(folder)]) == 0
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "a a.yaml, line 1 to Ignite running @daily" in rows
    assert "b b.yaml, line 1 to Kafka paused continuous" in rows
    assert any(row.startswith("a.yaml, line 3: group.id: it configures a worker of Kafka Connect") for row in rows)


def test_a_broken_file_is_named_with_its_line_and_ends_with_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c.yaml").write_text("name: c\n\nstate: halted\n")
    assert cli.main(["-q", "validate", str(folder)]) == 2
    out = capsys.readouterr().out
    assert "c.yaml, line 3: c: state is 'halted'" in out
    assert "a.yaml, line 1" in out


def test_transforms_are_made_in_both_forms(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form = "config:\n  transforms: a\n"
    (folder / "c.yaml").write_text(f"name: c\n{form}  transforms.a.type: MaskField$Value\n  transforms.a.fields: x,y\n")
    (folder / "d.yaml").write_text(f"name: d\n{form}  transform_config: {{a: {{type: MaskField$Value, fields: [x, y]}}}}\n")
    assert cli.main(["-q", "validate", str(folder)]) == 0
    (folder / "c.yaml").write_text(f"name: c\n{form}  transforms.a.type: MaskField$Value\n  transforms.a.feilds: x\n")
    (folder / "d.yaml").write_text(f"name: d\n{form}  transform_config: {{a: {{type: MaskFeild$Value}}}}\n")
    assert cli.main(["-q", "validate", str(folder)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert any("setting transforms.a.feilds, set in c.yaml, line 5" in line and "Did you mean fields?" in line for line in lines)
    assert any(line.startswith("d.yaml, line 1: d: ") and "Did you mean MaskField$Value?" in line for line in lines)


def test_every_document_of_a_file_gives_all_its_findings_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of documents beside one that is no YAML, and of one whose other settings are wrong, transforms are checked, too."""
    masked = "  transforms: a\n  transforms.a.type: MaskField$Value\n  transforms.a.feilds: x\n"
    documents = [
        f"name: first\nconfig:\n  topic_prefixx: t\n{masked}",
        "name: [no yaml\n",
        f"name: good\nconfig:\n{masked}",
        f"config:\n  batch_size: many\n{masked}state: halted\ndags: {{}}\n",
    ]
    (folder / "c.yaml").write_text("---\n".join(documents))
    assert cli.main(["-q", "validate", str(folder)]) == 2
    out = capsys.readouterr().out
    assert "a.yaml, line 1" in out
    for beginning, what in [
        ("c.yaml, line 1: first: ", "setting topic_prefixx, set in c.yaml, line 3"),
        ("c.yaml, line 1: first: ", "transforms.a.feilds, set in c.yaml, line 6"),
        ("c.yaml, line 8: c: ", "the file is not YAML"),
        ("c.yaml, line 10: good: ", "transforms.a.feilds, set in c.yaml, line 14"),
        ("c.yaml, line 16: c-c.yaml-16: ", "name is missing"),
        ("c.yaml, line 16: c-c.yaml-16: ", "state is 'halted' [set in c.yaml, line 21]. Allowed: running, paused"),
        ("c.yaml, line 16: c-c.yaml-16: ", "there is no dags [set in c.yaml, line 22]"),
        ("c.yaml, line 16: c-c.yaml-16: ", "setting batch_size"),
        ("c.yaml, line 16: c-c.yaml-16: ", "transforms.a.feilds, set in c.yaml, line 20"),
    ]:
        assert any(line.startswith(beginning) and what in line for line in out.splitlines()), (what, out)


def test_a_folder_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["-q", "apply", "/not/here"]) == 2
    assert "there is no such folder of connector files" in capsys.readouterr().err


def test_a_file_is_validated_as_before(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"name": "c"}')
    assert cli.main(["-q", "validate", str(tmp_path / "c.json")]) == 0
