"""Connector files of any content: a document is a connector or a broken one, and stops no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connect.strimzi import SPEC
from ignite_kafka.settings.files.connector_files import KEYS, BrokenConnector, read_folder
from ignite_kafka.settings.files.load import from_json, from_properties
from tests.support.randomness import examples

GOOD = "name: good\nclass: IgniteSource\nconfig: {cache_whitelist: [x]}\n"
STRIMZI = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata: {name: s%s}
spec:
  class: org.gridgain.kafka.source.IgniteSourceConnector
  alterOffsets: {fromConfigMap: {name: m}}
  config: {cacheWhitelist: x, key.converter: StringConverter, value.converter: JsonConverter}
"""
ALTER = ", annotations: {strimzi.io/connector-offsets: alter}"
LAUGHS = "".join(f"{key}: &{key} [{','.join([f'*{before}'] * 9)}]\n" for before, key in zip("abcde", "bcdef", strict=True))


def broken(folder: Path, text: str) -> list[BrokenConnector]:
    """The broken documents of a file beside another one, whose connector stays."""
    (folder / "good.yaml").write_text(GOOD)
    (folder / "odd.yaml").write_text(text)
    found = read_folder(folder)
    assert [one.name for one in found.connectors if one.file == "good.yaml"] == ["good"]
    return [one for one in found.broken if one.file == "odd.yaml"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nclass: [x]\nconfig: {cacheWhitelist: x}", "belongs to another connector"),
        ("name: a\nclass: {b: c}\nconfig: {1: 2}", "belongs to another connector"),
        ("name: a\nstate: [x]\nconfig: {cacheWhitelist: x}", "state is ['x']"),
        (STRIMZI % ", annotations: text", "metadata.annotations is no mapping"),
        (STRIMZI % ALTER + "---\nkind: ConfigMap\nmetadata: {name: m}\ndata: offsets.json\n", "data is no mapping"),
        (STRIMZI % ALTER + f"---\nkind: ConfigMap\nmetadata: {{name: m}}\ndata: {{offsets.json: '{'[' * 9999}'}}\n", "nested too deeply"),
        ("apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata: x\nspec: {config: {}}\n", "metadata.name"),
        (f"a: {'[' * 3000}{']' * 3000}", "nested too deeply"),
        ("? [a]\n: b\n", "a key is no text"),
        ("a: &a [x,x,x,x,x,x,x,x,x]\n" + LAUGHS, "too many nodes"),
        ("name: a\nconfig: {batch_size: .nan}", "batch_size is wrong"),
        ("name: a\nconfig: {errors.tolerance: [all], cacheWhitelist: x}", "errors.tolerance is wrong"),
        ("name: a\nconfig: {errors.tolerance: {all: x}, topics: x}", "errors.tolerance is wrong"),
        ("name: a\nconfig: {batch_size: 2025-01-01T00:00:00Z}", "batch_size is wrong"),
        ("[]", "the document is no mapping"),
    ],
)
def test_an_odd_document_is_a_broken_connector(text: str, message: str, tmp_path: Path) -> None:
    (one,) = broken(tmp_path, text)
    assert message in str(one.error)
    assert "odd.yaml, line " in str(one.error)


def test_a_document_that_is_no_yaml_leaves_those_before_and_after_it(tmp_path: Path) -> None:
    no_yaml = "name: bad\nconfig: {a: [\n"
    (tmp_path / "c.yaml").write_text("---\n".join(["name: first\n", no_yaml, "# nothing\n", GOOD, no_yaml, "name: last\nstate: x\n"]))
    found = read_folder(tmp_path)
    assert [(one.name, one.line) for one in found.connectors] == [("first", 1), ("good", 8)]
    assert [(one.name, one.line) for one in found.broken] == [("bad", 4), ("bad-c.yaml-13", 13), ("last", 16)]
    assert all("set in c.yaml, line" in str(one.error) for one in found.broken)


def test_a_broken_document_leaves_those_after_it(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(f"name: first\nconfig: {{a: 1, a: 2}}\n---\n{GOOD}")
    found = read_folder(tmp_path)
    assert [one.name for one in found.connectors] == ["good"]
    assert [(one.name, one.line) for one in found.broken] == [("first", 2)]  # the line of the error


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.datetimes() | st.binary(max_size=3) | st.text(max_size=5)
    | st.sampled_from(["IgniteSource", "IgniteSink", "KafkaConnector", "ConfigMap", "kafka.strimzi.io/v1", "running", "x"])
)  # fmt: skip
NAMES = st.sampled_from([
    *KEYS, *SPEC, "apiVersion", "kind", "metadata", "spec", "annotations", "data", "offsets.json", "strimzi.io/connector-offsets",
    "fromConfigMap", "toConfigMap", "cacheWhitelist", "topics", "cache_whitelist", "transforms", "transform_config", "overrides",
    "transforms.a.type", "schedule", "start_date", "conf", "key.converter", "errors.tolerance", "topic.creation.groups", "partition",
    "config.providers",
])  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | SCALARS.filter(lambda one: one == one), inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = VALUES | st.fixed_dictionaries(
    {}, optional={"name": st.just("a") | VALUES, "class": VALUES, "config": st.dictionaries(NAMES, VALUES, max_size=4), "state": VALUES,
                  "offsets": VALUES, "dag": VALUES, "task": VALUES}
) | st.fixed_dictionaries(
    {"apiVersion": st.just("kafka.strimzi.io/v1") | VALUES, "kind": st.sampled_from(["KafkaConnector", "ConfigMap"]) | VALUES},
    optional={"metadata": st.fixed_dictionaries({"name": st.just("a") | VALUES}, optional={"annotations": VALUES}),
              "spec": st.fixed_dictionaries({}, optional=dict.fromkeys(SPEC, VALUES)), "data": VALUES},
)  # fmt: skip


@settings(max_examples=examples(400))
@given(st.lists(DOCUMENTS, min_size=1, max_size=3))
def test_any_documents_are_connectors_or_broken(tmp_path_factory: pytest.TempPathFactory, content: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("documents")
    broken(folder, yaml.safe_dump_all(content))
    for one in read_folder(folder).broken:
        assert isinstance(one.error, SettingsError)


@settings(max_examples=examples(300))
@given(DOCUMENTS)
def test_any_json_is_settings_or_an_error(content: Any) -> None:
    try:
        from_json(json.dumps(content, default=str, skipkeys=True).encode(), "c.json").settings()
    except SettingsError:
        return


@settings(max_examples=examples(300))
@given(st.dictionaries(st.text(max_size=2).map("x{}".format) | NAMES, st.text(max_size=5) | st.sampled_from(["\0", "a,\0"]), max_size=4))
def test_any_properties_are_settings_or_an_error(content: dict[str, str]) -> None:
    properties = {"config.providers": "env", "connector.class": "IgniteSource", "name": "c", **content}
    try:
        from_properties(
            "".join(f"{name}={value}\n" for name, value in properties.items()).encode("iso-8859-1", "ignore"), "c.properties"
        ).settings()
    except SettingsError:
        return


def test_json_that_is_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(SettingsError, match="nested too deeply"):
        from_json(b"[" * 100_000, "c.json")
