"""The cursor of the DB-API on replies that the test makes; values and real nodes: tests/integration/airflow/test_ignite_sql.py."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from airflow_provider_ignite_kafka import dbapi
from airflow_provider_ignite_kafka.dbapi.errors import error_of
from airflow_provider_ignite_kafka.dbapi.values import SqlType, sql_type, to_python
from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from ignite_kafka.ignite import protocol, sql_query
from ignite_kafka.ignite.binary import row_values as rows
from ignite_kafka.ignite.protocol import ThinError
from ignite_kafka.ignite.types import type_codes as codes

UTC = ZoneInfo("UTC")


class Node:
    """A session, and a connection, that answers with the given replies, and keeps what it was asked. An error among them is raised."""

    schema: str | None = None
    time_zone = UTC
    types: Any = None

    def __init__(self, *replies: bytes | dbapi.Error) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[int, bytes]] = []

    def request(self, op: int, payload: bytes) -> memoryview:
        self.asked.append((op, payload))
        reply = self.replies.pop(0) if op != protocol.RESOURCE_CLOSE else b""
        if isinstance(reply, dbapi.Error):
            raise reply
        return memoryview(reply)

    def cursor(self) -> dbapi.Cursor:
        return dbapi.Cursor(self)

    def commit(self) -> None:
        pass

    def close(self) -> None:
        pass


def page(*values: object, columns: int = 1, more: bool = False) -> bytes:
    return struct.pack("<i", len(values) // columns) + b"".join(map(sql_query.argument, values)) + struct.pack("<?", more)


def result(names: list[str], *values: object, more: bool = False) -> bytes:
    head = struct.pack("<qi", 7, len(names)) + b"".join(map(protocol.string, names))
    return head + page(*values, columns=len(names), more=more)


def test_rows_of_several_pages() -> None:
    node = Node(result(["A", "B"], 1, None, 2, "x", more=True), page(3, "y", columns=2))
    cursor = dbapi.Cursor(node).execute("SELECT a, b FROM t")
    assert cursor.description is not None
    assert [(column[0], str(column[1])) for column in cursor.description] == [("A", "BIGINT"), ("B", "VARCHAR")]
    assert cursor.rowcount == -1
    assert cursor.fetchone() == (1, None)
    assert cursor.fetchmany(5) == [(2, "x"), (3, "y")]
    assert cursor.fetchall() == []
    assert [op for op, _ in node.asked] == [protocol.QUERY_SQL_FIELDS, protocol.QUERY_SQL_FIELDS_PAGE]


def test_what_a_node_still_holds_is_released() -> None:
    node = Node(result(["A"], 1, more=True), result(["A"], 1, more=True))
    with dbapi.Cursor(node) as cursor:
        cursor.execute("SELECT 1")
        cursor.execute("SELECT 1")
    assert [op for op, _ in node.asked].count(protocol.RESOURCE_CLOSE) == 2
    with pytest.raises(dbapi.InterfaceError, match="closed"):
        cursor.fetchone()


@pytest.mark.parametrize("statement", ["UPDATE t SET a = 1", "/* select */ MERGE INTO t VALUES (1)", "DROP TABLE t"])
def test_a_statement_without_rows_has_a_count(statement: str) -> None:
    cursor = dbapi.Cursor(Node(result(["UPDATED"], 3))).execute(statement)
    assert (cursor.description, cursor.rowcount) == (None, 3)
    with pytest.raises(dbapi.InterfaceError, match="is no query"):
        cursor.fetchone()


@pytest.mark.parametrize("statement", ["select 3 as updated", " -- a\n(SELECT 3) ", "/* a */ WITH x AS (SELECT 3) SELECT * FROM x"])
def test_a_query_of_a_column_of_that_name_has_rows(statement: str) -> None:
    assert dbapi.Cursor(Node(result(["UPDATED"], 3))).execute(statement).fetchall() == [(3,)]


def test_executemany_adds_the_counts() -> None:
    cursor = dbapi.Cursor(Node(*[result(["UPDATED"], 1)] * 3)).executemany("INSERT INTO t VALUES (?)", [[1], [2], [3]])
    assert cursor.rowcount == 3


@pytest.mark.parametrize("parameters", [{"a": 1}, "text", b"bytes"])
def test_parameters_have_no_names(parameters: Any) -> None:
    with pytest.raises(dbapi.ProgrammingError, match=r"a list with a value for each \?"):
        dbapi.Cursor(Node()).execute("SELECT ?", parameters)


@pytest.mark.parametrize("value", [object(), Decimal("NaN"), datetime.timedelta(1), [1], {}])
def test_a_value_that_sql_does_not_have(value: object) -> None:
    with pytest.raises(dbapi.DataError, match=rf"^parameter 2: SQL has no parameter of type {type(value).__name__}"):
        dbapi.Cursor(Node()).execute("SELECT ?", [1, value])


def test_one_of_many_rows_with_such_a_value_is_named_and_none_is_sent() -> None:
    node = Node(*[result(["UPDATED"], 1)] * 3)
    with pytest.raises(dbapi.DataError, match=r"^row 3: parameter 2: SQL has no parameter of type set"):
        dbapi.Cursor(node).executemany("INSERT INTO t VALUES (?, ?)", [[1, "a"], [2, "b"], [3, {"c"}]])
    assert node.asked == []


@pytest.mark.parametrize("commit_every", [2, 3, 1000, 0])
def test_insert_rows_names_the_row_among_all(commit_every: int, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow gives the cursor `commit_every` rows at a time."""
    node = Node(*[result(["UPDATED"], 1)] * 7)
    connect("ignite_default", conn_type="ignite")
    monkeypatch.setattr(IgniteHook, "get_conn", lambda _hook: node)
    given = [(number, {number} if number == 6 else "a") for number in range(1, 8)]
    with pytest.raises(dbapi.DataError, match=r"^row 6: parameter 2: SQL has no parameter of type set"):
        IgniteHook().insert_rows("t", iter(given), commit_every=commit_every)
    assert len(node.asked) == {2: 4, 3: 3, 1000: 0, 0: 0}[commit_every], "the rows of the chunks before"


