"""Connector files: ours and Strimzi's, lines of errors, and names that YAML would take for something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connect.strimzi import UNLIMITED
from ignite_kafka.settings.files.connector_files import BrokenConnector, DeclaredConnector, read_folder
from ignite_kafka.settings.files.declared_offsets import DeclaredOffset
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

STRIMZI = """\
apiVersion: kafka.strimzi.io/{version}
kind: KafkaConnector
metadata:
  name: stream
  labels: {{strimzi.io/cluster: connect}}
  annotations: {{strimzi.io/connector-offsets: {annotation}}}
spec:
  class: org.gridgain.kafka.source.IgniteSourceConnector
  tasksMax: 2
  autoRestart: {{enabled: true}}
  listOffsets: {{toConfigMap: {{name: listed}}}}
  alterOffsets: {{fromConfigMap: {{name: wanted}}}}
  state: {state}
  config:
    cacheWhitelist: "flights.*"
    topicPrefix: stream-
    shallProcessRemovals: true
    pollInterval: 500
    key.converter: org.apache.kafka.connect.storage.StringConverter
    value.converter: org.apache.kafka.connect.json.JsonConverter
    value.converter.schemas.enable: false
"""
OFFSETS = {
    "offsets": [
        {"partition": {"cache": "flights", "partition": 3}, "offset": {"sent": 5}},
        {"partition": {"cache": "flights", "partition": 4}, "offset": {"ranges": [[0, 7]], "generation": 1}},
        {"partition": {"cache": "air", "partition": 0}, "offset": None},
    ]
}


def strimzi(version: str = "v1", state: str = "running", annotation: str = "none") -> str:
    return STRIMZI.format(version=version, state=state, annotation=annotation)


def read(tmp_path: Path, text: str, name: str = "c.yaml") -> DeclaredConnector:
    [one] = every(tmp_path, text, name)
    assert isinstance(one, DeclaredConnector), one
    return one


def every(tmp_path: Path, text: str, name: str = "c.yaml") -> list[DeclaredConnector | BrokenConnector]:
    (tmp_path / name).write_text(text)
    found = read_folder(tmp_path)
    return [*found.connectors, *found.broken]


def broken(tmp_path: Path, text: str) -> BrokenConnector:
    [one] = every(tmp_path, text)
    assert isinstance(one, BrokenConnector), one
    return one


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_a_connector_of_strimzi_is_accepted_as_it_is(tmp_path: Path, version: str) -> None:
    one = read(tmp_path, strimzi(version))
    settings = one.settings()
    assert isinstance(settings, SourceSettings)
    assert (settings.name, settings.cache_whitelist, settings.topic_prefix, settings.process_removals) == (
        "stream",
        ("flights.*",),
        "stream-",
        True,
    )
    assert (settings.tasks_max, settings.run_mode, settings.poll_interval_ms) == (2, "continuous", 500)
    assert (settings.key_converter, settings.value_converter_config) == ("string", {"schemas.enable": "false"})
    assert (one.state, one.restarts, one.offsets, one.list_offsets) == ("running", UNLIMITED, (), None)


@pytest.mark.parametrize("state", ["running", "paused", "stopped"])
def test_the_state_is_that_of_the_file(tmp_path: Path, state: str) -> None:
    assert read(tmp_path, strimzi(state=state)).state == state
    assert read(tmp_path, f"name: c\nstate: {state}\n").state == state


def test_pause_of_old_files_is_a_state(tmp_path: Path) -> None:
    assert read(tmp_path, strimzi().replace("state: running", "pause: true")).state == "paused"


def test_offsets_are_those_of_the_config_map_where_the_annotation_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wanted}\ndata:\n  offsets.json: |\n    " + json.dumps(OFFSETS) + "\n"
    )
    wanted = (DeclaredOffset("flights", 3, 5), DeclaredOffset("flights", 4, 7), DeclaredOffset("air", 0, None))
    assert read(tmp_path, strimzi(annotation="alter")).offsets == wanted
    assert read(tmp_path, strimzi(annotation="list")).list_offsets == "listed"
    assert read(tmp_path, strimzi()).offsets == ()


def test_offsets_of_our_own_files(tmp_path: Path) -> None:
    text = "name: c\nclass: IgniteSink\nconfig: {topics: t}\nstate: stopped\noffsets:\n"
    offset = "- {partition: {kafka_topic: t, kafka_partition: 1}, offset: {kafka_offset: 9}}\n"
    assert read(tmp_path, text + offset).offsets == (DeclaredOffset("t", 1, 9),)
    for wrong in (offset * 2, "- {partition: {cache: t, partition: 1}, offset: {sent: 9}}\n", "- {}\n", "- 1\n", " a: b\n"):
        assert "offset" in str(broken(tmp_path, text + wrong).error)


@pytest.mark.parametrize(
    ("connector", "direction"),
    [
        ("class: IgniteSink\nconfig: {topics: t}", SinkSettings),
        ("config: {topics: [t]}", SinkSettings),
        ("config: {connector.class: IgniteSourceConnector}", SourceSettings),
        ("class: org.gridgain.kafka.source.IgniteSourceConnector\nconfig: {}", SourceSettings),
        ("", SourceSettings),
    ],
)
def test_the_class_decides_about_the_direction_else_the_topics(tmp_path: Path, connector: str, direction: type) -> None:
    assert read(tmp_path, f"name: c\n{connector}\n").loaded.direction is direction


def test_texts_stay_as_they_are_written(tmp_path: Path) -> None:
    config = "{cache_whitelist: [no, 1e5, 2024-01-01, 0x10], topic_prefix: 007, tasks_max: 010, process_removals: True}"
    settings = read(tmp_path, f"name: 2024\nconfig: {config}\n").settings()
    assert isinstance(settings, SourceSettings)
    assert (settings.name, settings.cache_whitelist) == ("2024", ("no", "1e5", "2024-01-01", "0x10"))
    assert (settings.topic_prefix, settings.tasks_max, settings.process_removals) == ("007", 10, True)


def test_aliases_and_merged_mappings(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("name: a\nconfig: {slots: 4}\n---\nname: b\nconfig:\n  <<: &more {slots: 8}\n  topic_prefix: b-\n")
    a, b = read_folder(tmp_path).connectors
    assert (a.settings().slots, b.settings().slots, b.line) == (4, 8, 4)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("name: c\nconfig:\n  cache_whitlist: [a]\n", "no such setting .*line 3.*Did you mean cache_whitelist", 1),
        ("name: c\nconfig:\n  slots: 1\n  slots: 2\n", "'slots' is given twice", 4),
        ("name: c\nname: d\n", "'name' is given twice", 2),
        ("name: c\nconfigs: {}\n", "there is no configs.*Did you mean config", 2),
        ("name: c\n\nstate: halted\n", "state is 'halted'.*running, paused, stopped", 3),
        ("name: c\ndag: {scheduled: x}\n", "dag has no scheduled.*Did you mean schedule", 2),
        ("name: c\ndag:\n  start_date: soon\n", "dag.start_date is wrong: Invalid isoformat", 3),
        ("name: c\ntask:\n  retries: many\n", "task.retries is wrong", 3),
        ("config: {}\n", "name is missing", 1),
        ("name: c\nconfig: {name: d}\n", "config.name differs", 2),
        ("name: c\nconfig: [1]\n", "config is no mapping", 2),
        ("name: c\nconfig: {sasl.password: open-sesame}\n", "sasl.password is a secret", 1),
        ("name: c\nconfig: {cache_whitelist: []}\n", "cache_whitelist was given and is empty", 1),
        ("name: c\nconfig: {topic_prefix: !ENV x}\n", "the tag !ENV is not supported", 2),
        ("name: c\nconfig: {a: *b}\n", "not YAML: found undefined alias", 2),
        ("name: &a [*a]\n", "an alias of a node in itself", 1),
        ("name: c\nclass: org.acme.Other\n", "belongs to another connector", 1),
        ("? [a]\n: b\n", "a key is no text", 1),
        ("kind: Deployment\n", "the resource is None Deployment", 1),
        (strimzi().replace("tasksMax", "taskMax"), "spec has no taskMax.*Did you mean tasksMax", 9),
        (strimzi(annotation="alter"), "there is no ConfigMap wanted", 12),
        (strimzi().replace("maxRestarts", "").replace("enabled: true", "enabled: true, maxRestarts: x"), "maxRestarts is 'x'", 10),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, text: str, message: str, line: int) -> None:
    one = broken(tmp_path, text)
    with pytest.raises(SettingsError, match=message) as raised:
        raise one.error
    assert one.line == line
    assert "c.yaml, line " in str(raised.value)
    assert "open-sesame" not in str(raised.value)


def test_a_bomb_of_aliases_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "too many nodes" in str(broken(tmp_path, "\n".join(lines)).error)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"name: \xff\n")
    (tmp_path / "d.yaml").write_bytes(b"name: d\x00\n")
    first, second = read_folder(tmp_path).broken
    assert "not UTF-8" in str(first.error)
    assert "not YAML" in str(second.error)


def test_hidden_and_other_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in (".hidden.yaml", ".git/x.yaml", "readme.md", "c.json"):
        (tmp_path / name).write_text("name: [")
    (tmp_path / "empty.yaml").write_text("# nothing yet\n---\n")
    assert read(tmp_path, "name: c\n").file == "c.yaml"


def test_a_link_to_a_missing_file_is_a_broken_file(tmp_path: Path) -> None:
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "linked.yaml").symlink_to(tmp_path / "c.txt")
    (tmp_path / "c.txt").write_text("name: c\n")
    found = read_folder(tmp_path)
    assert [one.name for one in found.connectors] == ["c"]
    [broken] = found.broken
    assert (broken.file, broken.name) == ("gone.yaml", "gone")
    assert "the file cannot be read: No such file or directory" in str(broken.error)


def test_a_missing_folder_is_an_error() -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        read_folder("/not/here")


def test_keys_that_strimzi_ignores_in_config_are_ignored_and_reported(tmp_path: Path) -> None:
    one = read(tmp_path, strimzi().replace("  config:", "  config:\n    name: other\n    tasks.max: 4"))
    settings = one.settings()
    assert (settings.name, settings.tasks_max) == ("stream", 2)
    assert {name: one.loaded.origin[name] for name in one.loaded.ignored} == {
        "config.name": "c.yaml, line 15",
        "config.tasks.max": "c.yaml, line 16",
    }
