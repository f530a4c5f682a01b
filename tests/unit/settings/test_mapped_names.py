"""Kafka Connect's names of items of mappings, where only our names are known: an operator's settings in a Dag."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.mapped_names import CONNECT_NAMES, CONNECT_NAMES_OF_SINK, CONNECT_NAMES_OF_SOURCE, TOLERANCE, TOLERATED, spelling
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("transforms.route.type", '"transform_config": {"route": {"type": "…"}}'),
        ("predicates.p.pattern", '"predicate_config": {"p": {"pattern": "…"}}'),
        ("value.converter.schemas.enable", '"value_converter_config": {"schemas.enable": "…"}'),
        ("producer.override.linger.ms", '"producer_override": {"linger.ms": "…"}'),
    ],
)
def test_the_error_says_how_it_is_written_there(name: str, written: str) -> None:
    for direction in (SourceSettings, SinkSettings):
        with pytest.raises(SettingsError) as raised:
            direction.from_dict({"name": "c", "topics": "t", name: "x"} if direction is SinkSettings else {"name": "c", name: "x"})
        assert f"no such setting [setting {name}, set in settings]. Write {written}" in str(raised.value)


@pytest.mark.parametrize("direction", [SourceSettings, SinkSettings])
def test_each_name_of_kafka_connect_has_its_setting(direction: type[SourceSettings] | type[SinkSettings]) -> None:
    ours = {**CONNECT_NAMES, **(CONNECT_NAMES_OF_SINK if direction is SinkSettings else CONNECT_NAMES_OF_SOURCE), TOLERANCE: TOLERATED}
    for name, setting in ours.items():
        if name not in direction.definitions():
            with pytest.raises(SettingsError) as raised:
                direction.refuse_unknown(name, None)
            assert raised.value.remedy == f"Write {setting}"


def test_a_type_in_the_other_spelling_is_one_finding() -> None:
    with pytest.raises(SettingsError) as raised:
        SourceSettings.from_dict({"name": "c", "transforms": ["route"], "transforms.route.type": "RegexRouter"})
    assert raised.value.findings == ()
    assert raised.value.remedy.startswith('Write "transform_config": {"route": {"type": "…"}}')
    with pytest.raises(SettingsError, match="route of transforms has no type") as raised:
        SourceSettings.from_dict({"name": "c", "transforms": ["route"]})
    assert '"transform_config": {"route": {"type": "…"}}' in raised.value.remedy


def test_an_unknown_name_is_answered_with_one_page() -> None:
    for name in ("nothing.like.it", "topic.creation.enable"):
        with pytest.raises(SettingsError) as raised:
            SinkSettings.refuse_unknown(name, None)
        assert str(raised.value).count("docs/settings.md") == 1


def test_a_sink_is_not_told_to_write_settings_of_topics_that_are_made() -> None:
    name, written = "topic.creation.default.cleanup.policy", '"topic_config": {"cleanup.policy": "…"}'
    assert written in spelling(name, SourceSettings.definitions())
    assert spelling(name, SinkSettings.definitions()) == ""


def test_another_name_has_no_such_spelling() -> None:
    known = SourceSettings.definitions()
    assert (spelling("topicPrefix", known), spelling("acks", known), spelling("topics.regex", known)) == ("", "", "")
