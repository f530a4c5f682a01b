"""SQL of a real node by IgniteHook: values as a Java thin client has them, and the operators of the common SQL provider."""

from __future__ import annotations

import datetime
import json
import re
import struct
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import polars as pl
import pyignite
import pytest
from airflow.providers.common.compat.sdk import AirflowException
from airflow.providers.common.sql.operators.sql import (
    SQLCheckOperator,
    SQLColumnCheckOperator,
    SQLExecuteQueryOperator,
    SQLTableCheckOperator,
)
from airflow.providers.common.sql.sensors.sql import SqlSensor

from airflow_provider_ignite_kafka import dbapi
from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from ignite_kafka.common.python_compat import UTC
from tests.support import QUICK_JVM
from tests.support.java_programs import IGNITE_CLIENT_JVM, SOURCES, compile_java
from tools.servers import IgniteCluster, Jars
from tools.servers.jars import java_command

TABLE = """
CREATE TABLE t (id INT PRIMARY KEY, ti TINYINT, si SMALLINT, i INT, bi BIGINT, r REAL, d DOUBLE, de DECIMAL(60, 10), b BOOLEAN, c CHAR(5),
v VARCHAR, u UUID, da DATE, tm TIME, ts TIMESTAMP, bn BINARY(10))
"""
ROWS = [
    """1, -128, -32768, -2147483648, -9223372036854775808, 1.5, -2.25, -12345678901234567890123456789012345678.0123456789, TRUE, 'ab',
    'été😀', '12345678-1234-5678-1234-567812345678', DATE '1969-12-31', TIME '23:59:59', TIMESTAMP '1969-12-31 23:59:59.123456', X'00FF'""",
    "2" + ", NULL" * 15,
    """3, 127, 32767, 2147483647, 9223372036854775807, 3.4028235E38, 1.7976931348623157E308, 1.50, FALSE, '', '',
    '00000000-0000-0000-0000-000000000000', DATE '0001-01-01', TIME '00:00:00', TIMESTAMP '0001-01-01 00:00:00', X''""",
    """4, 0, 0, 0, 0, 0, 0, 0.00, FALSE, 'x', 'y', 'ffffffff-ffff-ffff-ffff-ffffffffffff', DATE '9999-12-31', TIME '12:34:56',
    TIMESTAMP '9999-12-31 23:59:59.999999', X'01'""",
    """5, 1, 1, 1, 1, 1, 1, -0.01, TRUE, 'x', 'y', 'ffffffff-ffff-ffff-ffff-ffffffffffff', DATE '1582-10-04', TIME '12:34:56',
    TIMESTAMP '1500-02-28 12:00:00.5', X'01'""",
]
KINDS = re.findall(
    r"\w+", "INTEGER TINYINT SMALLINT INTEGER BIGINT REAL DOUBLE DECIMAL BOOLEAN VARCHAR VARCHAR UUID DATE TIME TIMESTAMP BINARY VARCHAR"
)
QUERY = "SELECT t.*, CAST(ts AS VARCHAR) AS text FROM t ORDER BY id"
INTEGERS = {"TINYINT": "byte", "SMALLINT": "short", "INTEGER": "int", "BIGINT": "long"}


@pytest.fixture(scope="module", params=["UTC", "America/New_York"])
def zone(request: pytest.FixtureRequest) -> str:
    """Time zone of node and Java client."""
    return request.param


@pytest.fixture(scope="module")
def node(jars: Jars, tmp_path_factory: pytest.TempPathFactory, zone: str) -> Iterator[IgniteCluster]:
    options = (*QUICK_JVM, f"-Duser.timezone={zone}")
    with IgniteCluster(tmp_path_factory.mktemp("sql"), jars=jars, java_options=options) as started:
        with pytest.MonkeyPatch.context() as patch:
            hook = _hook(patch, started, zone)
            hook.run([TABLE, *(f"INSERT INTO t VALUES ({row})" for row in ROWS)])
        yield started


@pytest.fixture
def hook(node: IgniteCluster, zone: str, monkeypatch: pytest.MonkeyPatch) -> IgniteHook:
    return _hook(monkeypatch, node, zone)


def _hook(monkeypatch: pytest.MonkeyPatch, node: IgniteCluster, zone: str) -> IgniteHook:
    host, port = node.address.split(":")
    connection = {"conn_type": "ignite", "host": host, "port": int(port), "extra": {"time_zone": zone}}
    monkeypatch.setenv("AIRFLOW_CONN_SQL", json.dumps(connection))
    return IgniteHook("sql")