@pytest.mark.parametrize("commit_every", [2, 1000])
def test_a_row_that_the_cluster_refuses_is_named(commit_every: int, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(*[result(["UPDATED"], 1)] * 4, dbapi.IntegrityError("23000: Duplicate key"))
    connect("ignite_default", conn_type="ignite")
    monkeypatch.setattr(IgniteHook, "get_conn", lambda _hook: node)
    with pytest.raises(dbapi.IntegrityError, match=r"^row 5: 23000: Duplicate key"):
        IgniteHook().insert_rows("t", [(number,) for number in range(1, 8)], ["id"], commit_every)


def test_insert_rows_without_chunks_inserts_all(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(*[result(["UPDATED"], 1)] * 3)
    connect("ignite_default", conn_type="ignite")
    monkeypatch.setattr(IgniteHook, "get_conn", lambda _hook: node)
    IgniteHook().insert_rows("t", [(1,), (2,), (3,)], commit_every=0)
    assert len(node.asked) == 3


def test_a_reply_that_cannot_be_read() -> None:
    with pytest.raises(dbapi.InternalError):
        dbapi.Cursor(Node(result(["A"], 1)[:-3])).execute("SELECT 1")


@pytest.mark.parametrize(
    ("message", "status", "kind"),
    [
        ("42000: Failed to parse query.", 1, dbapi.ProgrammingError),
        ("23000: Duplicate key", 1, dbapi.IntegrityError),
        ("22004: Null value is not allowed for column 'ID'", 1, dbapi.IntegrityError),
        ("22018: Data conversion error", 1, dbapi.DataError),
        ("0A000: Multiple statements queries are not supported.", 1, dbapi.NotSupportedError),
        ("57014: The query was cancelled", 1, dbapi.OperationalError),
        ("50000: Invalid number of query parameters [expected=1, actual=0]", 1, dbapi.ProgrammingError),
        ("Authorization failed", protocol.SECURITY_VIOLATION, dbapi.OperationalError),
        ("anything", 1, dbapi.DatabaseError),
    ],
)
def test_errors_by_sqlstate(message: str, status: int, kind: type[dbapi.Error]) -> None:
    found = error_of(ThinError(status, message))
    assert type(found) is kind
    assert str(found) == message


def test_types_are_names_and_kinds() -> None:
    decimal, date = sql_type(codes.DECIMAL, Decimal(1)), sql_type(codes.OPTIMIZED, rows.SqlDate(0))
    assert decimal == "DECIMAL"
    assert decimal == dbapi.NUMBER
    assert decimal != dbapi.STRING
    assert date == "DATE"
    assert date == dbapi.DATETIME
    assert sql_type(codes.NULL, None) is None
    assert sql_type(codes.OBJECT, object()) == SqlType("OTHER")
    assert {decimal: 1}[SqlType("DECIMAL")] == 1


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("value", "zone", "expected"),
    [
        (rows.Timestamp(-1, 999_999_999), UTC, datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
        (rows.Timestamp(0, 0), BERLIN, datetime.datetime(1970, 1, 1, 1, tzinfo=BERLIN)),
        (rows.Timestamp(-14_830_959_600, 0), UTC, datetime.datetime(1500, 1, 1, 9, tzinfo=UTC)),
        (rows.Timestamp(253_402_318_799, 0), ZoneInfo("America/New_York"), datetime.datetime(9999, 12, 31, 23, 59, 59)),
        (rows.Date(-1), UTC, datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)),
        (rows.SqlDate(-3_600_000), BERLIN, datetime.date(1970, 1, 1)),
        # as a node in that time zone sends it: five hours, although its local mean time was 4:56:02 behind
        (rows.SqlDate(-62_135_751_600_000), ZoneInfo("America/New_York"), datetime.date(1, 1, 1)),
        (rows.SqlDate(-86_400_000), UTC, datetime.date(1969, 12, 31)),
        # a day that begins at one o'clock, because daylight saving time begins at midnight
        (rows.SqlDate(1_541_300_400_000), ZoneInfo("America/Sao_Paulo"), datetime.date(2018, 11, 4)),
        (rows.Time(-1), UTC, datetime.time(23, 59, 59, 999_000)),
        (rows.LocalDate(2020, 2, 29), UTC, datetime.date(2020, 2, 29)),
        (rows.LocalTime(1_500), UTC, datetime.time(0, 0, 0, 1)),
        (rows.LocalDateTime(rows.LocalDate(2020, 1, 1), rows.LocalTime(0)), UTC, datetime.datetime(2020, 1, 1)),
        (rows.MapValue((("a", rows.Time(0)),)), UTC, {"a": datetime.time()}),
        (rows.MapValue(((rows.MapValue(()), 1),)), UTC, [({}, 1)]),
        (rows.EnumValue(1, 0, "RED"), UTC, "RED"),
        ([rows.Time(0), None], UTC, [datetime.time(), None]),
    ],
)
def test_values(value: object, zone: ZoneInfo, expected: object) -> None:
    found = to_python(value, zone)
    assert (found.replace(tzinfo=None) if isinstance(found, datetime.datetime) and found.year == 9999 else found) == expected


@pytest.mark.parametrize("value", [rows.Timestamp(1 << 40, 0), rows.SqlDate(1 << 60), rows.LocalDate(-1, 1, 1)])
def test_a_value_that_python_does_not_have_is_an_error(value: object) -> None:
    with pytest.raises(dbapi.DataError, match="Python's datetime has no"):
        to_python(value, UTC)


def test_a_date_of_another_time_zone_is_an_error() -> None:
    with pytest.raises(dbapi.DataError, match=r"not midnight in time zone UTC.*Set time_zone in the Ignite connection"):
        to_python(rows.SqlDate(-3_600_000), UTC)
