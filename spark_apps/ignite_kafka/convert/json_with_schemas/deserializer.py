"""Deserializer of envelopes ``{"schema":…,"payload":…}`` to Connect columns, as Kafka's JsonConverter reads them.

Records of one schema begin with the same text. This head is found once, and the payloads behind it are parsed as
columns. Records of another layout (members in the other order, names with escapes) are read one by one.

Source: org.apache.kafka.connect.json.JsonConverter.toConnectData (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...settings.converters import JSON
from ..connect import ConnectColumn, ConnectPart, ConnectSchema, Deserialized
from ..json.envelope_texts import BEGINS, SPACE, member_texts, split_head
from ..json.read_rows import parse, without_leading_zeros
from ..json.values import DuplicateNames, Refused
from .known_schemas import KnownSchema, KnownSchemas, SchemaOf
from .merged_payloads import PayloadGroup, payloads_by_name
from .payload_columns import PayloadColumns, number_decimals, parsed_as, uncertain_decimals
from .payload_rows import array_of
from .schema_to_connect import connect_schema

NOT_AN_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If the topic has plain JSON, set schemas.enable=false; auto reads both"
)
_MEMBERS = frozenset({"schema", "payload"})
_BINARY = pa.binary()
_NULL = pa.scalar(b"null", _BINARY)
_MISSING = pa.scalar(None, _BINARY)
_CLOSE = b"}"
_FEW_SCHEMAS = 4  # up to this number, schemas are not merged
_FEW_ROWS = 16
_MOST_CUTS = 16  # of a group of merged records
_MOST_SCHEMAS = 64  # of a batch; records of further schemas are read one by one
_MOST_SINGLE = 512  # rows that columns refuse before the rest is read row by row, which is ten times as slow
_SAMPLE = 32


class ConnectJsonDeserializer:
    """Deserializer of JSON with schemas, as Kafka's JsonConverter with schemas.enable writes it.

    :param plain: read records that are no envelopes as JSON without a schema (``schemas.enable=auto``); otherwise such
        records are bad.
    :param defaults: read a null of a field with a default as the default (``replace.null.with.default``).
    :param kept: maximum number of schemas kept (``schemas.cache.size``).
    :param schema_of: function that returns the schema for the JSON text of the member ``schema``, or raises Refused;
        None: the text describes a Connect schema.
    :param content: JSON text of one schema for all records, which are payloads then (``schema.content``); empty: each
        record has a schema.
    :raises Refused: `content` does not describe a schema.
    """

    name = JSON

    def __init__(
        self,
        *,
        plain: bool = False,
        defaults: bool = True,
        kept: int = 1_000,
        schema_of: SchemaOf | None = None,
        content: str = "",
    ) -> None:
        self.plain = plain
        self.defaults = defaults
        self.schemas = KnownSchemas(schema_of or self._describe, kept, defaults=defaults)
        self._schema = self.schemas.get(content) if content else None
        if self._schema is not None and self._schema.schema is None:
            raise Refused("null is no schema")

    def deserialize(self, data: pa.BinaryArray, topic: str, head: bytes = b"") -> Deserialized:
        """Deserialize N records; a null payload without a schema becomes a null without a schema.

        :param head: common beginning of all records (:func:`head_of`), missing in `data`.
        """
        if self._schema is not None:
            return self.deserialize_payloads(data, [(np.arange(len(data)), self._schema)])
        return _Batch(self, data, head).read()

    def deserialize_payloads(
        self, payloads: pa.BinaryArray, groups: Sequence[tuple[RowIndex, KnownSchema]]
    ) -> Deserialized:
        """Deserialize payloads without envelopes, given with their schemas.

        :param groups: the rows of each schema, ascending; every row is in one group.
        """
        return _Batch(self, payloads).read_payloads(groups)

    def deserialize_joined(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Deserialize N records; STRUCTs whose schemas differ only in their fields get one common schema."""
        if self._schema is not None:
            return self.deserialize(data, topic)
        return _Batch(self, data, joined=True).read()

    def _describe(self, text: str) -> ConnectSchema | None:
        return connect_schema(parse(text.encode("utf-8", "surrogatepass")), defaults=self.defaults)


