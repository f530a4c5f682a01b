"""Python's DB-API 2.0 (PEP 249) for SQL of an Ignite cluster, over a pyignite client's connection.

The connection is :class:`~airflow_provider_ignite_kafka.hooks.pyignite_client.IgniteClient`, which
``IgniteHook.get_conn`` returns. The hooks import it, and tasks that catch its errors.
"""

from airflow_provider_ignite_kafka.dbapi.cursor import Cursor
from airflow_provider_ignite_kafka.dbapi.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from airflow_provider_ignite_kafka.dbapi.values import BINARY, DATETIME, NUMBER, ROWID, STRING

apilevel = "2.0"
threadsafety = 1  # threads may share the module, not connections
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "apilevel",
    "paramstyle",
    "threadsafety",
]
