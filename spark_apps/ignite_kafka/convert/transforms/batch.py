"""Batches of records as transforms receive and return them.

A batch is the counterpart of Kafka Connect's ``ConnectRecord`` for many records with the same schemas and the same
names of headers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from ...common.arrays import Int32Array, Int64Array, Mask, RowIndex
from ..connect.columns import ConnectColumn

NO_TIME = -1
"""Timestamp of records that have none."""


@dataclass(frozen=True)
class Header:
    """A header of N records with one schema, and its N values.

    :param unread: whether the converter cannot read the values: then the column has the reason for each value, and only
        a step that uses the header fails.
    """

    name: str
    column: ConnectColumn
    unread: bool = False


@dataclass(frozen=True)
class Position:
    """Topic partitions and offsets of N records read by a sink; a source's records have none yet."""

    partitions: Int32Array
    offsets: Int64Array


@dataclass(frozen=True)
class ConnectBatch:
    """N records with one key schema, one value schema, and headers of equal names, order and schemas.

    Values without a schema are JSON texts (``pa.binary()``), as in :class:`~..connect.columns.ConnectColumn`, or,
    between the transforms of a chain, the texts of the members of objects (:mod:`.json_objects`); an Arrow null is
    Java's null. A column of only nulls may have any type; its schema is None for Kafka Connect's null schema.

    :param rows: N rows (int64, ascending) in the first batch of a chain, so that the chain's results can be ordered.
    :param topics: N names (``pa.string()``).
    :param times_ms: N timestamps in milliseconds since 1970; :data:`NO_TIME` for a record without a time.
    """

    rows: RowIndex
    key: ConnectColumn
    value: ConnectColumn
    topics: pa.StringArray
    times_ms: Int64Array
    headers: tuple[Header, ...] = ()
    position: Position | None = None

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class BadRow:
    """A record on which a transform threw an exception.

    :param row: row of the record in the first batch of the chain.
    :param exception: name of the Java class, such as ``org.apache.kafka.connect.errors.DataException``.
    :param reason: Kafka Connect's message.
    :param transform: alias of the transform in the settings; empty until the chain sets it.
    """

    row: int
    exception: str
    reason: str
    transform: str = ""


@dataclass(frozen=True)
class Transformed:
    """Result of a transform: batches of records, failed rows; rows in neither were dropped."""

    batches: tuple[ConnectBatch, ...]
    bad: tuple[BadRow, ...] = ()


class Transform(Protocol):
    """Interface of a transform with its configuration; Java: org.apache.kafka.connect.transforms.Transformation.

    It is a pure function of the batch.
    """

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Transform all records of a batch; a record that fails is in the result's `bad`."""


class Predicate(Protocol):
    """Interface of a predicate with its configuration, as Kafka Connect's ``transforms.predicates.Predicate``."""

    def test(self, batch: ConnectBatch) -> Mask:
        """Return a mask of the records that satisfy the predicate.

        :raises Thrown: the predicate fails for a topic of the batch (:class:`~.thrown.Thrown`).
        """
