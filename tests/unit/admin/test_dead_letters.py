"""Places that a dead letter's headers name; tests/integration/admin/test_dead_letters.py has the rest on servers."""

from __future__ import annotations

from typing import cast

import pytest
from confluent_kafka import Message

from ignite_kafka.admin.dead_letters import _Letter
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
