"""Apache Ignite's own connectors for Kafka Connect: each key has a setting, a reason or a refusal, and GridGain 9's sink is told apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connect import ignite_connectors as own
from ignite_kafka.settings.files.load import from_properties, load
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

DOCS = Path(__file__).parents[4] / "docs" / "migrate.md"
SINK = {
    "name": "in", "connector.class": own.SINK, "topics": "city.in", "cacheName": "City $1", "cacheAllowOverwrite": "true",
    "cachePerNodeDataSize": "256", "cachePerNodeParOps": "4",
}  # fmt: skip
SOURCE = {
    "name": "out", "connector.class": own.SOURCE, "topicNames": "city.out", "cacheName": "City[1]", "cacheEvts": "PUT, removed",
    "evtBufferSize": "10", "evtBatchSize": "5",
}  # fmt: skip


def text(given: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in given.items())


def settings_of(given: dict[str, str]) -> Any:
    return from_properties(text(given).encode(), "c.properties").settings()


def errors_of(given: dict[str, str]) -> list[str]:
    with pytest.raises(SettingsError) as raised:
        settings_of(given)
    return [str(error) for error in raised.value.findings or (raised.value,)]


def test_a_sink_has_one_topic_and_its_cache() -> None:
    settings = settings_of(SINK)
    assert isinstance(settings, SinkSettings)
    assert settings.cache_of("city.in").name == "City $1"
    assert settings.cache_of("city-in").name != "City $1"
    assert (settings.process_updates, settings.batch_size) == (True, 256)


def test_a_source_sends_puts_and_removals_of_one_cache_until_it_is_stopped() -> None:
    settings = settings_of(SOURCE)
    assert isinstance(settings, SourceSettings)
    assert (settings.topic_of("City[1]").name, settings.of("City[1]") is not settings, settings.of("City1") is settings) == (
        "city.out", True, True,
    )  # fmt: skip
    assert settings.cache_whitelist == ("\\QCity[1]\\E",)
    assert (settings.process_removals, settings.run_mode, settings.load_initial_data) == (True, "continuous", False)
    assert settings_of({**SOURCE, "cacheEvts": "put"}).process_removals is False
    assert settings_of({**SOURCE, "run_mode": "once", "load_initial_data": "true"}).load_initial_data is True


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        (SINK, {"topics": "a, b"}, "all topics go to one cache, .*setting cacheName.* Give one topic"),
        (SINK, {"singleTupleExtractorCls": "com.example.E"}, "setting singleTupleExtractorCls.*key_policy and key_fields"),
        (SINK, {"cacheName": ""}, "it is missing, and Ignite's connectors need it .*setting cacheName"),
        (SOURCE, {"topicNames": "a,b"}, "each event goes to each topic, .*setting topicNames"),
        (SOURCE, {"cacheFilterCls": "com.example.F"}, "setting cacheFilterCls.*where.*filter.*the class drops it"),
        (SOURCE, {"cacheEvts": "put,read,expired"}, "no event read, expired .*setting cacheEvts"),
        (SOURCE, {"cacheEvts": "removed"}, "sends puts in any case .*setting cacheEvts"),
        (SOURCE, {"value.converter": f"{own._PACKAGE}serialization.CacheEventConverter"}, "serialization .*setting value.converter"),
        (SOURCE, {"value.converter.x": "y", "cacheEvt": "put"}, "no such setting .*setting cacheEvt, .*"),
    ],
)  # fmt: skip
def test_what_has_no_counterpart_is_refused_with_a_way_out(given: dict[str, str], more: dict[str, str], message: str) -> None:
    found = errors_of({**given, **more})
    assert any(re.search(message, error) for error in found), found


def test_all_findings_come_at_once() -> None:
    found = errors_of({**SOURCE, "topicNames": "a,b", "cacheFilterCls": "F", "cacheEvts": "read", "cacheBlacklst": "x"})
    assert len(found) == 4


def test_validate_tells_each_finding_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.properties").write_text(text({**SOURCE, "cacheFilterCls": "com.example.Filter", "igniteCfg": "node.xml"}))
    assert cli.main(["validate", str(tmp_path / "c.properties")]) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if "SettingsError" in line]
    assert [any(name in line for name in ("cacheFilterCls", "ignite_addresses")) for line in errors] == [True, True, False]
    assert "2 settings are wrong" in errors[-1]


def test_migrate_writes_settings_that_load(tmp_path: Path) -> None:
    for name, given in (("in", SINK), ("out", SOURCE)):
        (tmp_path / f"old-{name}.properties").write_text(text(given))
    files = [str(tmp_path / f"old-{name}.properties") for name in ("in", "out")]
    assert cli.main(["migrate", *files, "--output", str(tmp_path)]) == 0
    for name, given in (("in", SINK), ("out", SOURCE)):
        assert load(tmp_path / f"{name}.properties").settings().overrides == settings_of(given).overrides
    written = (tmp_path / "out.properties").read_text()
    for line in (
        "# old-out.properties, line 2: connector.class: it is changed to IgniteSourceConnector: it is Apache Ignite's own connector.",
        "# old-out.properties, line 3: topicNames: overrides",
        "# old-out.properties, line 6: evtBufferSize: ignored: changes are read from",
        "load_initial_data=false",
    ):
        assert line in written


def test_every_key_is_in_the_docs() -> None:
    page = DOCS.read_text().partition("## Ignite's own connectors")[2].partition("\n## ")[0]
    keys = {name for table in (own.RENAMED, own.IGNORED, own.REFUSED, own.COMPUTED) for kind in table for name in table[kind]}
    assert len(keys) == 12 - 2
    assert [name for name in keys if f"`{name}`" not in page] == []


def test_the_sink_of_gridgain_9_is_one_error() -> None:
    given = {"name": "n", "connector.class": "org.gridgain.kafka.GridGainSinkConnector", "topics": "t", "ignite.table.name.regex": "(.*)"}
    (found,) = errors_of(given)
    assert "the sink of GridGain 9 and Ignite 3, which this package does not write to" in found
    assert "use IgniteSinkConnector, with topics, topicPrefix and ignite_addresses" in found
