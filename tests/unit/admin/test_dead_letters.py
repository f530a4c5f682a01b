"""Places that a dead letter's headers name; tests/integration/admin/test_dead_letters.py has the rest on servers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Message

from ignite_kafka.admin import dead_letters
from ignite_kafka.admin.dead_letters import _Letter, _newest
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.settings.sink import SinkSettings
from tests.support.fake_messages import FakeMessage

CONTEXT = {"topic": "t", "partition": "3", "offset": "7"}


def letter(**changed: str) -> _Letter | None:
    headers: list[tuple[str, bytes | None]] = [
        (f"__connect.errors.{name}", value.encode()) for name, value in {**CONTEXT, **changed}.items()
    ]
    return _Letter.of(cast(Message, FakeMessage(b"k", b"v", headers)))


def test_the_place_is_that_of_the_headers() -> None:
    found = letter()
    assert found is not None
    assert (found.place, found.offset) == (("t", 3), 7)


@pytest.mark.parametrize(
    "changed",
    [
        {"offset": "-1"},
        {"offset": "-2"},
        {"partition": "-1"},
        {"offset": "x"},
        {"offset": "9" * 30},
        {"offset": "9" * 5_000},
        {"partition": ""},
    ],
)
def test_a_place_that_no_record_has_is_none(changed: dict[str, str]) -> None:
    assert letter(**changed) is None


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({"cache_header": "cache", "header_caches": ("orders", "returns")}, [7]),
        ({"cache_header": "cache", "header_caches": ("orders", "returns"), "cache_names": {".*": "all"}}, []),
        ({}, []),
    ],
)
def test_a_newer_record_of_the_key_in_another_cache_supersedes_no_letter(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], left: list[int]
) -> None:
    context: list[tuple[str, bytes | None]] = [(f"__connect.errors.{name}", value.encode()) for name, value in CONTEXT.items()]
    found = _Letter.of(cast(Message, FakeMessage(b"k", b"v", [("cache", b"orders"), *context])))
    assert found is not None

    def message(offset: int, cache: bytes) -> Any:
        return SimpleNamespace(key=lambda: b"k", headers=lambda: [("cache", cache)], offset=lambda: offset)

    topic = [message(7, b"orders"), message(8, b"returns")]
    monkeypatch.setattr(dead_letters, "read_to", lambda *_: iter(topic))
    topics = cast(Any, SimpleNamespace(ends=lambda *_: {3: 9}))
    sink = SinkSettings(name="c", topics=("t",), **settings)

    def offsets() -> list[int]:
        newest = _newest(cast(Any, None), topics, sink, ("t", 3), [found], deadline=Deadline.after(600))
        return [each.offset for each in newest]

    assert offsets() == left
    topic.append(message(9, b"orders"))
    assert offsets() == []
