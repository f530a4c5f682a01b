"""Encoding of SQL statements and parsing of their results (ops 2004 and 2005).

Rows have the values of the row decoder.

Source: `ClientCacheSqlFieldsQueryRequest`, `ClientCacheSqlFieldsQueryResponse` and `ClientCacheQueryNextPageResponse`
in apache/ignite.
"""

from __future__ import annotations

import datetime
import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from ..common.time_zones import DAY_MS, UTC, epoch_offset_ms, midnights
from ..java.calendar import FIRST_OF_ZONES, day_of, first_offset
from . import protocol
from .binary.decode_rows import decode_values
from .binary.encode_scalars import decimal_bytes, sql_date_bytes
from .protocol import Reader
from .types import type_codes as codes
from .types.model import TypeSource

PAGE_ROWS = 1_024
_ANY_STATEMENT = 0
_KEEP_BINARY = 1
_LONGS = range(-(1 << 63), 1 << 63)
_EPOCH = datetime.date(1970, 1, 1)
_MIDNIGHT = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MILLISECOND = datetime.timedelta(milliseconds=1)


@dataclass(frozen=True)
class SqlPage:
    """Page of rows in the result of an SQL statement.

    :param rows: values of the row decoder (`binary/row_values.py`).
    :param codes: type code of each column's first value that is not null; `type_codes.NULL` for a column of nulls.
    :param more: there are further pages.
    """

    rows: list[list[Any]]
    codes: list[int]
    more: bool


@dataclass(frozen=True)
class SqlResult:
    """Result of an SQL statement: cursor id on the node, column names, and the first page of rows."""

    cursor: int
    names: list[str]
    page: SqlPage


def request(
    statement: str, arguments: Sequence[bytes] = (), *, schema: str | None = None, page_rows: int = PAGE_ROWS
) -> bytes:
    """Encode the request that executes an SQL statement (op 2004).

    :param arguments: values of the statement's ``?``, each with its type code; see :func:`argument`.
    :param schema: SQL schema of table names without a schema; None: PUBLIC.
    """
    head = (
        struct.pack("<iB", 0, _KEEP_BINARY)
        + protocol.string(schema)
        + struct.pack("<ii", page_rows, -1)
        + protocol.string(statement)
    )
    values = struct.pack("<i", len(arguments)) + b"".join(arguments)
    return head + values + struct.pack("<B6?q?", _ANY_STATEMENT, *(False,) * 6, 0, True)


def page_request(cursor: int) -> bytes:
    """Encode the request for the next page of a cursor (op 2005), or to close the cursor."""
    return struct.pack("<q", cursor)


def read_result(body: memoryview, types: TypeSource) -> SqlResult:
    """Parse the result of an SQL statement (reply to op 2004).

    :param types: metadata of binary types, for columns of objects.
    :raises DecodeError, UnsupportedType: see :func:`~.binary.decode_rows.decode_values`.
    """
    reader = Reader(body)
    cursor = reader.int64()
    names = [reader.text() or "" for _ in range(reader.int32())]
    return SqlResult(cursor, names, read_page(body[reader.position :], len(names), types))


def read_page(body: memoryview, columns: int, types: TypeSource) -> SqlPage:
    """Parse a page of rows, from a reply to op 2005 or the end of one to op 2004."""
    count = Reader(body).int32()
    values, type_codes, end = decode_values(body, 4, count * columns, types)
    rows = [values[first : first + columns] for first in range(0, len(values), columns)] if columns else []
    seen = [
        next((code for code in type_codes[column::columns] if code != codes.NULL), codes.NULL)
        for column in range(columns)
    ]
    return SqlPage(rows, seen, Reader(body, end).boolean())


def argument(value: object, zone: str = UTC) -> bytes:
    """Encode a Python value as an argument of an SQL statement.

    :param zone: time zone of the nodes, for a datetime without a time zone and for the midnight of a java.sql.Date.
    :raises ValueError: SQL has no such value; the message does not show it.
    """
    if value is None:
        return bytes([codes.NULL])
    if isinstance(value, bool):
        return struct.pack("<B?", codes.BOOL, value)
    if isinstance(value, int):
        return struct.pack("<Bq", codes.LONG, value) if value in _LONGS else decimal_bytes(Decimal(value))
    if isinstance(value, float):
        return struct.pack("<Bd", codes.DOUBLE, value)
    if isinstance(value, str):
        return protocol.string(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return struct.pack("<Bi", codes.BYTE_ARRAY, len(bytes(value))) + bytes(value)
    if isinstance(value, Decimal) and value.is_finite():
        return decimal_bytes(value)
    if isinstance(value, uuid.UUID):
        return struct.pack("<BQQ", codes.UUID, value.int >> 64, value.int & 0xFFFF_FFFF_FFFF_FFFF)
    return _temporal(value, zone)


def _temporal(value: object, zone: str) -> bytes:
    if isinstance(value, datetime.datetime):
        info = ZoneInfo(zone)
        local = value.astimezone(info) if value.tzinfo else value.replace(tzinfo=info)
        early = local.replace(tzinfo=None) < FIRST_OF_ZONES
        ahead = first_offset(info) if early else local.utcoffset() or datetime.timedelta()
        of_day = datetime.datetime.combine(_EPOCH, local.time()) - _MIDNIGHT - ahead
        millis, micros = divmod((datetime.timedelta(days=day_of(local.date())) + of_day) // _MICROSECOND, 1_000)
        return struct.pack("<Bqi", codes.TIMESTAMP, millis, micros * 1_000)
    if isinstance(value, datetime.date):
        if value < FIRST_OF_ZONES.date():
            return sql_date_bytes(day_of(value) * DAY_MS - first_offset(ZoneInfo(zone)) // _MILLISECOND)
        return sql_date_bytes(int(midnights(np.array([day_of(value)]), zone)[0]))
    if isinstance(value, datetime.time) and value.tzinfo is None:
        of_day = datetime.datetime.combine(_EPOCH, value) - _MIDNIGHT
        return struct.pack("<Bq", codes.TIME, of_day // _MILLISECOND - epoch_offset_ms(zone))
    raise ValueError(f"SQL has no parameter of type {type(value).__name__}, or not this value of it")
