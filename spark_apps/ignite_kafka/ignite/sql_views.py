"""Lookup of a table's current columns and indexes, and of node versions, in Ignite's SQL system views.

The configuration that a node reports (op 1055) is that of the cache's creation: it lacks what ALTER TABLE and CREATE
INDEX have added since, and still has what they dropped. The system views have the current state.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from . import protocol, sql_query
from .cache_configuration import CacheConfiguration
from .cluster import Cluster
from .connection import ThinConnection
from .protocol import Reader, ThinError
from .types.model import QueryEntity, QueryField, QueryIndex

log = logging.getLogger(__name__)
_COLUMNS = (
    "SELECT C.COLUMN_NAME, C.TYPE, CAST(C.NULLABLE AS VARCHAR), CAST(C.PRECISION AS VARCHAR), CAST(C.SCALE AS VARCHAR) "
    "FROM SYS.TABLE_COLUMNS C WHERE C.SCHEMA_NAME = ? AND C.TABLE_NAME = ?"
)
_TABLES = "SELECT SCHEMA_NAME, TABLE_NAME FROM SYS.TABLES WHERE CACHE_NAME = ?"
_INDEXES = (
    "SELECT INDEX_NAME, INDEX_TYPE, COLUMNS, CAST(INLINE_SIZE AS VARCHAR) FROM SYS.INDEXES "
    "WHERE CACHE_NAME = ? AND SCHEMA_NAME = ? AND TABLE_NAME = ? AND IS_PK = FALSE ORDER BY INDEX_NAME"
)
_OWN_INDEX = re.compile(r"_key_PK.*|AFFINITY_KEY|__SCAN_|.*_proxy")
_INDEX_COLUMN = re.compile(r'"((?:[^"]|"")*)" (ASC|DESC)')
HIDDEN = frozenset({"_KEY", "_VAL", "_VER"})
"""Columns that each table has besides the declared ones."""
_UNLIMITED = 32_767  # from here on a precision or scale is that of H2's type, not one that was declared
_SORTED = "SORTED"
Row = Sequence[str | None]


def with_present_tables(cluster: Cluster, configuration: CacheConfiguration) -> CacheConfiguration:
    """Update a cache's configuration with the current columns and indexes of its SQL tables.

    Without SQL in the cluster the configuration is unchanged. Only sorted indexes are updated.
    """
    if not configuration.query_entities:
        return configuration
    try:
        tables = {str(row[1]): str(row[0]) for row in _select_texts(cluster, _TABLES, configuration.name)}
        entities = tuple(
            _with_present_columns(cluster, configuration.name, tables, entity)
            for entity in configuration.query_entities
        )
    except ThinError as error:
        # nodes without ignite-indexing, or without the right to run SQL
        log.warning("columns and indexes of cache %s are those of its creation: %s", configuration.name, error.message)
        return configuration
    return replace(configuration, query_entities=entities)


@dataclass(frozen=True)
class PresentTable:
    """SQL table of a query entity as it is now.

    :param entity: the query entity with the table's present columns.
    :param exact: names of columns are in the case of the fields (`sqlEscapeAll`), else in upper case.
    """

    schema: str
    name: str
    entity: QueryEntity
    exact: bool = False

    def column_of(self, field: str) -> str:
        """Return the name of the column that SQL gives a field of the value."""
        return field if self.exact else field.upper()

    @property
    def column_names(self) -> frozenset[str]:
        """Names of the columns that the table has."""
        aliases = dict(self.entity.aliases)
        return frozenset(aliases.get(field.name) or self.column_of(field.name) for field in self.entity.fields)


def present_tables(cluster: Cluster, cache: str) -> dict[str, PresentTable]:
    """Return the SQL tables of a cache by the binary type of their values, with their present columns.

    :raises ThinError: the nodes have no SQL, or the user may not use it.
    """
    configuration = cluster.configuration(cache)
    tables = {str(row[1]): str(row[0]) for row in _select_texts(cluster, _TABLES, cache)}
    present = {}
    for entity in configuration.query_entities:
        name = _table_of(tables, entity)
        if name is not None:
            grown = _with_present_columns(cluster, cache, tables, entity)
            exact = bool(configuration.advanced.sql_escape_all)
            present[entity.value_type] = PresentTable(tables[name], name, grown, exact)
    return present


def _table_of(tables: Mapping[str, str], entity: QueryEntity) -> str | None:
    return next((name for name in tables if name.upper() == (entity.table or "").upper()), None)


def _with_present_columns(cluster: Cluster, cache: str, tables: Mapping[str, str], entity: QueryEntity) -> QueryEntity:
    table = _table_of(tables, entity)
    if table is None:
        return entity
    schema = tables[table]
    columns = {str(row[0]): row for row in _select_texts(cluster, _COLUMNS, schema, table)}
    order = _select_names(cluster, f"SELECT * FROM {quote(schema)}.{quote(table)} LIMIT 0")
    column_of = dict(entity.aliases)
    field_by_name = {column_of.get(field.name, field.name).upper(): field for field in entity.fields}
    names = [
        *(name for name in field_by_name if name in columns),
        *(name for name in order if name not in field_by_name),
    ]
    fields = tuple(field_by_name.get(name) or _parse_field(columns[name]) for name in names if name in columns)
    if not _is_listed(entity, order):  # columns such as address.city have names of their own
        fields = (*entity.fields, *(field for field in fields if field not in entity.fields))
    kept = {field.name for field in fields}
    aliases = tuple(alias for alias in entity.aliases if alias[0] in kept)
    keys = {column_of.get(field.name, field.name).upper() for field in fields if field.is_key} | {
        (entity.key_field or "_KEY").upper(),
        "_KEY",
    }
    present_indexes = [
        _parse_index(row, keys, fields, column_of) for row in _select_texts(cluster, _INDEXES, cache, schema, table)
    ]
    others = [field for field in entity.indexes if field.kind != _SORTED]
    declared = {field.name: field for field in entity.indexes}
    indexes = tuple(declared.get(field.name, field) for field in present_indexes if field is not None)
    return replace(entity, fields=fields, aliases=aliases, indexes=(*indexes, *others))


def _is_listed(entity: QueryEntity, order: Sequence[str]) -> bool:
    """Return whether SQL's list of columns is complete, so that a column missing there was dropped."""
    return bool(order) and not any("." in field.name for field in entity.fields)


