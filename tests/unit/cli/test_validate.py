"""``ignite-kafka validate`` of one file; of a folder: test_folder.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.settings.secrets import Secrets, dump


def last_line(text: str) -> str:
    return text.rstrip("\n").split("\n")[-1]


@pytest.mark.parametrize(
    ("run_mode", "end"), [("", "once: a run ends when it has"), ("run_mode=continuous\n", "continuous: a run follows changes")]
)
@pytest.mark.parametrize("connector", ["Source", "Sink"])
def test_validate_of_a_lone_connector_file_says_whether_its_run_ends(
    connector: str, run_mode: str, end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.properties"
    kind = f"name=c\nconnector.class=org.gridgain.kafka.{connector.lower()}.Ignite{connector}Connector\n"
    path.write_text(kind + ("topics=t\n" if connector == "Sink" else "") + run_mode)
    assert cli.main(["validate", str(path)]) == 0
    assert f"run_mode is {end}" in capsys.readouterr().out


@pytest.mark.parametrize("direction", ["cacheWhitelist=flights", "topics=t"])
def test_validate_makes_the_transforms(direction: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.properties"
    lines = f"name=c\n{direction}\ntransforms=a\ntransforms.a.type=org.apache.kafka.connect.transforms.MaskField$Value\n"
    path.write_text(lines + "transforms.a.fields=x\n")
    assert cli.main(["validate", str(path)]) == 0
    path.write_text(lines + "transforms.a.feilds=x\n")
    assert cli.main(["validate", str(path)]) == 2
    shown = last_line(capsys.readouterr().err)
    assert "transforms.a.feilds, set in c.properties, line 5" in shown
    assert "Did you mean fields?" in shown


def test_validate_makes_the_transforms_of_overrides_beside_a_wrong_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transform = {"type": "MaskField$Value", "feilds": "x"}
    overrides = {"a": {"transforms": ["m"], "transform_config": {"m": transform}}, "b": {"enum_policy": "x"}}
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"name": "c", "cache_whitelist": ["a"], "batch_bytes": -1, "overrides": overrides}))
    assert cli.main(["validate", str(path)]) == 2
    shown = [line for line in capsys.readouterr().err.splitlines() if "SettingsError" in line]
    assert [any(name in line for line in shown) for name in ("batch_bytes is wrong", "enum_policy is wrong", "no property feilds")] == [
        True
    ] * 3
    assert "3 settings are wrong" in shown[-1]


@pytest.mark.parametrize("direction", ["topics=t", "cache_whitelist=a"])
@pytest.mark.parametrize(("where", "why"), [("1 / 0 < a", "a constant of where has no value"), ("a > rand()", "function rand is not")])
def test_validate_refuses_conditions_by_name(
    direction: str, where: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.properties"
    path.write_text(f"name=c\n{direction}\nwhere={where}\n")
    assert cli.main(["validate", str(path)]) == 2
    shown = last_line(capsys.readouterr().err)
    assert why in shown
    assert "set in c.properties, line 3" in shown


def test_validate_refuses_the_address_of_a_registry_beside_its_login(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, hidden = tmp_path / "c.properties", tmp_path / "s"
    file.write_text("name=c\ncacheWhitelist=flights\nvalue.converter=avro\nvalue.converter.schema.registry.url=https://registry\n")
    dump(Secrets(registry={"basic.auth.user.info": "ann:hunter2"}), hidden)
    assert cli.main(["validate", str(file)]) == 0
    assert cli.main(["validate", str(file), "--secrets", str(hidden)]) == 2
    shown = last_line(capsys.readouterr().err)
    assert "schema.registry.url would decide where the login of the schema registry is sent" in shown
    assert "c.properties, line 4" in shown
