"""Kafka Connect's names of items of mappings, where only our names are known: an operator's settings in a Dag."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.mapped_names import spelling
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("transforms.route.type", '"transform_config": {"route": {"type": "…"}}'),
        ("predicates.p.pattern", '"predicate_config": {"p": {"pattern": "…"}}'),
        ("value.converter.schemas.enable", '"value_converter_config": {"schemas.enable": "…"}'),
        ("producer.override.linger.ms", '"producer_override": {"linger.ms": "…"}'),
        ("topic.creation.default.cleanup.policy", '"topic_config": {"cleanup.policy": "…"}'),
    ],
)
def test_the_error_says_how_it_is_written_there(name: str, written: str) -> None:
    for direction in (SourceSettings, SinkSettings):
        with pytest.raises(SettingsError) as raised:
            direction.from_dict({"name": "c", "topics": "t", name: "x"} if direction is SinkSettings else {"name": "c", name: "x"})
        assert f"no such setting [setting {name}, set in settings]. Write {written}" in str(raised.value)


def test_another_name_has_no_such_spelling() -> None:
    assert (spelling("topicPrefix"), spelling("transforms"), spelling("acks")) == ("", "", "")