def _parse_field(row: Row) -> QueryField:
    name, java_type, nullable, precision, scale = (str(text) for text in row)
    sized = java_type in ("java.lang.String", "java.math.BigDecimal", "[B")
    digits = (
        _parse_digits(precision) if sized else -1,
        _parse_digits(scale) if java_type == "java.math.BigDecimal" else -1,
    )
    return QueryField(name, java_type, False, nullable.lower() == "false", *digits)


def _parse_digits(text: str) -> int:
    return int(text) if 0 <= int(text) < _UNLIMITED else -1


def _parse_index(
    row: Row, keys: set[str], fields: Sequence[QueryField], column_of: Mapping[str, str]
) -> QueryIndex | None:
    """Parse a row about a sorted index; None for other indexes and those of Ignite itself.

    Ignite appends the columns of the key, which are not declared; they are left out.
    """
    name, kind, columns, inline_size = (str(item) for item in row)
    if _OWN_INDEX.fullmatch(name) or kind != _SORTED:
        return None
    listed = [(column.replace('""', '"'), order == "DESC") for column, order in _INDEX_COLUMN.findall(columns)]
    while len(listed) > 1 and listed[-1][0].upper() in keys and not listed[-1][1]:
        listed.pop()
    field_of = {column_of.get(item.name, item.name).upper(): item.name for item in fields}
    return QueryIndex(
        name,
        tuple((field_of.get(column.upper(), column), down) for column, down in listed),
        inline_size=int(inline_size),
    )


def quote(name: str) -> str:
    """Return a name as SQL reads it in exactly this form, with its case."""
    return '"' + name.replace('"', '""') + '"'


def _select_names(cluster: Cluster, sql: str) -> list[str]:
    names, _ = cluster.ask(lambda connection: _select(connection, sql, ()))
    return [name for name in names if name not in HIDDEN]


def node_versions(cluster: Cluster) -> list[str]:
    """Read the Ignite versions of the server nodes, each once.

    :raises ThinError: the nodes have no SQL (ignite-indexing or ignite-calcite), or this user may not use it.
    """
    return sorted(
        {row[0] or "" for row in _select_texts(cluster, "SELECT VERSION FROM SYS.NODES WHERE IS_CLIENT = FALSE")}
    )


def _select_texts(cluster: Cluster, sql: str, *arguments: str) -> list[Row]:
    _, rows = cluster.ask(lambda connection: _select(connection, sql, arguments))
    return rows


def _select(connection: ThinConnection, sql: str, arguments: Sequence[str]) -> tuple[list[str], list[Row]]:
    """Execute a query of text columns, and return column names and all rows."""
    body = connection.request(
        protocol.QUERY_SQL_FIELDS, sql_query.request(sql, [protocol.string(argument) for argument in arguments])
    )
    reader = Reader(body)
    cursor = reader.int64()
    names = [reader.text() or "" for _ in range(reader.int32())]
    rows, more = _read_rows(reader, len(names))
    while more:
        page_rows, more = _read_rows(
            Reader(connection.request(protocol.QUERY_SQL_FIELDS_PAGE, sql_query.page_request(cursor))), len(names)
        )
        rows += page_rows
    return names, rows


def _read_rows(reader: Reader, columns: int) -> tuple[list[Row], bool]:
    return [[reader.text() for _ in range(columns)] for _ in range(reader.int32())], reader.boolean()
