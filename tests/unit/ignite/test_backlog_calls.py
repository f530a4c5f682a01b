"""Requests to the backlog service in parts, and what its refusals become."""

from __future__ import annotations

import struct
import uuid
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ignite_kafka.errors import BacklogMissing, BacklogRefused, BacklogUnavailable
from ignite_kafka.ignite import backlog_calls as service_calls
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.backlog_service import BacklogService, has_service
from ignite_kafka.ignite.protocol import ThinError
from ignite_kafka.ignite.types import type_codes as codes
from tests.unit.ignite.test_backlog_changes import told


def acknowledgement(*units: int) -> bytes:
    """Of units with so many changes each."""
    parts = []
    for partition, count in enumerate(units):
        numbers = b"".join(struct.pack("<qq", number, -number) for number in range(count))
        parts.append(struct.pack("<iiqqii", 5, partition, 9, 100 + partition, count, 0) + numbers)
    return b"".join(parts)


def test_what_fits_is_one_request() -> None:
    sent = acknowledgement(3, 0, 2)
    assert list(service_calls.acknowledgements(sent)) == [sent]


@pytest.mark.parametrize("most_bytes", [48, 100, 500])
def test_a_long_acknowledgement_comes_in_parts(most_bytes: int) -> None:
    sent = acknowledgement(0, 40, 3, 0, 7)
    parts = list(service_calls.acknowledgements(sent, most_bytes))
    assert len(parts) > 1
    assert all(len(part) <= most_bytes for part in parts)
    found: dict[int, list[tuple[int, int]]] = {}
    for partition, stamp, numbers in (unit for part in parts for unit in told(part)):
        assert stamp == 100 + partition
        found.setdefault(partition, []).extend(numbers)
    assert found == {partition: numbers for partition, _, numbers in told(sent)}


def test_keys_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_calls, "REQUEST_BYTES", 20)
    keys = [b"12345", b"123456", b"1" * 50, b"1"]
    parts, at = [], 0
    while at < len(keys):
        parts.append(service_calls.first_keys(keys, at))
        at += len(parts[-1])
    assert parts == [keys[:2], keys[2:3], keys[3:]]


class Connection:
    """Answers calls of the service one after the other: bytes, or an error."""

    address = "node"

    def __init__(self, *answers: bytes | ThinError) -> None:
        self.answers, self.requests = list(answers), list[bytes]()

    def request(self, op: int, payload: bytes) -> memoryview:
        self.requests.append(payload)
        answer = self.answers.pop(0)
        if isinstance(answer, ThinError):
            raise answer
        return memoryview(struct.pack("<Bi", codes.BYTE_ARRAY, len(answer)) + answer)


def values(*found: bytes | None) -> bytes:
    lengths = [-1 if value is None else len(value) for value in found]
    return struct.pack(f"<i{len(found)}i", len(found), *lengths) + b"".join(value or b"" for value in found)


def service(connection: Any, secret: str | None = None) -> BacklogService:
    return BacklogService(connection, secret)


def test_a_look_up_whose_values_are_too_many_goes_on() -> None:
    connection = Connection(values(b"a", None), values(b"c"))
    assert service(connection).lookup("c", "cache", [b"1", b"2", b"3"]) == [b"a", None, b"c"]
    assert service_calls.framed([b"3"]) in connection.requests[1]
    with pytest.raises(ValueError, match="0 values for 1 keys"):
        service(Connection(values())).lookup("c", "cache", [b"1"])


def test_places_of_keys_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_calls, "REQUEST_BYTES", 10)
    connection = Connection(struct.pack("<ii?", 1, 7, True), struct.pack("<ii?", 1, 8, False))
    partitions, present = service(connection).locate("c", "cache", [b"123456", b"123"])
    assert (partitions.tolist(), present.tolist()) == ([7, 8], [True, False])
    assert partitions.dtype == np.int32


