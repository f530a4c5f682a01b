"""Exceptions of the DB-API (PEP 249), and the choice of one for a node's error reply."""

from __future__ import annotations

import re

from ignite_kafka.ignite.protocol import SECURITY_VIOLATION, ThinError


class Error(Exception):
    """Base class of all errors of the DB-API.

    :attr row: number of the failed row, from 1, in a call for many rows; None: no single row failed.
    """

    row: int | None = None

    def __str__(self) -> str:
        return super().__str__() if self.row is None else f"row {self.row}: {super().__str__()}"


class InterfaceError(Error):
    """Error for wrong use of the DB-API, such as of a closed cursor."""


class DatabaseError(Error):
    """Error reported by the cluster."""


class DataError(DatabaseError):
    """Error for a value that Python or SQL cannot represent."""


class OperationalError(DatabaseError):
    """Error for a lost connection, a missing reply, or a missing permission.

    The statement's effect is unknown.
    """


class IntegrityError(DatabaseError):
    """Error for a key that already exists, or a null in a NOT NULL column."""


class InternalError(DatabaseError):
    """Error for a reply that cannot be decoded."""


class ProgrammingError(DatabaseError):
    """Error for a statement that cannot be parsed, has unknown names, or gets a wrong number of parameters."""


class NotSupportedError(DatabaseError):
    """Error for a function that Ignite's SQL lacks, such as a rollback."""


# the thin client protocol has one status for all SQL errors; their messages begin with the SQLSTATE (SqlStateCode in
# apache/ignite)
_BY_STATE: tuple[tuple[str, type[DatabaseError]], ...] = (
    ("22004", IntegrityError),  # null in a column that must not be null
    ("08", OperationalError),
    ("0A", NotSupportedError),
    ("22", DataError),
    ("23", IntegrityError),
    ("28", OperationalError),
    ("42", ProgrammingError),
    ("57", OperationalError),
)
_STATE = re.compile(r"([0-9A-Z]{5}): ")
_WRONG_COUNT = "Invalid number of query parameters"


def error_of(answer: ThinError) -> DatabaseError:
    """Choose the DB-API exception for a node's error reply, by its SQLSTATE."""
    state = _STATE.match(answer.message)
    kind = next((kind for begin, kind in _BY_STATE if state and state[1].startswith(begin)), DatabaseError)
    if answer.status == SECURITY_VIOLATION:
        kind = OperationalError
    elif _WRONG_COUNT in answer.message:
        kind = ProgrammingError
    return kind(answer.message)
