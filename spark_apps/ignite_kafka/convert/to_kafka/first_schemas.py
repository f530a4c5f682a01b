"""Cache of the first schema seen of each type, which then applies to all values of the type.

The GridGain connector does so if ``isSchemaDynamic`` is false.

Further fields of a value are not sent; event 15169 names them, once for each cache and field.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

import pyarrow as pa

from ... import events
from ...errors import UnsupportedType
from ..connect.columns import ConnectColumn, ConnectPart
from ..connect.schema import ConnectSchema, ConnectType
from .connect_columns import projected

_Key = tuple[str, str]


class FirstSchemas:
    """First schemas by cache and type, kept for a process's run. Threads may share it.

    :param most: maximum number of schemas kept; the schema unused for longest is removed first
        (``schemaCacheMaxSize``).
    :param ttl_ms: time after which an unused schema is removed; negative: never (``schemaCacheTtl``).
    """

    def __init__(self, most: int, ttl_ms: int = -1, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._ttl_s = ttl_ms / 1000
        self._clock = clock
        self._held: OrderedDict[_Key, tuple[ConnectSchema, float]] = OrderedDict()
        self._named: set[tuple[str, str, str]] = set()
        self._lock = threading.Lock()

    def applied(self, cache: str, type_name: str, part: ConnectPart) -> ConnectPart:
        """Return a column with the first schema of its type instead of its own.

        :raises UnsupportedType: a field has another type than in the first schema; the message names the field.
        """
        schema = part.column.schema
        assert schema is not None
        first = self._first((cache, type_name), schema)
        if first == schema or schema.type is not ConnectType.STRUCT:
            return part
        for path in _differences(first, schema, type_name):
            self._name(cache, type_name, path)
        data = projected(part.column.data, pa.field("", part.column.data.type), first)
        return ConnectPart(part.rows, ConnectColumn(data, first))

    def _first(self, key: _Key, schema: ConnectSchema) -> ConnectSchema:
        with self._lock:
            now = self._clock()
            held = self._held.get(key)
            if held is None or 0 <= self._ttl_s < now - held[1]:
                held = (schema, now)
            self._held[key] = (held[0], now)
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            return held[0]

    def _name(self, cache: str, type_name: str, path: str) -> None:
        with self._lock:
            new = (cache, type_name, path) not in self._named
            self._named.add((cache, type_name, path))
        if new:
            events.emit(events.FIELD_LEFT_OUT, cache=cache, type=type_name, field=path)


def _differences(first: ConnectSchema, schema: ConnectSchema, type_name: str, path: str = "") -> list[str]:
    """Return the fields that a schema has and the type's first schema lacks.

    :raises UnsupportedType: a field's schema differs from the first schema, except for objects of the same type.
    """
    paths = []
    for field in schema.fields:
        name = f"{path}.{field.name}" if path else field.name
        first_field = first.field(field.name)
        if first_field is None:
            paths.append(name)
        elif (
            first_field.schema.type is ConnectType.STRUCT
            and field.schema.type is ConnectType.STRUCT
            and first_field.schema.name == field.schema.name
        ):
            paths += _differences(first_field.schema, field.schema, type_name, name)
        elif first_field.schema != field.schema:
            what = (
                f"field {name} of {type_name} has schema {field.schema.name or field.schema.type}, and the type's "
                "first value has"
            )
            remedy = "Set is_schema_dynamic to true, so that each value has its own schema."
            raise UnsupportedType(f"{what} {first_field.schema.name or first_field.schema.type}", remedy, field=name)
    return paths


@functools.lru_cache(maxsize=100)
def first_schemas(connector: str, most: int, ttl_ms: int) -> FirstSchemas:
    """Return a connector's first schemas in this process, shared by its tasks."""
    return FirstSchemas(most, ttl_ms)
