"""Filter of a cache's entries by a condition, a user's function, or both."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask
from ...common.heartbeat import beat
from ...common.redaction import in_message
from ...common.user_functions import MaskFunction
from ...errors import IgniteKafkaError, ProgramFault, UnsupportedType
from ...ignite.binary import EntryGroup, decode_arrays, decode_entries, kept_rows
from ...ignite.types.model import CacheInfo, Page, TypeSource
from ...sql import parse_condition
from ...sql.syntax import columns_of
from .columns import (
    KEY,
    TIMESTAMP,
    TYPE,
    VALUE,
    ColumnLookup,
    NeededColumns,
    OfRecords,
    check_absent,
    columns_of_group,
    declared_fields,
    no_column,
)
from .declared_types import check_declared
from .evaluate import check_constants, evaluate
from .failed_rows import Decided
from .failures import condition_failed

log = logging.getLogger(__name__)

NO_RECORDS: OfRecords = MappingProxyType({})


class EntryFilter:
    """Filter of entries by a condition, a user's function, or both; threads may share it.

    :param where: condition in Spark SQL; empty: none. A constant without a value, such as 1 / 0, raises
        UnsupportedType.
    :param function: function that gets a batch with all columns of the entries that meet the condition, and returns a
        flag for each entry; None for no function.
    """

    def __init__(self, where: str, function: MaskFunction | None = None, date_zone: str = "UTC") -> None:
        self._condition = parse_condition(where) if where else None
        if self._condition is not None:
            check_constants(self._condition)
        self._columns = list(dict.fromkeys(columns_of(self._condition))) if self._condition is not None else []
        self._needed = NeededColumns.of(self._columns)
        self._function = function
        self._date_zone = date_zone

    @property
    def needs_times(self) -> bool:
        """Whether the condition needs the timestamps of the Kafka records."""
        return any(column.path[0].lower() == TIMESTAMP for column in self._columns)

    def check(self, cache: CacheInfo, types: TypeSource) -> None:
        """Check, before the first entry, whether the condition suits the types declared for the cache.

        :raises UnsupportedType: no declared type has a column, or the condition cannot compare a column of its type.
        """
        declared = declared_fields(cache, types)
        for column in self._columns:
            name = column.path[0].lower()
            if declared and name not in (KEY, VALUE, TYPE) and name not in declared:
                raise no_column("where", column.path[0], cache.name, declared)
        if self._condition is not None:
            for entity in cache.query_entities:
                with naming_cache(cache.name):
                    check_declared(self._condition, replace(cache, query_entities=(entity,)), types)

    def of_pages(self, pages: Sequence[Page], cache: CacheInfo, types: TypeSource) -> Decided:
        """Decide which entries of the pages are kept; return a mask, and the errors of entries without a decision.

        :raises DecodeError: an entry's bytes are broken.
        :raises UnsupportedType: an entry lacks a column, or the condition cannot compare the type of its column.
        :raises ProgramFault: the function failed.
        """
        count = sum(page.rows for page in pages)
        needed = self._needed
        kept = np.ones(count, bool)
        errors = dict[int, IgniteKafkaError]()
        if self._condition is not None:
            groups = decode_entries(
                pages, cache, types, keys=needed.keys, values=needed.values, key_fields=needed.key,
                value_fields=needed.value,
                date_zone=self._date_zone,
            )  # fmt: skip
            kept, errors = self._where(groups, cache, types, count)
        if self._function is not None and kept.any():
            left = kept_rows(pages, kept, cache, types)
            kept[kept] = self._by_function(
                decode_entries(left, cache, types, date_zone=self._date_zone), int(kept.sum())
            )
        return kept, errors

    def of_arrays(
        self,
        keys: pa.BinaryArray,
        values: pa.BinaryArray,
        cache: CacheInfo,
        types: TypeSource,
        records: OfRecords = NO_RECORDS,
    ) -> Decided:
        """Decide which of N encoded entries are kept; return a mask, and the errors of entries without a decision.

        :param keys: keys in Ignite's binary format, not wrapped, none null; `values` likewise.
        :param records: columns of the entries' records.
        """
        kept = np.ones(len(keys), bool)
        errors = dict[int, IgniteKafkaError]()
        zone = self._date_zone
        if self._condition is not None:
            needed = self._needed
            groups = decode_arrays(
                keys, values, cache, types, key_fields=needed.key, value_fields=needed.value, date_zone=zone
            )
            kept, errors = self._where(groups, cache, types, len(keys), records)
        if self._function is not None and kept.any():
            left = pa.array(kept)
            kept_records = {name: column.filter(left) for name, column in records.items()}
            groups = decode_arrays(keys.filter(left), values.filter(left), cache, types, date_zone=zone)
            kept[kept] = self._by_function(groups, int(kept.sum()), kept_records)
        return kept, errors

    def _where(
        self,
        groups: Sequence[EntryGroup],
        cache: CacheInfo,
        types: TypeSource,
        count: int,
        records: OfRecords = NO_RECORDS,
    ) -> Decided:
        assert self._condition is not None
        kept = np.zeros(count, bool)
        errors = dict[int, IgniteKafkaError]()
        for group in groups:
            absent = functools.partial(check_absent, "where", group, cache, types)
            lookup = ColumnLookup(columns_of_group(group, records), len(group.rows), absent)
            with naming_cache(cache.name):
                result = evaluate(self._condition, lookup, len(group.rows))
            kept[group.rows] = np.asarray(result.values.fill_null(False))
            if result.failure is not None:
                for at in np.flatnonzero(result.failure.rows).tolist():
                    errors[int(group.rows[at])] = condition_failed(result.failure.why(at), cache.name)
        return kept, errors

    def _by_function(self, groups: Sequence[EntryGroup], count: int, records: OfRecords = NO_RECORDS) -> Mask:
        assert self._function is not None
        kept = np.zeros(count, bool)
        for group in groups:
            columns = columns_of_group(group, records)
            batch = pa.RecordBatch.from_arrays([array for array, _ in columns.values()], schema=_schema(columns))
            kept[group.rows] = _call(self._function, batch)
        return kept


@contextmanager
def naming_cache(cache: str) -> Iterator[None]:
    """Return a context that adds the cache's name to the error UnsupportedType."""
    try:
        yield
    except UnsupportedType as error:
        raise UnsupportedType(error.what, error.remedy, **{"cache": cache} | error.where) from error


