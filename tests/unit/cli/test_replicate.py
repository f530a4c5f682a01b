"""A source and a sink as one command: their settings fit, and their JSON and progress."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ignite_kafka.cli.replicate import SinkProgress, load_settings_of_both
from ignite_kafka.errors import SettingsError

SOURCE = "name=a\ncache_whitelist=x\nrun_mode={mode}\ninternal_topic_prefix=in-a\n"
SINK = "name=b\ntopics=ignite-x\nrun_mode={mode}\n{more}"
ACTIVE_ACTIVE = "active_active=true\nprocess_updates=true\nkey_converter=ignite-binary\nvalue_converter=ignite-binary\n"


def files(tmp_path: Path, source: str = "once", sink: str = "once", more: str = "") -> tuple[Path, Path]:
    (tmp_path / "a.properties").write_text(SOURCE.format(mode=source))
    (tmp_path / "b.properties").write_text(SINK.format(mode=sink, more=more))
    return tmp_path / "a.properties", tmp_path / "b.properties"


def test_the_sink_reads_the_types_topic_of_the_source(tmp_path: Path) -> None:
    assert load_settings_of_both(*files(tmp_path))[1].types_topic == "in-a-types"
    assert load_settings_of_both(*files(tmp_path, more="types_topic=own\n"))[1].types_topic == "own"
    assert load_settings_of_both(*files(tmp_path, more="internal_topic_prefix=in-a\n"))[1].source_types_topic == "in-a-types"


@pytest.mark.parametrize(
    ("sink", "more", "what"),
    [
        ("continuous", "", "run_mode of the source is once, that of the sink continuous"),
        ("once", "value_converter=ignite-binary\n", "value_converter of the source is json, that of the sink ignite-binary"),
        ("once", ACTIVE_ACTIVE, "active_active of the sink is true, that of the other is not"),
        ("once", "name=a\ninternal_topic_prefix=in-a\n", "source and sink have one name"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, sink: str, more: str, what: str) -> None:
    with pytest.raises(SettingsError, match=what):
        load_settings_of_both(*files(tmp_path, sink=sink, more=more))


def test_each_file_is_of_its_direction(tmp_path: Path) -> None:
    source, sink = files(tmp_path)
    with pytest.raises(SettingsError, match="the other direction"):
        load_settings_of_both(sink, source)


BOTH = """bootstrap_servers=broker:9092
key.converter=org.apache.kafka.connect.storage.StringConverter
tasks_max=3
source.name=a
source.ignite_addresses=a1:10800
source.cache_whitelist=x
sink.name=b
sink.ignite_addresses=b1:10800
sink.topics=ignite-x
sink.tasks_max=1
"""
AS_JSON = {
    "bootstrap_servers": "broker:9092", "key_converter": "string", "tasks_max": 3,
    "source": {"name": "a", "ignite_addresses": ["a1:10800"], "cache_whitelist": ["x"]},
    "sink": {"name": "b", "ignite_addresses": ["b1:10800"], "topics": ["ignite-x"], "tasks_max": 1},
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [("both.properties", BOTH), ("both.json", json.dumps(AS_JSON))])
def test_one_file_has_the_settings_of_both(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    source, sink = load_settings_of_both(tmp_path / name)
    assert (source.name, source.ignite_addresses, source.cache_whitelist, source.tasks_max) == ("a", ("a1:10800",), ("x",), 3)
    assert (sink.name, sink.ignite_addresses, sink.topics, sink.tasks_max) == ("b", ("b1:10800",), ("ignite-x",), 1)
    for one in (source, sink):
        assert (one.bootstrap_servers, one.key_converter) == ("broker:9092", "string")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sink.", "", r"the file has no settings of the sink.*Put sink\. before the names"),
        ("sink.tasks_max", "sink.tasks_maxx", r"both\.properties, line 10"),
        ("sink.topics=ignite-x", "sink.name=b", "settings of the other direction"),
    ],
)
def test_one_file_that_is_not_of_both_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "both.properties").write_text(BOTH.replace(old, new))
    with pytest.raises(SettingsError, match=message):
        load_settings_of_both(tmp_path / "both.properties")


def test_what_a_sink_has_stored_of_what_came(tmp_path: Path) -> None:
    progress = SinkProgress()
    for left, done, count in ((100, 0, 100), (60, 40, 100), (90, 40, 130), (0, 130, 130)):
        progress.add(left)
        assert (progress.done, progress.count) == (done, count)
