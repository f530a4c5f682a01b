"""DB-API cursor (PEP 249) over the thin client protocol, which fetches rows page by page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from airflow_provider_ignite_kafka.dbapi.errors import DataError, Error, InterfaceError, InternalError, ProgrammingError
from airflow_provider_ignite_kafka.dbapi.values import SqlType, sql_type, to_python
from ignite_kafka.common.python_compat import Self
from ignite_kafka.errors import DecodeError, UnsupportedType
from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.types.model import TypeSource

Column = tuple[str, SqlType | None, None, None, None, None, None]
Row = tuple[Any, ...]
# answer of a statement without result rows: one row of one column, with the number of changed rows
_COUNT = ["UPDATED"]
_QUERY = re.compile(
    r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(select|with|values|table|explain|show)\b", re.IGNORECASE | re.DOTALL
)


class Session(Protocol):
    """Interface to the connection, as far as a cursor uses it."""

    schema: str | None
    time_zone: ZoneInfo
    types: TypeSource

    def request(self, op: int, payload: bytes) -> memoryview:
        """Send a request to a node, and return the body of its reply.

        :raises Error: the answer is an error, or no answer came.
        """


class Cursor:
    """DB-API cursor (PEP 249); Ignite commits each statement by itself.

    :attr description: after a query, name and type of each column in the form of PEP 249; the type, such as
        ``DECIMAL``, is that of the values of the first page, or None without a value there. None after other
        statements.
    :attr rowcount: number of rows changed by the last statement; -1 after a query, whose rows are not counted.
    """

    arraysize = 1

    def __init__(self, connection: Session) -> None:
        self.connection = connection
        self.description: list[Column] | None = None
        self.rowcount = -1
        self._rows: Iterator[list[Any]] = iter(())
        self._cursor: int | None = None
        self._columns = 0
        self._closed = False

    def execute(self, operation: str, parameters: Sequence[Any] | None = None) -> Self:
        """Run one SQL statement.

        :param parameters: a value for each ``?``, in their order.
        :raises Error: see :mod:`.errors`.
        """
        self._check_open()
        self._end()
        return self._execute(operation, self._arguments(parameters))

    def _arguments(self, parameters: Sequence[Any] | None) -> list[bytes]:
        """Encode the parameters of a statement."""
        zone = self.connection.time_zone
        return [
            _argument(value, zone, f"parameter {position}") for position, value in enumerate(_listed(parameters), 1)
        ]

    def _execute(self, operation: str, arguments: Sequence[bytes]) -> Self:
        from ignite_kafka.ignite import sql_query  # imports pyarrow, which a web server must not load

        answer = self.connection.request(
            protocol.QUERY_SQL_FIELDS, sql_query.request(operation, arguments, schema=self.connection.schema)
        )
        try:
            result = sql_query.read_result(answer, self.connection.types)
        except (DecodeError, UnsupportedType) as error:
            raise _unreadable(error) from error
        if result.names == _COUNT and not _QUERY.match(operation):
            self.rowcount = int(result.page.rows[0][0]) if result.page.rows else 0
            return self
        firsts = [_first(result.page.rows, column) for column in range(len(result.names))]
        kinds = map(sql_type, result.page.codes, firsts)
        self.description = [
            (name, kind, None, None, None, None, None) for name, kind in zip(result.names, kinds, strict=True)
        ]
        self._columns = len(result.names)
        self._rows = iter(result.page.rows)
        self._cursor = result.cursor if result.page.more else None
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Sequence[Any]]) -> Self:
        """Run an SQL statement once for each list of parameters; ``rowcount`` is the sum.

        :raises DataError: SQL has no such parameter; then the statement is run with none of the lists.
        :raises Error: see :mod:`.errors`; the statement has been run with the earlier lists. The error has the number
            of the failed list.
        """
        self._check_open()
        rows = []
        changed = 0
        for number, parameters in enumerate(seq_of_parameters, 1):
            with _of_row(number):
                rows.append(self._arguments(parameters))
        for number, arguments in enumerate(rows, 1):
            with _of_row(number):
                self._end()
                self._execute(operation, arguments)
            changed += max(self.rowcount, 0)
        self.rowcount = changed
        return self

    def fetchone(self) -> Row | None:
        """Fetch the next row; None after the last."""
        self._check_fetchable()
        while (row := next(self._rows, None)) is None:
            if self._cursor is None:
                return None
            self._next_page(self._cursor)
        return tuple(to_python(value, self.connection.time_zone) for value in row)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Fetch at most `size` next rows (default: ``arraysize``)."""
        fetched: list[Row] = []
        for _ in range(self.arraysize if size is None else size):
            row = self.fetchone()
            if row is None:
                break
            fetched.append(row)
        return fetched

    def fetchall(self) -> list[Row]:
        """Fetch all remaining rows."""
        return list(self)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.fetchone, None)

    def close(self) -> None:
        """Close the cursor on the node, which releases its rows; further calls have no effect."""
        if not self._closed:
            self._end()
            self._closed = True

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing; PEP 249 requires the method, but values carry their types."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing; PEP 249 requires the method, but values of any size are fetched whole."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next_page(self, cursor: int) -> None:
        from ignite_kafka.ignite import sql_query

        answer = self.connection.request(protocol.QUERY_SQL_FIELDS_PAGE, sql_query.page_request(cursor))
        try:
            page = sql_query.read_page(answer, self._columns, self.connection.types)
        except (DecodeError, UnsupportedType) as error:
            raise _unreadable(error) from error
        self._rows = iter(page.rows)
        self._cursor = cursor if page.more else None

    def _end(self) -> None:
        cursor = self._cursor
        self._cursor = None
        self._rows = iter(())
        self.description = None
        self.rowcount = -1
        if cursor is not None:
            from ignite_kafka.ignite import sql_query

            self.connection.request(protocol.RESOURCE_CLOSE, sql_query.page_request(cursor))

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")

    def _check_fetchable(self) -> None:
        self._check_open()
        if self.description is None:
            raise InterfaceError("there are no rows to fetch: no statement was executed, or the last one is no query")


@contextmanager
def _of_row(number: int) -> Iterator[None]:
    """Context that adds a row number to errors raised inside."""
    try:
        yield
    except Error as error:
        error.row = number
        raise


def _listed(parameters: Sequence[Any] | None) -> Sequence[Any]:
    if parameters is None:
        return ()
    if isinstance(parameters, (str, bytes, Mapping)):
        raise ProgrammingError(
            "parameters must be a list with a value for each ?; Ignite's SQL has no parameters with names"
        )
    return list(parameters)


def _argument(value: Any, zone: ZoneInfo, where: str) -> bytes:
    from ignite_kafka.ignite import sql_query

    try:
        return sql_query.argument(value, zone.key)
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


def _first(rows: list[list[Any]], column: int) -> Any:
    return next((row[column] for row in rows if row[column] is not None), None)


def _unreadable(error: DecodeError | UnsupportedType) -> Exception:
    if isinstance(error, UnsupportedType):
        return DataError(f"{error.what}. Select a field of it, or CAST it")
    return InternalError(str(error))
