"""Fake messages of internal topics, without a broker."""

from __future__ import annotations

from typing import Any, cast

from confluent_kafka import Message

from ignite_kafka.state.internal_records import FORMAT_HEADERS, InternalRecord


class FakeMessage:
    """A record at offset 7 of partition 0 of topic ``p-internal``."""

    def __init__(self, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]] | None = None) -> None:
        self._key, self._value, self._headers = key, value, headers

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self._headers

    def topic(self) -> str:
        return "p-internal"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7


def message(key: bytes | None, value: bytes | None, format: int | None = 1) -> Message:
    """Make a message.

    :param format: of the record; None: without a format header, as 0.1.0 wrote it.
    """
    return cast(Message, FakeMessage(key, value, None if format is None else [(FORMAT_HEADERS[0][0], str(format).encode())]))


def record(key: bytes, value: bytes | None, format: int | None = 1) -> Any:
    """Return the record of a message with these contents."""
    found = InternalRecord.of(message(key, value, format))
    assert found is not None
    return found
