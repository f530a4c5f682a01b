"""Errors say what, where and what to do, and travel between processes."""

from __future__ import annotations

import json
import pickle

import pytest

from ignite_kafka import errors
from ignite_kafka.errors import DecodeError, Fenced, IgniteKafkaError, OutcomeUnknown, ScanFailed, SettingsError, UnknownBinaryType
from ignite_kafka.settings.files import load  # noqa: F401 - the settings describe themselves

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, IgniteKafkaError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_travels_by_pickle_and_by_json(kind: type[IgniteKafkaError]) -> None:
    error = kind("it broke", "Mend it.", cache="c", partition=3, slot=None)
    for copy in (pickle.loads(pickle.dumps(error)), IgniteKafkaError.from_dict(json.loads(json.dumps(error.to_dict())))):
        assert type(copy) is kind
        assert str(copy) == str(error) == "it broke [cache c, partition 3]. Mend it."


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_is_documented(kind: type[IgniteKafkaError]) -> None:
    assert kind.__dict__["__doc__"]


def test_an_unknown_kind_becomes_the_base() -> None:
    copy = IgniteKafkaError.from_dict({"type": "OfANewerVersion", "what": "w", "remedy": "", "where": {}})
    assert type(copy) is IgniteKafkaError
    assert str(copy) == "w"


def test_places_that_are_no_json_travel_as_text() -> None:
    assert ScanFailed("w", topics=["a", "b"]).to_dict()["where"] == {"topics": "['a', 'b']"}


def test_exit_codes_and_what_retries_cure() -> None:
    assert (IgniteKafkaError.exit_code, SettingsError.exit_code, Fenced.exit_code, OutcomeUnknown.exit_code) == (1, 2, 3, 4)
    assert not ScanFailed.final
    assert Fenced.final
    assert issubclass(UnknownBinaryType, DecodeError)


@pytest.mark.parametrize(
    ("setting", "anchor"),
    [
        ("slots", "slots"),
        ("value_converter_config.schema.content", "value_converter_config"),
        ("transforms.route.type", "transforms"),
        ("cacheWhitelist", "cache_whitelist"),
        ("errors.tolerance", "conversion_error_policy"),
        ("topic.creation.enable", "create_topics"),
        ("topic.creation.compacted.include", "topic_creation_groups"),
        ("producer.override.partitioner.class", "producer_override"),
    ],
)
def test_an_error_about_a_setting_names_its_place_on_the_page_of_settings(setting: str, anchor: str) -> None:
    error = SettingsError("w", "Mend it", setting=setting)
    assert str(error) == f"w [setting {setting}]. Mend it. See docs/settings.md#{anchor}"
    assert error.advice == f"Mend it. See docs/settings.md#{anchor}"
    assert str(IgniteKafkaError.from_dict(error.to_dict())) == str(error)
    assert str(SettingsError("w", "Why?", setting=setting)).endswith(f"Why? See docs/settings.md#{anchor}")
    assert str(SettingsError("w", setting=setting)).endswith(f"]. See docs/settings.md#{anchor}")


@pytest.mark.parametrize("where", [{}, {"setting": "run_for"}, {"setting": "slotss"}, {"option": "slots"}, {"setting": ""}])
def test_an_error_about_anything_else_names_no_place(where: dict[str, str]) -> None:
    assert "docs" not in str(SettingsError("w", "Mend it", **where))
