"""Connectors of Strimzi with the converters of their `KafkaConnect`, which their label names."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from ignite_kafka.cli import main as cli
from ignite_kafka.settings.files.connector_files import BrokenConnector, DeclaredConnector, read_folder
from ignite_kafka.settings.files.load import load
from ignite_kafka.settings.files.schema import document

WORKER = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnect
metadata: {name: works}
spec:
  bootstrapServers: k-1:9092
  authentication: {type: tls}
  config:
    group.id: works
    key.converter: org.apache.kafka.connect.storage.StringConverter
    value.converter: org.apache.kafka.connect.json.JsonConverter
    value.converter.schemas.enable: true
    producer.linger.ms: 20
    rest.port: 8083
    config.providers: env
    config.providers.env.class: org.apache.kafka.common.config.provider.EnvVarConfigProvider
"""
CONNECTOR = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata:
  name: cities
  labels: {strimzi.io/cluster: works}
spec:
  class: org.gridgain.kafka.source.IgniteSourceConnector
  tasksMax: 1
  config:
    cacheWhitelist: City
    topicPrefix: c-
"""


def read(folder: Path, *texts: str) -> list[DeclaredConnector | BrokenConnector]:
    for number, text in enumerate(texts):
        (folder / f"{number}.yaml").write_text(text)
    found = read_folder(folder)
    return [*found.connectors, *found.broken]


@pytest.mark.parametrize("texts", [(WORKER, CONNECTOR), (CONNECTOR, WORKER), (f"{CONNECTOR}---\n{WORKER}",)])
def test_a_connector_has_the_converters_of_its_worker(texts: tuple[str, ...], tmp_path: Path) -> None:
    (one,) = read(tmp_path, *texts)
    assert isinstance(one, DeclaredConnector), one
    settings = one.settings()
    assert (settings.key_converter, settings.value_converter) == ("string", "json")
    assert settings.converter_properties("value")["schemas.enable"] == "true"
    assert (settings.bootstrap_servers, settings.name, settings.tasks_max) == ("k-1:9092", "cities", 1)
    assert list(one.loaded.ignored) == ["KafkaConnect works, rest.port", "KafkaConnect works, spec.authentication"]
    assert one.loaded.origin["KafkaConnect works, rest.port"].endswith(f", line {12 + (13 if len(texts) == 1 else 1)}")


def test_its_own_converter_has_its_own_properties(tmp_path: Path) -> None:
    own = CONNECTOR + "    key.converter.schemas.enable: true\n    value.converter: JsonConverter\n"
    (one,) = read(tmp_path, WORKER, own)
    assert isinstance(one, DeclaredConnector), one
    assert one.settings().converter_properties("value")["schemas.enable"] == "false"
    assert "only beside the connector's own key.converter" in one.loaded.ignored["key.converter.schemas.enable"]


def test_a_worker_without_converters_has_strimzi_s(tmp_path: Path) -> None:
    plain = WORKER.partition("  config:")[0]
    (one,) = read(tmp_path, plain, CONNECTOR)
    assert isinstance(one, DeclaredConnector), one
    assert [one.settings().converter_properties(side)["schemas.enable"] for side in ("key", "value")] == ["true", "true"]
    assert one.loaded.origin["key_converter"] == "Strimzi, whose KafkaConnect works has no key.converter"


@pytest.mark.parametrize(
    ("worker", "label", "of"),
    [("", "works", "KafkaConnect works"), (WORKER, "others", "KafkaConnect others"), ("", "", "a KafkaConnect, which its label")],
)
def test_a_connector_without_any_converter_is_an_error(worker: str, label: str, of: str, tmp_path: Path) -> None:
    labels = f"{{strimzi.io/cluster: {label}}}" if label else "{}"
    (one,) = read(tmp_path, worker, CONNECTOR.replace("{strimzi.io/cluster: works}", labels))
    assert isinstance(one, BrokenConnector)
    assert f"nobody gave key.converter and value.converter, and Kafka Connect has no default: the connector has those of {of}" in str(
        one.error
    )
    assert "set in 1.yaml, line 1" in str(one.error)


def test_a_side_without_a_converter_is_reported(tmp_path: Path) -> None:
    (one,) = read(tmp_path, CONNECTOR + "    key.converter: StringConverter\n")
    assert isinstance(one, DeclaredConnector), one
    assert "nobody gave it" in one.loaded.ignored["value.converter"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WORKER.replace("metadata: {name: works}\n", ""), "metadata.name, spec or spec.config is missing"),
        (WORKER.partition("  config:")[0] + "  config: [a]\n", "metadata.name, spec or spec.config is missing"),
        (f"{WORKER}---\n{WORKER}", "the KafkaConnect works is in 0.yaml, KafkaConnect works, too"),
    ],
)
def test_a_broken_worker_is_reported(text: str, message: str, tmp_path: Path) -> None:
    assert any(isinstance(one, BrokenConnector) and message in str(one.error) for one in read(tmp_path, text))


def test_a_lone_file_is_validated_and_migrated_with_its_worker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("worker", WORKER), ("cities", CONNECTOR), ("both", f"{WORKER}---\n{CONNECTOR}")):
        (tmp_path / f"{name}.yaml").write_text(text)
    assert cli.main(["validate", str(tmp_path / "both.yaml")]) == 0
    assert cli.main(["validate", str(tmp_path / "cities.yaml")]) == 2
    assert "nobody gave key.converter and value.converter" in capsys.readouterr().out
    assert cli.main(["migrate", str(tmp_path / "cities.yaml"), "--output", str(tmp_path)]) == 2
    assert "nobody gave key.converter and value.converter" in capsys.readouterr().err
    assert cli.main(["migrate", str(tmp_path / "worker.yaml"), str(tmp_path / "cities.yaml"), "--output", str(tmp_path)]) == 0
    made = load(tmp_path / "cities.properties").settings()
    assert (made.key_converter, made.producer_override, made.run_mode) == ("string", {"linger.ms": "20"}, "continuous")
    text = (tmp_path / "cities.properties").read_text()
    assert "# cities.yaml, line 10: cacheWhitelist\n" in text
    assert "# worker.yaml, line 6: spec.authentication: ignored: Kubernetes has its certificates" in text


def test_run_of_a_folder_says_which_commands_take_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text(CONNECTOR)
    assert cli.main(["run", str(tmp_path)]) == 2
    assert "run takes no folder" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    assert "folder" not in capsys.readouterr().out.partition("CONNECTOR  ")[0]


def test_the_schema_of_the_editor_accepts_it() -> None:
    jsonschema.validate(yaml.safe_load(WORKER), document())
