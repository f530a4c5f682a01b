"""Frames of IgniteHook from rows that the test makes: types, parameters, chunks."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from airflow_provider_ignite_kafka.dbapi import Cursor
from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from ignite_kafka.common.python_compat import UTC
from ignite_kafka.ignite.sql_query import argument
from tests.unit.airflow.dbapi.test_cursor import Node, result

NAMES = ["ID", "PRICE", "DAY", "AT"]
LONG, SHORT = Decimal("-12345678901234567890.0123456789"), Decimal("1.50")
DAY, AT = datetime.date(1969, 12, 31), datetime.datetime(2020, 1, 1, tzinfo=UTC)
VALUES = (1, LONG, DAY, AT, 2, None, None, None, 3, SHORT, datetime.date(1, 1, 1), AT)


class Connection:
    """A connection to :class:`Node`."""

    autocommit = True

    def __init__(self) -> None:
        self.node = Node(result(NAMES, *VALUES))

    def cursor(self) -> Cursor:
        return Cursor(self.node)

    def commit(self) -> None:
        """As IgniteClient."""

    def close(self) -> None:
        """As IgniteClient."""


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> tuple[IgniteHook, Node]:
    connection: Any = Connection()
    made = IgniteHook()
    monkeypatch.setattr(made, "get_conn", lambda: connection)
    return made, connection.node


def test_pandas_keeps_decimals(hook: tuple[IgniteHook, Node]) -> None:
    frame = hook[0].get_df("SELECT * FROM t WHERE id < ?", [4])
    assert frame["PRICE"].tolist() == [LONG, None, SHORT]
    assert argument(4) in hook[1].asked[0][1]


def test_pandas_in_chunks(hook: tuple[IgniteHook, Node]) -> None:
    assert [len(frame) for frame in hook[0].get_df_by_chunks("SELECT * FROM t", chunksize=2)] == [2, 1]


def test_polars_has_types_of_values(hook: tuple[IgniteHook, Node]) -> None:
    frame = hook[0].get_df("SELECT * FROM t WHERE id < ?", [4], df_type="polars")
    types = dict(frame.schema)
    price = types.pop("PRICE")
    assert isinstance(price, pl.Decimal)
    assert price.scale == 10  # earlier versions of polars name no precision
    assert types == {"ID": pl.Int64, "DAY": pl.Date, "AT": pl.Datetime("us", "UTC")}
    assert frame["PRICE"].to_list() == [LONG, None, SHORT]
    assert frame["DAY"].to_list() == [DAY, None, datetime.date(1, 1, 1)]
    assert argument(4) in hook[1].asked[0][1]


def test_polars_in_chunks(hook: tuple[IgniteHook, Node]) -> None:
    frames = list(hook[0].get_df_by_chunks("SELECT * FROM t WHERE id < ?", [4], chunksize=2, df_type="polars"))
    assert [frame["ID"].to_list() for frame in frames] == [[1, 2], [3]]