def test_calls_that_change_a_capture_bring_its_secret() -> None:
    connection = Connection(b"")
    service(connection, "the-secret").acknowledge("c", b"")
    assert connection.requests[0].endswith(protocol.string("the-secret"))
    without = Connection(b"")
    service(without).acknowledge("c", b"")
    assert without.requests[0].endswith(bytes([codes.NULL]))


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (ThinError(protocol.FAILED, "Could not find proxy method 'version' in class ...BacklogServiceImpl"), BacklogRefused, "OLDER_JAR"),
        (ThinError(protocol.FAILED, "x: BACKLOG/FORBIDDEN: the capture has another secret"), BacklogRefused, "FORBIDDEN"),
        (ThinError(protocol.FAILED, "x: BACKLOG/BEYOND_LIMIT: backlogFlushFreq is '99'"), BacklogRefused, "BEYOND_LIMIT"),
        (ThinError(protocol.FAILED, "x: BACKLOG/FOREIGN_CACHE: cache 'orders-eu'"), BacklogRefused, "FOREIGN_CACHE"),
        (ThinError(protocol.SECURITY_VIOLATION, "no"), BacklogRefused, "FORBIDDEN"),
        (ThinError(protocol.FAILED, "Service not found: x"), BacklogMissing, None),
        (ThinError(protocol.FAILED, "x: BACKLOG/UNAVAILABLE: later"), BacklogUnavailable, None),
    ],
)
def test_refusals_say_what_to_do(error: ThinError, kind: type[Exception], code: str | None) -> None:
    with pytest.raises(kind) as caught:
        service(Connection(error)).version()
    assert caught.value.where.get("code") == code  # type: ignore[attr-defined]
    assert caught.value.remedy  # type: ignore[attr-defined]


def test_ignite_without_services_is_told_with_the_versions_that_have_them() -> None:
    error = ThinError(protocol.INVALID_OPERATION, "Invalid request op code: 7000")
    with pytest.raises(BacklogMissing, match=r"Ignite has no services for thin clients") as caught:
        service(Connection(error)).version()
    assert "2.9 to 2.17" in caught.value.remedy


UNKNOWN = ThinError(protocol.INVALID_OPERATION, "Invalid request op code: 7001")


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ([UNKNOWN, b"4"], True),
        ([UNKNOWN, ThinError(protocol.FAILED, "x: BACKLOG/UNSUPPORTED_VERSION: node n has 2.18.0")], True),
        ([UNKNOWN, ThinError(protocol.FAILED, "Service not found: ignite-kafka-backlog")], False),
        ([UNKNOWN, ThinError(protocol.SECURITY_VIOLATION, "no")], False),
        ([UNKNOWN, ThinError(protocol.INVALID_OPERATION, "Invalid request op code: 7000")], False),
        ([ThinError(protocol.SECURITY_VIOLATION, "no")], False),
    ],
)
def test_nodes_that_do_not_list_services_are_asked_by_a_call(answers: list[bytes | ThinError], found: bool) -> None:
    connection: Any = Connection(*answers)
    assert has_service(connection) is found
    assert len(connection.requests) == len(answers)


class _Lines:
    """Answers the call `caches` with these lines."""

    address = "node"

    def __init__(self, *lines: str) -> None:
        self._body = struct.pack("<Bi", codes.STRING_ARRAY, len(lines)) + b"".join(map(protocol.string, lines))

    def request(self, op: int, payload: bytes) -> memoryview:
        return memoryview(self._body)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]) | st.sampled_from("\t0-9\n"), min_size=1, max_size=20)


@given(st.lists(st.tuples(NAMES, st.none() | NAMES), min_size=1, max_size=4))
@example([("a\tb", None), ("c", "group\twith\ttabs"), ("x\t1\td\t2\t3\tg", None), ("\t", "\t"), ("line\nend", None)])
def test_names_of_caches_and_groups_may_have_any_characters(caches: list[tuple[str, str | None]]) -> None:
    """A tab in one cache's name must not break the plans of all other connectors of the cluster."""
    rows = [
        (name, protocol.cache_id(name), f"{number:x}-{uuid.UUID(int=number)}", 7, 8, group or name)
        for number, (name, group) in enumerate(caches)
    ]
    lines = ["\t".join(map(str, row)) for row in rows]
    assert service(_Lines(*lines)).caches() == rows


def test_a_name_that_looks_like_a_line_is_no_other_cache() -> None:
    fake = f"orders\t{protocol.cache_id('orders')}\t1-{uuid.UUID(int=1)}\t7\t8\tg"
    row = (fake, protocol.cache_id(fake), f"2-{uuid.UUID(int=2)}", 7, 8, fake)
    assert service(_Lines("\t".join(map(str, row)))).caches() == [row]


@pytest.mark.parametrize("line", ["", "a", "a\tb\tc\td\te\tf", "a\t1\td\t2\t3\tg"])
def test_a_line_that_describes_no_cache_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="describes no cache"):
        service(_Lines(line)).caches()