def _schema(columns: dict[str, tuple[pa.Array, pa.Field]]) -> pa.Schema:
    return pa.schema([field.with_name(name) for name, (_, field) in columns.items()])


def _call(function: MaskFunction, batch: pa.RecordBatch) -> Mask:
    """Call the user's filter function on a batch; return its result as a mask, null counted as false.

    :raises ProgramFault: the function failed, or did not return N flags.
    """
    beat()
    try:
        returned = function(batch)
        mask = pa.array(returned, pa.bool_()) if not isinstance(returned, pa.Array | pa.ChunkedArray) else returned
        mask = mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask
    except (IgniteKafkaError, MemoryError):
        raise
    except Exception as error:  # whatever the user's code raises
        log.exception("the function of setting filter failed")
        what = f"the function of setting filter failed with {type(error).__name__}: {in_message(error)}"
        raise ProgramFault(
            what, "Correct the function; the traceback is in the log of the executor.", setting="filter"
        ) from error
    if not pa.types.is_boolean(mask.type) or len(mask) != batch.num_rows:
        what = (
            f"the function of setting filter returned {len(mask)} values of type {mask.type} for {batch.num_rows} rows"
        )
        raise ProgramFault(what, "Return one boolean for each row of the batch.", setting="filter")
    return np.asarray(mask.fill_null(False)).astype(bool)