@pytest.fixture(scope="module")
def java(node: IgniteCluster, jars: Jars, zone: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[list[str]]]:
    """``java(query)``: rows of a Java thin client, each value as of TypeText.text."""
    classes = tmp_path_factory.mktemp("classes")
    compile_java([SOURCES / "ReadTypes.java"], jars.thin_client, classes)

    def ask(query: str) -> list[list[str]]:
        options = [*IGNITE_CLIENT_JVM, f"-Duser.timezone={zone}"]
        command = java_command("ReadTypes", [node.address, "compact", "sql", "SQL_PUBLIC_T", query], [classes, jars.thin_client], options)
        done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
        return [[value.partition("=")[2] for value in line.split("\t")] for line in done.stdout.splitlines()]

    return ask


def text(kind: str, value: Any) -> str:
    """A value of the hook as TypeText.text has Java's."""
    if value is None:
        return "null"
    if kind in INTEGERS:
        return f"{INTEGERS[kind]}:{value}"
    if kind == "REAL":
        return f"float:{struct.unpack('>I', struct.pack('>f', value))[0]:x}"
    if kind == "DOUBLE":
        return f"double:{struct.unpack('>Q', struct.pack('>d', value))[0]:x}"
    if kind == "DECIMAL":
        sign, digits, exponent = value.as_tuple()
        return f"dec:{int(''.join(map(str, digits))) * (-1 if sign else 1)}:{-exponent}"
    if kind == "VARCHAR":
        return f"str:{value.encode().hex()}"
    forms = {"BOOLEAN": f"bool:{str(value).lower()}", "UUID": f"uuid:{value}", "DATE": f"sqldate:{value}"}
    return forms[kind] if kind in forms else f"bytes:{value.hex()}"


def shown(time: str) -> tuple[str, str]:
    """A time without zeros at the end of its fraction."""
    seconds, _, fraction = time.partition(".")
    return seconds, fraction.rstrip("0")


def test_values_are_those_of_a_java_client(hook: IgniteHook, java: Callable[[str], list[list[str]]], zone: str) -> None:
    rows = hook.get_records(QUERY)
    assert [str(column[1]) for column in hook.last_description or ()] == KINDS
    for row, expected in zip(rows, java(QUERY), strict=True):
        for kind, value, of_java, column in zip(KINDS, row, expected, hook.last_description or (), strict=True):
            if kind == "TIME" and value is not None:
                since = datetime.datetime.fromtimestamp(int(of_java.partition(":")[2]) / 1000, UTC)
                offset = datetime.timedelta(hours=-5) if zone != "UTC" else datetime.timedelta()
                assert value == (since + offset).time()
            elif kind == "TIMESTAMP" and value is not None:
                assert value.utcoffset() is not None
                seconds, nanos = map(int, of_java.split(":")[1:])
                if 1900 < value.year < 9999:  # Python has the same time zones and calendar, and room for the time in UTC
                    since = datetime.datetime(1970, 1, 1, tzinfo=UTC) + datetime.timedelta(0, seconds, nanos // 1000)
                    assert value == since
                assert shown(value.replace(tzinfo=None).isoformat(" ")) == shown(row[-1]), "what SQL itself shows"
            else:
                assert text(kind, value) == of_java, column


def test_parameters_keep_their_types(hook: IgniteHook) -> None:
    given = [
        2**40,
        2**70,
        1.5,
        Decimal("-1.50"),
        Decimal("1E+3"),
        "été😀",
        b"\0\xff",
        uuid.UUID(int=5),
        datetime.date(1969, 12, 31),
        datetime.time(23, 59, 59),
        True,
        None,
        datetime.date(1500, 2, 28),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    ]
    [row] = hook.get_records(f"SELECT {', '.join('?' * len(given))}", given)
    assert list(row) == given
    assert str(row[3]) == "-1.50"
    assert hook.get_first("SELECT id FROM t WHERE da = ?", [datetime.date(1969, 12, 31)]) == (1,)
    assert hook.get_first("SELECT id FROM t WHERE tm = ?", [datetime.time(23, 59, 59)]) == (1,)
    assert hook.get_first("SELECT id FROM t WHERE ts = ?", [datetime.datetime(1969, 12, 31, 23, 59, 59, 123_456)]) == (1,)


def test_statements_and_their_results(hook: IgniteHook) -> None:
    statements = "CREATE TABLE s (id INT PRIMARY KEY, v VARCHAR); INSERT INTO s VALUES (1, 'a'); SELECT v FROM s;"
    assert hook.run(statements, split_statements=True, handler=lambda cursor: cursor.description and cursor.fetchall()) == [("a",)]
    assert hook.run(["UPDATE s SET v = 'b'", "SELECT v FROM s"], handler=lambda cursor: cursor.rowcount) == [1, -1]
    hook.insert_rows("s", [(2, "c"), (3, None)], target_fields=["id", "v"])
    hook.insert_rows("s", [(2, "d")], target_fields=["id", "v"], replace=True)
    assert hook.get_records("SELECT id, v FROM s ORDER BY id") == [(1, "b"), (2, "d"), (3, None)]
    assert hook.run("SELECT 7 AS updated", handler=lambda cursor: cursor.fetchall()) == [(7,)]
    with closing(hook.get_conn()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT x FROM system_range(1, 3000)")
        assert cursor.fetchmany(2) == [(1,), (2,)]
        assert [x for (x,) in cursor.fetchall()] == list(range(3, 3001))
        assert cursor.fetchone() is None
        cursor.execute("SELECT x FROM system_range(1, 3000)")  # closed before its end
    with pytest.raises(dbapi.InterfaceError, match="closed"):
        connection.cursor().execute("SELECT 1")
    hook.run("DROP TABLE s")


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT nope FROM t", dbapi.ProgrammingError),
        ("SELECT FROM", dbapi.ProgrammingError),
        ("SELECT ?", dbapi.ProgrammingError),
        ("INSERT INTO t (id) VALUES (1)", dbapi.IntegrityError),
        ("INSERT INTO t (id) VALUES (NULL)", dbapi.IntegrityError),
        ("SELECT 1; SELECT 2", dbapi.NotSupportedError),
    ],
)
def test_errors_are_those_of_the_db_api(hook: IgniteHook, statement: str, kind: type[dbapi.Error]) -> None:
    with pytest.raises(kind):
        hook.run(statement)


