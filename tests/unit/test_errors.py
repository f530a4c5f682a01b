"""Errors say what, where and what to do, and travel between processes."""

from __future__ import annotations

import json
import pickle

import pytest

from ignite_kafka import errors
from ignite_kafka.errors import DecodeError, Fenced, IgniteKafkaError, OutcomeUnknown, ScanFailed, SettingsError, UnknownBinaryType

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
