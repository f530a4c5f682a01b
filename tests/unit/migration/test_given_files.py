"""Files of Kafka Connect and Strimzi as `migrate` takes them: workers, connectors, and several of them in one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.errors import SettingsError
from ignite_kafka.migration.given_files import read_given

WORKER = "bootstrap.servers=k:9092\nkey.converter=StringConverter\nvalue.converter=JsonConverter\n"
SOURCE = {"connector.class": "org.gridgain.kafka.source.IgniteSourceConnector", "cacheWhitelist": "City"}
OTHER = {"connector.class": "com.example.OtherSink"}


def written(folder: Path, name: str, content: object) -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_a_list_of_connectors_is_never_a_worker_s_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = {name: {"info": {"name": name, "config": config}} for name, config in (("a", SOURCE), ("b", SOURCE), ("other", OTHER))}
    files = [written(tmp_path, "all.json", listed), written(tmp_path, "w.properties", WORKER)]
    assert [one.is_worker for path in files for one in read_given(path)] == [False, False, False, True]
    for given in (files, files[::-1]):
        assert cli.main(["validate", *given]) == 2
        assert "belongs to another connector [setting connector.class, value com.example.OtherSink, set in all.json, connector other]" in (
            capsys.readouterr().err
        )
    del listed["other"]
    written(tmp_path, "all.json", listed)
    assert cli.main(["migrate", *files, "--output", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.glob("[ab].properties")} == {"a.properties", "b.properties"}


def test_what_is_beside_the_config_is_in_the_list_of_keys(tmp_path: Path) -> None:
    body = {"name": "a", "config": SOURCE, "initial_state": "STOPPED"}
    files = [written(tmp_path, "w.properties", WORKER), written(tmp_path, "a.json", body)]
    assert cli.main(["migrate", *files, "--output", str(tmp_path)]) == 0
    assert "# a.json: initial_state: ignored: a connector here runs when it is started" in (tmp_path / "a.properties").read_text()


def test_a_connector_without_converters_and_without_a_worker_is_to_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [written(tmp_path, f"{name}.json", {"name": name, "config": SOURCE}) for name in ("a", "b")]
    assert cli.main(["migrate", *files, "--output", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("to be checked: key.converter: nobody gave it") == shown.count("to be checked: value.converter: nobody gave it") == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name: c\nconfig: {}\n", r"the document is no resource of Strimzi \[file c.yaml, line 1\]"),
        ("a: 1\na: 2\n", "'a' is given twice"),
        ("kind: Deployment\n", "the resource is None Deployment"),
    ],
)
def test_another_document_is_an_error(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=message):
        read_given(written(tmp_path, "c.yaml", content))


def test_a_connector_of_strimzi_keeps_what_strimzi_ignores_apart(tmp_path: Path) -> None:
    text = (
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata: {name: c}\nspec:\n  class: IgniteSinkConnector\n  state: paused\n"
        "  config:\n    name: d\n    topics: t\n---\nkind: ConfigMap\nmetadata: {name: m}\n"
    )
    (one,) = read_given(written(tmp_path, "c.yaml", text))
    assert one.values == {"name": "c", "connector.class": "IgniteSinkConnector", "topics": "t"}
    assert {name: one.origin[name] for name in one.ignored} == {"config.name": "c.yaml, line 8", "state": "c.yaml, line 6"}


def test_all_files_of_another_form_are_reported_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [written(tmp_path, "a.json", {"name": "a", "config": "text"}), written(tmp_path, "b.json", []), str(tmp_path / "none.json")]
    assert cli.main(["validate", *files]) == 2
    shown = capsys.readouterr().err
    assert [f"{name}.json" in shown for name in ("a", "b", "none")] == [True] * 3


def test_two_workers_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [written(tmp_path, name, WORKER) for name in ("v.properties", "w.properties")]
    assert cli.main(["validate", *files, written(tmp_path, "a.json", {"name": "a", "config": SOURCE})]) == 2
    assert "there are two workers' files" in capsys.readouterr().err