def test_frames(hook: IgniteHook) -> None:
    query = "SELECT id, de, da, v FROM t WHERE id <= ? ORDER BY id"
    frame = hook.get_df(query, [3])
    assert frame["DE"].tolist() == [Decimal("-12345678901234567890123456789012345678.0123456789"), None, Decimal("1.50")]
    assert [len(part) for part in hook.get_df_by_chunks(query, [3], chunksize=2)] == [2, 1]
    polars = hook.get_df("SELECT id, bi, da, v FROM t WHERE id <= ? ORDER BY id", [3], df_type="polars")
    assert polars.schema == {"ID": pl.Int64, "BI": pl.Int64, "DA": pl.Date, "V": pl.String}
    assert polars["DA"].to_list() == [datetime.date(1969, 12, 31), None, datetime.date(1, 1, 1)]
    assert hook.get_df("SELECT de FROM t WHERE id = ?", [3], df_type="polars")["DE"].to_list() == [Decimal("1.50")]


def test_the_connection_is_a_pyignite_client(hook: IgniteHook) -> None:
    with closing(hook.get_conn()) as client:
        assert isinstance(client, pyignite.Client)
        cache = client.get_or_create_cache("kv")
        cache.put("k", 1)
        assert cache.get("k") == 1
    assert "kv" in hook.get_cache_names()


def test_operators_of_the_common_sql_provider(hook: IgniteHook) -> None:
    context: Any = {}
    query = SQLExecuteQueryOperator(task_id="q", conn_id="sql", sql="SELECT de FROM t WHERE id = ?", parameters=[3])
    assert query.execute(context) == [(Decimal("1.50"),)]
    SQLCheckOperator(task_id="c", conn_id="sql", sql="SELECT COUNT(*) FROM t").execute(context)
    with pytest.raises(AirflowException):
        SQLCheckOperator(task_id="c", conn_id="sql", sql="SELECT COUNT(*) FROM t WHERE id = 0").execute(context)
    columns = {"id": {"null_check": {"equal_to": 0}, "unique_check": {"equal_to": 0}, "max": {"geq_to": 5}}}
    SQLColumnCheckOperator(task_id="cc", conn_id="sql", table="t", column_mapping=columns).execute(context)
    SQLTableCheckOperator(task_id="tc", conn_id="sql", table="t", checks={"rows": {"check_statement": "COUNT(*) >= 5"}}).execute(context)
    with pytest.raises(AirflowException):
        SQLTableCheckOperator(task_id="tc", conn_id="sql", table="t", checks={"rows": {"check_statement": "COUNT(*) = 0"}}).execute(context)
    for number, there in ((1, True), (0, False)):
        given: Any = [number]  # any iterable, although it is annotated as a mapping
        sensor = SqlSensor(task_id="s", conn_id="sql", sql="SELECT COUNT(*) FROM t WHERE id = ?", parameters=given)
        assert sensor.poke(context) is there


def test_objects_are_dicts(hook: IgniteHook) -> None:
    with closing(hook.get_conn()) as connection, connection.cursor() as cursor:
        [(value,)] = cursor.execute("SELECT _val FROM t WHERE id = 3").fetchall()
    assert value["DE"] == Decimal("1.50")
    assert value["DA"] == datetime.date(1, 1, 1)


def test_a_wrong_time_zone_is_no_wrong_date(node: IgniteCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(dbapi.DataError, match="Set time_zone in the Ignite connection"):
        _hook(monkeypatch, node, "Asia/Tokyo").get_records("SELECT da FROM t WHERE id = 1")


@pytest.mark.usefixtures("hook")
def test_a_schema_for_names_without_one() -> None:
    assert IgniteHook("sql", schema="SYS").get_first("SELECT COUNT(*) FROM tables WHERE table_name = 'T'") == (1,)