@dataclass
class _Values:
    """Values of one schema, collected from columns and from rows that were read one by one."""

    pieces: list[tuple[RowIndex, pa.Array]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)

    def parts(self, schema: ConnectSchema | None) -> Iterable[ConnectPart]:
        """Yield the values as one column; as two if the values of single rows need another Arrow type."""
        if self.rows:
            single = array_of(self.items, schema) if schema else pa.array(self.items, _BINARY)
            self.pieces.append((np.array(self.rows, np.int64), single))
        for kind in dict.fromkeys(array.type for _, array in self.pieces):
            same = [piece for piece in self.pieces if piece[1].type == kind]
            rows, data = same[0]
            if len(same) > 1:
                rows = np.concatenate([rows for rows, _ in same])
                order = np.argsort(rows)
                rows = rows[order]
                data = pa.concat_arrays([data for _, data in same]).take(pa.array(order))
            yield ConnectPart(rows, ConnectColumn(data, schema))


class _Batch:
    """The records of one call while they are deserialized.

    :param head: common beginning of the records, missing in `texts`.
    :param joined: see :meth:`ConnectJsonDeserializer.deserialize_joined`.
    """

    def __init__(
        self, owner: ConnectJsonDeserializer, texts: pa.BinaryArray, head: bytes = b"", *, joined: bool = False
    ) -> None:
        self._owner = owner
        self._texts = texts
        self._head = head
        self._joined = joined
        self._values: dict[ConnectSchema | None, _Values] = {}
        self._bad: list[tuple[int, str]] = []

    def read(self) -> Deserialized:
        """Deserialize every record, in columns where possible, otherwise one by one."""
        rows = np.arange(len(self._texts))
        if self._head and rows.size:
            whole = split_head(self._head)
            assert whole is not None, self._head
            self._read_closed(rows, self._texts, 0, whole[1])
        else:
            self._read_whole(rows)
        return self._result()

    def read_payloads(self, groups: Sequence[tuple[RowIndex, KnownSchema]]) -> Deserialized:
        """Deserialize every row as a payload; see :meth:`ConnectJsonDeserializer.deserialize_payloads`."""
        for number, (rows, known_schema) in enumerate(groups):
            rest = rows
            if number < _MOST_SCHEMAS:
                texts = self._texts if rows.size == len(self._texts) else self._texts.take(pa.array(rows))
                rest = self._payloads(rows, texts, known_schema)
            for row in rest.tolist():
                try:
                    self._add_item(row, parse(self._texts[row].as_py(), doubled=True), known_schema)
                except Refused as error:
                    self._bad.append((row, error.reason))
        return self._result()

    def _result(self) -> Deserialized:
        parts = [part for schema, values in self._values.items() for part in values.parts(schema)]
        return Deserialized(tuple(parts), tuple(sorted(self._bad)))

    def _read_whole(self, rest: RowIndex) -> None:
        if self._owner.plain:
            begin = np.asarray(pc.match_substring_regex(self._texts, BEGINS))
            if not begin.all():
                self._add_plain(rest[~begin], self._texts.filter(pa.array(~begin)))
            rest = rest[begin]
        if self._joined:
            rest = self._by_schema(rest, _FEW_SCHEMAS)
            rest = self._read_merged(rest)
        self._singly(self._by_schema(rest, _MOST_SCHEMAS))

    def _by_schema(self, rest: RowIndex, most: int) -> RowIndex:
        """Deserialize the rows of at most `most` schemas, the first rows' ones; return the other rows."""
        for _ in range(most):
            if rest.size:
                rest = self._one_schema(rest)
        return rest

    def _one_schema(self, rest: RowIndex) -> RowIndex:
        """Deserialize the rows that have the first row's schema; return the other rows."""
        head = split_head(self._texts[int(rest[0])].as_py())
        if head is None:
            self._singly(rest[:1])
            return rest[1:]
        begin, schema_text = head
        texts = self._texts if rest.size == len(self._texts) else self._texts.take(pa.array(rest))
        matching = np.asarray(pc.starts_with(texts, begin))
        if not matching.all():
            texts = texts.filter(pa.array(matching))
        self._read_closed(rest[matching], texts, len(begin), schema_text)
        others: RowIndex = rest[~matching]
        return others

    def _read_closed(self, rows: RowIndex, texts: pa.BinaryArray, begin: int, schema_text: str) -> None:
        """Deserialize rows of one schema, whose payloads all begin at byte `begin`."""
        closed = np.asarray(pc.ends_with(texts, _CLOSE))
        if not closed.all():
            self._singly(rows[~closed])
            texts = texts.filter(pa.array(closed))
            rows = rows[closed]
        try:
            known_schema = self._owner.schemas.get(schema_text)
        except Refused:
            self._singly(rows)
        else:
            self._singly(self._payloads(rows, pc.binary_slice(texts, begin, -1), known_schema))

    def _payloads(self, rows: RowIndex, payloads: pa.BinaryArray, known_schema: KnownSchema) -> RowIndex:
        """Deserialize payloads of one schema as columns; return the rows that must be read one by one."""
        if known_schema.schema is None:
            self._add_plain(rows, payloads)
            return rows[:0]
        pieces, rest = self._columns(payloads, known_schema, known_schema.schema)
        self._of(known_schema.schema).pieces += [(rows[at], data) for at, data in pieces]
        return rows[rest]

    def _columns(
        self,
        payloads: pa.BinaryArray,
        known_schema: KnownSchema,
        schema: ConnectSchema,
        misfits: Callable[[pa.Array, RowIndex], Mask] | None = None,
    ) -> tuple[list[tuple[RowIndex, pa.Array]], RowIndex]:
        """Parse payloads of one schema as columns; return these with their places, and the places still to be read.

        :param misfits: function that marks further such places, by their parsed values.
        """
        places: RowIndex = np.arange(len(payloads))
        quoted = self._find_quoted(payloads, known_schema)
        numeric = quoted is not None
        kind = parsed_as(schema, numeric)
        if kind is None:
            return [], places
        left = np.asarray(pc.equal(payloads, _NULL))
        if quoted is not None:
            left |= quoted
        unquoted = places[~left]
        columns = PayloadColumns(defaults=self._owner.defaults, numeric=numeric)
        pieces, rest = columns.read(
            payloads.take(pa.array(unquoted)) if left.any() else payloads, schema, kind, _MOST_SINGLE
        )
        read = []
        odd = [places[left], unquoted[rest]]
        for at, parsed, data in pieces:
            wrong = misfits(parsed, unquoted[at]) if misfits is not None else np.zeros(len(at), bool)
            odd.append(unquoted[at[wrong]])
            read.append((unquoted[at[~wrong]], data.filter(pa.array(~wrong)) if wrong.any() else data))
        return read, np.sort(np.concatenate(odd))

    def _read_merged(self, rest: RowIndex) -> RowIndex:
        """Deserialize STRUCTs of one name but different fields by a merged schema; return the remaining rows."""
        if rest.size < _FEW_ROWS:
            return rest
        texts = self._texts if rest.size == len(self._texts) else self._texts.take(pa.array(rest))
        groups, others, unknown = payloads_by_name(rest, texts, self._schema_or_none)
        apart = self._read_singly(unknown)
        left = [others, *(self._runs(group, np.searchsorted(group.rows, apart), _MOST_CUTS) for group in groups)]
        return np.sort(np.concatenate(left))

    def _read_singly(self, rows: RowIndex) -> RowIndex:
        """Deserialize rows one by one; return the rows that are not bad."""
        before = len(self._bad)
        self._singly(rows)
        return rows[~np.isin(rows, [row for row, _ in self._bad[before:]])]

    def _runs(self, group: PayloadGroup, cuts: RowIndex, most: int) -> RowIndex:
        """Deserialize a group's records before, between and behind the given places; return the remaining rows.

        Schemas before and behind a record read alone are not merged: a type has its fields in the order of the records.
        """
        runs = [run for run in np.split(np.arange(len(group.rows)), cuts) if run.size]
        if len(runs) - 1 > most:
            return group.rows
        return np.concatenate([self._group(group.take(run), most - len(runs) + 1) for run in runs])

    def _schema_or_none(self, text: str) -> ConnectSchema | None:
        try:
            return self._owner.schemas.get(text).schema
        except Refused:
            return None

    def _group(self, group: PayloadGroup, cuts: int) -> RowIndex:
        """Deserialize a group by its merged schema, and misfits one by one; return the remaining rows.

        A bad record must not influence types, so the other records are read again without it.
        """
        merged = group.merge() if group.several else None
        if merged is None or cuts < 0:
            return group.rows
        schema = merged.nullable()
        pieces, odd = self._columns(
            group.payloads, KnownSchema(schema, defaults=False), schema, partial(group.misfits, merged)
        )
        if not odd.size:
            self._of(merged.schema()).pieces += [(group.rows[at], data) for at, data in pieces]
            return group.rows[:0]
        if odd.size > _MOST_SINGLE:
            return group.rows
        apart = self._read_singly(group.rows[odd])
        fit = group.take(np.setdiff1d(np.arange(len(group.rows)), odd))
        return self._runs(fit, np.searchsorted(fit.rows, apart), cuts - 1) if len(fit.rows) else fit.rows

    @staticmethod
    def _find_quoted(payloads: pa.BinaryArray, known_schema: KnownSchema) -> Mask | None:
        """Return a mask of the payloads whose decimals may not be numbers; None to read all decimals as base64.

        Decimals are read as base64 if most of them are, and there is nothing to find without decimals.
        """
        if not known_schema.decimals:
            return None
        sample = payloads.slice(0, _SAMPLE)
        if (
            uncertain_decimals(sample, known_schema.decimals).any()
            and not number_decimals(sample, known_schema.decimals).any()
        ):
            return None
        quoted = uncertain_decimals(payloads, known_schema.decimals)
        return (
            None
            if np.count_nonzero(quoted) > np.count_nonzero(number_decimals(payloads, known_schema.decimals))
            else quoted
        )

    def _singly(self, rows: RowIndex) -> None:
        for row in rows.tolist():
            text = self._head + self._texts[row].as_py()
            try:
                self._single(row, text)
            except Refused as error:
                self._bad.append((row, error.reason))

    def _single(self, row: int, text: bytes) -> None:
        item = parse(text, doubled=True)
        text = without_leading_zeros(text)
        if type(item) is DuplicateNames:
            item.refuse()
        whole = type(item) is dict and item.keys() == _MEMBERS
        if self._owner.plain:
            schema = item["schema"] if whole else False
            if type(schema) is DuplicateNames:
                schema.refuse()
            whole = schema is None or (type(schema) is dict and type(schema.get("type")) is str)
        if not whole:
            if not self._owner.plain:
                raise Refused(NOT_AN_ENVELOPE)
            self._add_plain(np.array([row]), pa.array([text], _BINARY))
            return
        texts = member_texts(text.decode())
        known_schema = self._owner.schemas.get(texts["schema"])
        if known_schema.reader is None:
            self._add_plain(np.array([row]), pa.array([texts["payload"].encode()], _BINARY))
            return
        self._add_item(row, item["payload"], known_schema)

    def _add_item(self, row: int, payload: Any, known_schema: KnownSchema) -> None:
        assert known_schema.reader is not None
        value = known_schema.reader.value(payload)
        values = self._of(known_schema.schema)
        values.rows.append(row)
        values.items.append(value)

    def _add_plain(self, rows: RowIndex, texts: pa.BinaryArray) -> None:
        null = pc.equal(pc.ascii_trim(texts.view(pa.string()), SPACE).view(_BINARY), _NULL)
        self._of(None).pieces.append((rows, pc.if_else(null, _MISSING, texts)))

    def _of(self, schema: ConnectSchema | None) -> _Values:
        return self._values.setdefault(schema, _Values())
