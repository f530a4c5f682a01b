"""Deserializer of values in Confluent's wire format, whose schema id names the Avro schema in the registry."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa

from ...common.arrays import Int64Array, RowIndex
from ...errors import RegistryError, UnsupportedType
from ...registry.errors import NOT_FOUND
from ...registry.schema import AVRO, RegistrySchema
from ..connect.columns import ConnectColumn, ConnectPart, Deserialized
from ..connect.schema import ConnectSchema
from ..rules.registry_header import HEADER_BYTES, schema_ids
from .decode import decode
from .options import AvroOptions
from .references import References, parse_with_references
from .to_connect import to_connect
from .types import AvroType


class Schemas(References, Protocol):
    """Interface of a registry, with the method that the Avro deserializer calls."""

    def schema(self, id: int, subject: str | None = None) -> RegistrySchema:
        """Return the schema with an id; raise RegistryError or RegistryUnavailable."""


class AvroDeserializer:
    """Deserializer of keys or values, as Confluent's AvroConverter reads them.

    :param kept: maximum number of schemas kept, ``schemas.cache.config``.
    """

    name = "avro"

    def __init__(self, registry: Schemas, options: AvroOptions, kept: int = 1_000) -> None:
        self._registry = registry
        self._options = options
        self._kept = max(1, kept)
        self._forms: OrderedDict[int, tuple[AvroType, ConnectSchema] | str] = OrderedDict()

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Deserialize values; return one column or more for each schema id.

        :raises RegistryError: the registry refuses the credentials. Values of an unknown schema id become bad rows.
        :raises RegistryUnavailable: the registry did not answer.
        """
        ids, bad = schema_ids(data)
        parts: list[ConnectPart] = []
        for id, rows in _by_id(ids):
            form = self._form(id)
            if isinstance(form, str):
                bad |= dict.fromkeys(rows.tolist(), form)
                continue
            avro, schema = form
            chosen = data if rows.size == len(data) else data.take(pa.array(rows))
            columns, broken = decode(chosen, avro, schema, HEADER_BYTES)
            parts += [ConnectPart(rows[places], ConnectColumn(column, schema)) for places, column in columns]
            bad |= {int(rows[row]): f"Avro of schema id {id}: {reason}" for row, reason in broken.items()}
        return Deserialized(tuple(parts), tuple(sorted(bad.items())))

    def _form(self, id: int) -> tuple[AvroType, ConnectSchema] | str:
        """Return the Avro schema with an id and its Connect schema, or the reason why its values cannot be read."""
        if id in self._forms:
            self._forms.move_to_end(id)
            return self._forms[id]
        try:
            form: tuple[AvroType, ConnectSchema] | str = self._read(id)
        except UnsupportedType as error:
            form = f"Avro of schema id {id}: {error}"
        except RegistryError as error:
            if error.where.get("code") not in NOT_FOUND:
                raise
            return f"the registry has no schema of id {id}: {error}"  # not kept: the id may be registered later
        self._forms[id] = form
        if len(self._forms) > self._kept:
            self._forms.popitem(last=False)
        return form

    def _read(self, id: int) -> tuple[AvroType, ConnectSchema]:
        registered = self._registry.schema(id)
        if registered.type != AVRO:
            raise UnsupportedType(f"its schema is one of {registered.type}", "Use the converter of that format.")
        avro = parse_with_references(registered, self._registry)
        return avro, to_connect(avro, self._options)


def _by_id(ids: Int64Array) -> Iterator[tuple[int, RowIndex]]:
    for id in np.unique(ids).tolist():
        if id >= 0:
            yield id, np.flatnonzero(ids == id)
