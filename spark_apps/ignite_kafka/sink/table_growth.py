"""Growth of a cache's SQL tables with the fields of records, under schema contract `evolve`."""

from __future__ import annotations

from collections.abc import Container

from .. import events
from ..errors import TypeClash, WriteFailed
from ..ignite.alter_table import DAY, REMEDY, SQL_TYPES, add_column
from ..ignite.cluster import Cluster
from ..ignite.protocol import ThinError
from ..ignite.schema import known_type
from ..ignite.sql_views import HIDDEN, PresentTable, present_tables
from ..ignite.types import type_codes as codes
from ..ignite.types.model import BinaryField, BinaryType, CacheInfo, QueryField
from ..ignite.types.type_table import code_name, java_code
from ..java.hash_code import java_hash

DayFields = Container[tuple[str, str]]
"""Pairs of a binary type and a field in lower case whose values are java.sql.Date."""
_INSTANTS = frozenset({codes.DATE, codes.TIMESTAMP})
_MOST_NAME = 256  # characters of a column's name: what writes the topic chooses it, and each node keeps it


class TableGrowth:
    """Adds columns to SQL tables for the fields that values' binary types have got; for one thread.

    A column is never removed and never changed: values without the field are null in it. A field whose name or type
    Ignite takes no column for is stored without one.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: dict[tuple[str, str], tuple[BinaryField, ...]] = {}

    def grow(self, cache: CacheInfo, days: DayFields = ()) -> None:
        """Add the missing columns of a cache's tables, before values with these fields are put.

        Types whose fields are the same as at the last call cost no request.

        :raises TypeClash: a column has another type than the field.
        :raises WriteFailed: the cluster did not return the columns, or did not add one.
        """
        tables: dict[str, PresentTable] | None = None
        for entity in cache.query_entities:
            name = entity.value_type
            if java_code(name) is not None:
                continue
            binary = known_type(self._cluster, java_hash(name.lower()))
            if binary is None or self._seen.get((cache.name, name)) == binary.fields:
                continue
            if tables is None:
                tables = _present_tables(self._cluster, cache.name)
            if name in tables:
                self._grow_table(cache.name, tables[name], binary, days)
            self._seen[cache.name, name] = binary.fields

    def _grow_table(self, cache: str, table: PresentTable, binary: BinaryType, days: DayFields) -> None:
        columns = {column.name.lower(): column for column in table.entity.fields}
        outer = {name.partition(".")[0] for name in columns}  # SQL reads address.city from the field address
        added = []
        for field in binary.fields:
            name = field.name.lower()
            if name in columns:
                _check_type(cache, table, columns[name], binary, field)
            elif name not in outer and _takes_column(table, field):
                sql_type = DAY if (binary.name, name) in days else SQL_TYPES.get(field.type_code)
                if sql_type is not None:
                    column = table.column_of(field.name)
                    add_column(self._cluster, table.schema, table.name, column, sql_type)
                    added.append(f"{column} {sql_type}")
        if added:
            events.note(events.TABLE_GREW, cache=cache, table=f"{table.schema}.{table.name}", columns=", ".join(added))


def _present_tables(cluster: Cluster, cache: str) -> dict[str, PresentTable]:
    """Return the present SQL tables of a cache by the binary type of their values.

    :raises WriteFailed: the nodes have no SQL, or the user may not use it.
    """
    try:
        return present_tables(cluster, cache)
    except ThinError as error:
        what = f"Ignite did not return the columns of the cache's SQL tables: {error.message}"
        raise WriteFailed(what, REMEDY, cache=cache) from error


def _takes_column(table: PresentTable, field: BinaryField) -> bool:
    """Return whether Ignite accepts a new column for a field, and reads the field by it, also after a restart.

    A node that starts creates the table from the columns' names: it takes a name apart at dots, and writes it between
    quotation marks into a CREATE TABLE without doubling those within. It finds the field by the lower case of the
    column, letter by letter. And it refuses a column of another class than the field of exactly its name, which no
    class of SQL is for java.util.Date (`GridQueryProcessor.checkFieldOnBinaryType`, Ignite 2.17).
    """
    column = table.column_of(field.name)
    if column in table.column_names | HIDDEN:
        return False
    if not 0 < len(column) <= _MOST_NAME or not column.isprintable() or not {".", '"'}.isdisjoint(column):
        return False
    if len(column) != len(field.name) or not all(map(_is_same_letter, column, field.name)):
        return False
    return not (field.type_code == codes.DATE and column == field.name)


def _is_same_letter(upper: str, letter: str) -> bool:
    """Return whether Java lowers two characters to the same; those of two UTF-16 units stay as they are."""
    return upper == letter or (upper.lower() == letter.lower() and upper <= "\uffff")


def _check_type(cache: str, table: PresentTable, column: QueryField, binary: BinaryType, field: BinaryField) -> None:
    """Refuse a field whose type SQL would not read by its column's class.

    :raises TypeClash: the types differ.
    """
    declared = codes.DATE if column.java_type == "java.sql.Date" else java_code(column.java_type)
    if declared is None or field.type_code not in SQL_TYPES or field.type_code == declared:
        return
    if {declared, field.type_code} <= _INSTANTS:
        return
    what = (
        f"column {column.name} of SQL table {table.schema}.{table.name} is a {column.java_type}, and field "
        f"{field.name} of {binary.name} a {code_name(field.type_code)}"
    )
    remedy = (
        "Drop the column by ALTER TABLE DROP COLUMN, so that the next run adds it with the field's type, or rename the "
        "field where the topic is written"
    )
    raise TypeClash(what, remedy, cache=cache, value_type=binary.name, field=field.name)
