"""Growth of SQL tables by ALTER TABLE ADD COLUMN, and the SQL types of binary fields.

Source: https://ignite.apache.org/docs/latest/sql-reference/ddl, and data-types beside it.
"""

from __future__ import annotations

from types import MappingProxyType

from ..errors import WriteFailed
from . import protocol, sql_query
from .cluster import Cluster
from .protocol import ThinError
from .sql_views import quote
from .types import type_codes as codes

SQL_TYPES = MappingProxyType(
    {
        codes.BYTE: "TINYINT",
        codes.SHORT: "SMALLINT",
        codes.INT: "INT",
        codes.LONG: "BIGINT",
        codes.FLOAT: "REAL",
        codes.DOUBLE: "DOUBLE",
        codes.BOOL: "BOOLEAN",
        codes.STRING: "VARCHAR",
        codes.UUID: "UUID",
        codes.DATE: "TIMESTAMP",  # java.util.Date; of java.sql.Date, which has this code too, the field alone says more
        codes.TIMESTAMP: "TIMESTAMP",
        codes.TIME: "TIME",
        codes.DECIMAL: "DECIMAL",
        codes.BYTE_ARRAY: "VARBINARY",
    }
)
"""SQL type of a new column by the type code of its binary field; other fields are objects to SQL, and get no column."""
DAY = "DATE"
"""SQL type of java.sql.Date."""
REMEDY = (
    "Give the user the right to read and alter tables, or add the columns yourself; with schema_contract store a field "
    "is stored without a column"
)
"""Remedy of a table that does not grow."""


def add_column(cluster: Cluster, schema: str, table: str, column: str, sql_type: str) -> None:
    """Add a column to an SQL table, unless the table has a column of this name.

    The statement may be repeated, and sent by several clients at once.

    :raises WriteFailed: the cluster did not add the column; the message says why.
    """
    names = f"{quote(schema)}.{quote(table)} ADD COLUMN IF NOT EXISTS {quote(column)}"
    statement = sql_query.request(f"ALTER TABLE {names} {sql_type}")
    try:
        cluster.ask(lambda connection: connection.request(protocol.QUERY_SQL_FIELDS, statement))
    except ThinError as error:
        what = f"Ignite did not add column {column!r} {sql_type} to an SQL table: {error.message}"
        raise WriteFailed(what, REMEDY, table=f"{schema}.{table}") from error
