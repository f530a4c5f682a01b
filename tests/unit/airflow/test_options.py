"""Options of Airflow's configuration that decide what settings files may read."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from ignite_kafka.common import redaction
from ignite_kafka.settings import topic_names
from tests.unit.airflow.bench import Bench, context, rendered, sink


def test_a_settings_file_reads_what_an_administrator_allows(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file declares its providers itself, so its author alone decides nothing."""
    monkeypatch.setattr(redaction, "_hidden", set())
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://airflow:hunter2@db/airflow")
    monkeypatch.setenv("COPY_PREFIX", "hunter3-")
    given = tmp_path / "sink.properties"

    def copy(variable: str) -> None:
        kind = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
        declared = f"config.providers=env\nconfig.providers.env.class={kind}\n"
        given.write_text(f"{declared}connector.class=IgniteSink\ntopics=t\ncachePrefix=${{env:{variable}}}\n")
        task = sink()
        task.settings = str(given)
        task.execute(context())

    with pytest.raises(AirflowFailException, match=r"may not read this.*option config_providers of section \[ignite_kafka\]"):
        copy("COPY_PREFIX")
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__CONFIG_PROVIDERS", '["EnvVarConfigProvider=.*"]')
    with pytest.raises(AirflowFailException, match="variables of Airflow are never given"):
        copy("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN")
    copy("COPY_PREFIX")
    assert bench.seen["request"]["settings"]["cache_prefix"] == "hunter3-"
    assert bench.seen["request"]["hidden_values"] == ["hunter3-"]  # messages of the app hide it, too
    for option in ("[1]", '["EnvVarConfigProvider"]', '["Other=/"]'):
        monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__CONFIG_PROVIDERS", option)
        with pytest.raises(AirflowFailException, match="config_providers"):
            copy("COPY_PREFIX")


def test_prefixes_of_internal_topics_bind_every_connector(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connector with a prefix of its own would otherwise reach the internal topics of another team as data."""
    monkeypatch.setattr(topic_names, "_reserved", ())

    def copy(topic: str) -> None:
        rendered(sink(), internal_topic_prefix="mine", topics=[topic]).execute(context())

    copy("team-b-configs")
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__INTERNAL_TOPIC_PREFIXES", '["team-b"]')
    with pytest.raises(AirflowFailException, match="topics names an internal topic"):
        copy("team-b-configs")
    copy("team-b-data")
    assert bench.seen["request"]["internal_topic_prefixes"] == ["team-b"]  # the driver and its tasks check it, too
    monkeypatch.setenv("AIRFLOW__IGNITE_KAFKA__INTERNAL_TOPIC_PREFIXES", '["team b"]')
    with pytest.raises(AirflowFailException, match=r"option internal_topic_prefixes .* is no JSON list of prefixes"):
        copy("team-b-data")
