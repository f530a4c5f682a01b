"""Exceptions of PEP 249, and which of them an answer of a node is."""

from __future__ import annotations

import re

from ignite_kafka.ignite.protocol import SECURITY_VIOLATION, ThinError


class Error(Exception):
    """Base of all errors of the DB-API.

    :attr row: of a call for many rows, the number of the row that failed, from 1; None: of no row.
    """

    row: int | None = None

    def __str__(self) -> str:
        return super().__str__() if self.row is None else f"row {self.row}: {super().__str__()}"


class InterfaceError(Error):
    """The DB-API is used wrongly, such as a closed cursor."""


class DatabaseError(Error):
    """The cluster reports an error."""


class DataError(DatabaseError):
    """A value has no form in Python, or none in SQL."""


class OperationalError(DatabaseError):
    """The connection is lost, the node did not answer in time, or the user has no right.

    What the statement did is not known.
    """


class IntegrityError(DatabaseError):
    """A key exists already, or a column may not be null."""


class InternalError(DatabaseError):
    """The bytes of an answer cannot be read."""


class ProgrammingError(DatabaseError):
    """A statement cannot be parsed, names what does not exist, or has other parameters than it was given."""


class NotSupportedError(DatabaseError):
    """Ignite's SQL has no such function, such as a rollback."""


# the thin client protocol has one status for all errors of SQL; a message begins with the SQLSTATE (SqlStateCode in
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
    """The exception for a node's answer."""
    state = _STATE.match(answer.message)
    kind = next((kind for begin, kind in _BY_STATE if state and state[1].startswith(begin)), DatabaseError)
    if answer.status == SECURITY_VIOLATION:
        kind = OperationalError
    elif _WRONG_COUNT in answer.message:
        kind = ProgrammingError
    return kind(answer.message)
