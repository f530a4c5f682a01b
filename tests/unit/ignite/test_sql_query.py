"""Parameters of SQL as bytes, and pages of rows; against real nodes: tests/integration/airflow/test_ignite_sql.py."""

from __future__ import annotations

import datetime
import struct
import uuid
from decimal import Decimal
from typing import Any

import pytest

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.errors import DecodeError
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.binary import row_values as rows
from ignite_kafka.ignite.binary.decode_rows import decode_values
from ignite_kafka.ignite.sql_query import argument, page_request, read_page, read_result, request
from ignite_kafka.ignite.types import type_codes as codes

NO_TYPES: Any = None


@pytest.mark.parametrize(
    ("value", "code", "read"),
    [
        (None, codes.NULL, None),
        (True, codes.BOOL, True),
        (-(1 << 63), codes.LONG, -(1 << 63)),
        (1 << 63, codes.DECIMAL, Decimal(1 << 63)),
        (1.5, codes.DOUBLE, 1.5),
        ("é😀", codes.STRING, "é😀"),
        (b"\0", codes.BYTE_ARRAY, b"\0"),
        (bytearray(b"a"), codes.BYTE_ARRAY, b"a"),
        (Decimal("-1.50"), codes.DECIMAL, Decimal("-1.50")),
        (uuid.UUID(int=5), codes.UUID, uuid.UUID(int=5)),
        (datetime.datetime(1969, 12, 31, 23, 59, 59, 1, UTC), codes.TIMESTAMP, rows.Timestamp(-1, 1_000)),
        (datetime.datetime(1970, 1, 1), codes.TIMESTAMP, rows.Timestamp(0, 0)),
        (datetime.date(1969, 12, 31), codes.OPTIMIZED, rows.SqlDate(-86_400_000)),
        (datetime.date(1582, 10, 4), codes.OPTIMIZED, rows.SqlDate(-12_219_379_200_000)),
        (datetime.time(0, 0, 1, 2_000), codes.TIME, rows.Time(1_002)),
    ],
)
def test_a_parameter_is_read_as_it_was(value: object, code: int, read: object) -> None:
    data = argument(value)
    [found], [kind], end = decode_values(memoryview(data), 0, 1, NO_TYPES)
    assert (found, kind, end) == (read, code, len(data))
    assert str(found) == str(read)


def test_times_without_a_zone_are_those_of_the_nodes() -> None:
    zone = "America/New_York"
    values = [datetime.datetime(2020, 1, 1), datetime.date(2020, 7, 1), datetime.time(1)]
    early, _, _ = decode_values(memoryview(argument(datetime.date(1, 1, 1), zone)), 0, 1, NO_TYPES)
    assert early == [rows.SqlDate(-62_135_751_600_000)], "Java knows no local mean time"
    data = memoryview(b"".join(argument(value, zone) for value in values))
    found, _, _ = decode_values(data, 0, 3, NO_TYPES)
    assert found == [rows.Timestamp(1_577_854_800, 0), rows.SqlDate(1_593_576_000_000), rows.Time(6 * 3_600_000)]


@pytest.mark.parametrize("value", [object(), Decimal("Infinity"), datetime.timedelta(1), datetime.time(tzinfo=UTC), [1]])
def test_a_value_that_sql_does_not_have(value: object) -> None:
    with pytest.raises(ValueError, match="SQL has no parameter of type"):
        argument(value)


def test_a_result_has_names_rows_and_codes_of_columns() -> None:
    values = b"".join(map(argument, (None, "a", 2, None)))
    body = struct.pack("<qi", 7, 2) + protocol.string("A") + protocol.string("B") + struct.pack("<i", 2) + values + b"\1"
    found = read_result(memoryview(body), NO_TYPES)
    assert (found.cursor, found.names, found.page.rows, found.page.more) == (7, ["A", "B"], [[None, "a"], [2, None]], True)
    assert found.page.codes == [codes.LONG, codes.STRING]
    last = read_page(memoryview(struct.pack("<i", 0) + b"\0"), 2, NO_TYPES)
    assert (last.rows, last.codes, last.more) == ([], [codes.NULL, codes.NULL], False)
    with pytest.raises(DecodeError):
        read_result(memoryview(body[:-4]), NO_TYPES)


def test_a_request_has_schema_and_parameters() -> None:
    made = request("SELECT ?", [argument(1)], schema="S")
    assert protocol.string("S") in made
    assert protocol.string("SELECT ?") + struct.pack("<i", 1) + argument(1) in made
    assert page_request(7) == struct.pack("<q", 7)
