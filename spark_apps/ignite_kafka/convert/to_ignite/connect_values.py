"""Conversion of deserialized keys or values from Connect columns to Ignite's binary format."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import RowIndex
from ...common.time_zones import UTC
from ...ignite.binary.encode import encoded
from ...ignite.types.type_table import TYPE_NAME
from ..connect.columns import ConnectColumn, ConnectPart, Deserialized
from ..connect.schema import ConnectSchema, ConnectType
from ..ignite_types.converted_side import ConvertedSide, Reader, concat_sides
from ..ignite_types.object_types import ObjectTypes
from ..rules.marked_fields import ANY, is_a
from .connect_resolver import Place, Resolver
from .connect_targets import RefusingTarget, Target, label, reasons
from .joined_structs import joined_parts
from .scrubbed_names import ScrubbedNames

_MOST_ATTEMPTS = 16
_MOST_TARGETS = 1_000  # kept for the schemas of a topic's batches; beyond that, all are made again
_NONE = np.zeros(0, np.int64)
_NULL_JSON = pa.scalar(b"null", pa.binary())


class ConnectReader:
    """Converter of a topic's deserialized keys or values to Ignite's binary format.

    :param root: field with the type of all values, which may be a reference (marked_fields.py).
    :param schemaless: reader of the JSON texts of values without a schema.
    :param of_key: whether the results are keys.
    :param chosen: names of the fields to read, each required; empty: the whole value.
    :param alone: return the only chosen field itself, not an object with it.
    :param only: names of the types allowed for a STRUCT; empty: any type.
    :param zone: time zone of java.sql.Date and java.sql.Time.
    :param scrubbed: names that are scrubbed in records; None: names in records are not scrubbed.
    """

    def __init__(
        self,
        root: pa.Field,
        objects: ObjectTypes,
        schemaless: Reader,
        *,
        of_key: bool = False,
        chosen: tuple[str, ...] = (),
        alone: bool = False,
        only: tuple[str, ...] = (),
        zone: str = UTC,
        scrubbed: ScrubbedNames | None = None,
    ) -> None:
        self._root = root
        self._objects = objects
        self._schemaless = schemaless
        self._chosen = chosen
        self._alone = alone
        self._only = only
        self._zone = zone
        self._scrubbed = scrubbed
        otherwise = str(root.metadata[TYPE_NAME], "utf-8") if is_a(root, ANY) else ""
        self._place = Place("", otherwise, of_key)
        self._resolver = Resolver(objects, zone, scrubbed)
        self._targets: dict[ConnectSchema, Target] = {}
        self._state = -1, -1

    def read(self, values: Deserialized) -> ConvertedSide:
        """Convert all deserialized keys or values of a batch.

        :raises TypeClash: a field is declared differently in a query entity and in the cluster's binary metadata.
        """
        self._objects.new_batch()
        bad = list(values.bad)
        parts = []
        for part in values.parts:
            chosen, wrong = self._choose(part)
            parts.append(chosen)
            bad += wrong
        if not self._place.of_key:  # a key has all fields of its own schema
            parts = joined_parts(part for part in parts if part.rows.size)
        sides = self._convert(parts)
        if not sides:
            return ConvertedSide(_NONE, pa.array([], pa.binary()), tuple(sorted(bad)))
        side = concat_sides(sides, [part.rows for part in parts])
        return replace(side, bad=tuple(sorted([*side.bad, *bad])))

    def _convert(self, parts: list[ConnectPart]) -> list[ConvertedSide]:
        """Convert columns; register their types, and the schemas of all objects, in the cluster."""
        for _ in range(_MOST_ATTEMPTS):
            targets = self._resolve(parts)
            sides = [self._convert_column(part.column, targets) for part in parts]
            if self._objects.register():
                return sides
        raise AssertionError("the types of a batch change each time it is converted")

    def _resolve(self, parts: list[ConnectPart]) -> dict[ConnectSchema, Target]:
        """Return the conversion for each schema in a batch, after registering all their types in the cluster.

        Types get their fields from schemas in the order of the first records. A key type is registered, and so fixed,
        before the next schema is resolved. So the types of fields are the same as with batches of one record: other
        records of a batch have no influence. An object whose schema has no fields is stored if any record of this or an
        earlier batch shows its type; otherwise its record is bad.
        """
        by_record = sorted((part for part in parts if part.rows.size), key=lambda part: int(part.rows[0]))
        schemas = dict.fromkeys(part.column.schema for part in (*by_record, *parts) if part.column.schema is not None)
        for _ in range(_MOST_ATTEMPTS):
            if self._state != (state := (self._objects.version, self._objects.rereads)):
                self._targets = {}
                self._state = state
            if len(self._targets) > _MOST_TARGETS:
                self._targets = {}
            unresolved = [schema for schema in schemas if schema not in self._targets]
            for schema in unresolved:
                self._targets[schema] = self._find_target(schema)
                if self._place.of_key and not self._objects.register():
                    break  # another task has registered the type: all schemas are resolved again
            learned = self._objects.version, self._objects.rereads
            if learned == self._state and self._objects.register():
                return self._targets
        raise AssertionError("the types of a batch change each time it is read")

    def _find_target(self, schema: ConnectSchema) -> Target:
        if not self._only or schema.name in self._only:
            return self._resolver.target(schema, self._root, self._place)
        what = f"is {label(schema)}, and the cache's query entities have values of {', '.join(self._only)}"
        return RefusingTarget("", f"{what}: name the struct by one of them, as SetSchemaMetadata does")

    def _convert_column(self, column: ConnectColumn, targets: dict[ConnectSchema, Target]) -> ConvertedSide:
        if column.schema is None:
            return self._read_texts(column.data)
        target = targets[column.schema]
        data, field, wrong = target.convert(column.data)
        rows: RowIndex = np.arange(len(data))
        bad: tuple[tuple[int, str], ...] = ()
        if wrong.any():
            bad = tuple(reasons(target, column.data, np.flatnonzero(wrong).tolist()))
            rows = rows[~wrong]
            data = data.filter(pa.array(~wrong))
        entries = encoded(data, field, date_zone=self._zone, schemas=self._objects)
        if data.null_count:
            entries = pc.if_else(data.is_valid(), entries, pa.scalar(None, pa.binary()))
        return ConvertedSide(rows, entries, bad)

    def _read_texts(self, texts: pa.BinaryArray) -> ConvertedSide:
        """Convert JSON texts of values without a schema; an Arrow null means JSON's null."""
        if self._only:
            why = f"it has no schema, and the cache's query entities have values of {', '.join(self._only)}"
            has_value = np.asarray(pc.not_equal(texts, _NULL_JSON).fill_null(False))
            rows = np.flatnonzero(~has_value)
            return ConvertedSide(
                rows, pa.nulls(len(rows), pa.binary()), tuple((int(row), why) for row in np.flatnonzero(has_value))
            )
        return self._schemaless.read(texts.fill_null(b"null") if texts.null_count else texts)

    def _choose(self, part: ConnectPart) -> tuple[ConnectPart, list[tuple[int, str]]]:
        """Reduce STRUCTs to the fields chosen for the key; return also the rows that lack one, with reasons.

        The reader of JSON texts chooses the fields of values without a schema.
        """
        schema = part.column.schema
        data = part.column.data
        if not self._chosen or schema is None:
            return part, []
        none = ConnectPart(_NONE, ConnectColumn(data.slice(0, 0), schema))
        if schema.type is not ConnectType.STRUCT:
            why = f"it has no field {self._chosen[0]}, which is to make the key: it is a whole {schema.type.name}"
            return none, [(int(row), why) for row in part.rows]
        names = {field.name.lower(): number for number, field in enumerate(schema.fields)}
        for short, full in (self._scrubbed.fields(self._chosen) if self._scrubbed is not None else {}).items():
            names |= {name.lower(): names[short] for name in full if short in names and name.lower() not in names}
        places = [names.get(name.lower(), -1) for name in self._chosen]
        columns = data.flatten()
        is_complete = np.asarray(data.is_valid())
        bad = [(int(row), "the key is null") for row in part.rows[~is_complete]]
        for name, place in zip(self._chosen, places, strict=True):
            lacking = is_complete if place < 0 else is_complete & np.asarray(columns[place].is_null())
            bad += [
                (int(row), f"field {name}, which is to make the key, is null or missing") for row in part.rows[lacking]
            ]
            is_complete = is_complete & ~lacking
        if not is_complete.any():
            empty = ConnectColumn(pa.array([], pa.string()), ConnectSchema(ConnectType.STRING))
            return replace(none, column=empty), bad
        of_schema = [schema.fields[place] for place in places]
        fields = [
            field if field.name.lower() == name.lower() else replace(field, name=name)
            for name, field in zip(self._chosen, of_schema, strict=True)
        ]
        chosen = [columns[place] for place in places]
        picked = ConnectSchema(ConnectType.STRUCT, fields=tuple(fields))
        column = ConnectColumn(pa.StructArray.from_arrays(chosen, [field.name for field in fields]), picked)
        if self._alone:
            column = ConnectColumn(chosen[0], fields[0].schema)
        complete = ConnectColumn(column.data.filter(pa.array(is_complete)), column.schema)
        return ConnectPart(part.rows[is_complete], complete), bad
