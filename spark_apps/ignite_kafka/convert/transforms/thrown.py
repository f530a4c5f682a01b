"""Exceptions as Kafka Connect throws them for records, collected so that the other records still pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask, RowIndex
from ..connect.schema import DATE, DECIMAL, TIME, TIMESTAMP, ConnectSchema, ConnectType
from .batch import BadRow

_ERRORS = "org.apache.kafka.connect.errors"
DATA_EXCEPTION = f"{_ERRORS}.DataException"
CONNECT_EXCEPTION = f"{_ERRORS}.ConnectException"
SCHEMA_BUILDER_EXCEPTION = f"{_ERRORS}.SchemaBuilderException"
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
NULL_POINTER = "java.lang.NullPointerException"

_LOGICAL = {
    DATE: "java.util.Date",
    TIME: "java.util.Date",
    TIMESTAMP: "java.util.Date",
    DECIMAL: "java.math.BigDecimal",
}
_CLASSES = {
    ConnectType.INT8: "java.lang.Byte", ConnectType.INT16: "java.lang.Short", ConnectType.INT32: "java.lang.Integer",
    ConnectType.INT64: "java.lang.Long", ConnectType.FLOAT32: "java.lang.Float",
    ConnectType.FLOAT64: "java.lang.Double",
    ConnectType.BOOLEAN: "java.lang.Boolean", ConnectType.STRING: "java.lang.String", ConnectType.BYTES: "[B",
    ConnectType.ARRAY: "java.util.ArrayList", ConnectType.MAP: "java.util.HashMap",
    ConnectType.STRUCT: "org.apache.kafka.connect.data.Struct",
}  # fmt: skip


class Thrown(Exception):
    """Exception that Kafka Connect would throw for one record or for all records of a schema.

    :param exception: name of the exception's Java class.
    """

    def __init__(self, reason: str, exception: str = DATA_EXCEPTION) -> None:
        super().__init__(reason)
        self.reason = reason
        self.exception = exception


class Failures:
    """Failed records among N records, each with its first exception."""

    def __init__(self, count: int) -> None:
        self.bad: Mask = np.zeros(count, bool)
        self._thrown: dict[int, tuple[str, str]] = {}

    def add(
        self, mask: Mask | pa.BooleanArray, reason: str | Callable[[int], str], exception: str = DATA_EXCEPTION
    ) -> None:
        """Add an exception for the records of a mask; a record keeps its first exception.

        :param reason: the message, or a function that returns the message for a record's position.
        """
        for row in np.flatnonzero(np.asarray(mask) & ~self.bad).tolist():
            self._thrown[row] = exception, reason if isinstance(reason, str) else reason(row)
            self.bad[row] = True

    def add_of(self, part: Failures, rows: RowIndex) -> None:
        """Add the failures of some of the records, which have rows `rows` here; a record keeps its first exception."""
        for place, thrown in part._thrown.items():
            row = int(rows[place])
            if not self.bad[row]:
                self._thrown[row], self.bad[row] = thrown, True

    def add_all(self, error: Thrown) -> None:
        """Add an exception for all records; a record keeps its first exception."""
        self.add(np.ones(len(self.bad), bool), error.reason, error.exception)

    def bad_rows(self, rows: RowIndex) -> tuple[BadRow, ...]:
        """Return the failed records, with their rows in the chain's first batch."""
        return tuple(BadRow(int(rows[place]), *self._thrown[place]) for place in sorted(self._thrown))


def is_logical(schema: ConnectSchema) -> bool:
    """Return whether a schema is a date, time, timestamp or decimal."""
    return schema.name in _LOGICAL


def java_class(schema: ConnectSchema) -> str:
    """Return the Java class of a schema's values, as messages name it."""
    return _LOGICAL.get(schema.name or "") or _CLASSES[schema.type]
