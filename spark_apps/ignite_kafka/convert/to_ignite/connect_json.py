"""Converter `json` with schemas: ``{"schema":…,"payload":…}`` to Connect columns, as Kafka's JsonConverter reads it.

Records of one schema begin with the same text: it is found once, and the payloads behind it are parsed as columns. Records of another
spelling (members in the other order, texts with escapes in their names) are read one by one.

Source: org.apache.kafka.connect.json.JsonConverter.toConnectData (4.3.1).
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...settings.converters import JSON
from ..connect import ConnectColumn, ConnectPart, ConnectSchema, Deserialized
from .json_parser import parsed
from .json_rows import parse, without_leading_zeros
from .json_values import Doubled, Refused
from .payload_columns import PayloadColumns, decimal_members, parsed_as, uncertain_decimals
from .payload_rows import PayloadReader, array_of
from .schema_json import connect_schema

NOT_AN_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If the topic has plain JSON, set schemas.enable=false; auto reads both"
)
_MEMBERS = frozenset({"schema", "payload"})
_BEGINS = r'^[ \t\r\n]*\{[ \t\r\n]*"(schema|payload)"[ \t\r\n]*:'
_SCHEMA = re.compile(r'[ \t\r\n]*\{[ \t\r\n]*"schema"[ \t\r\n]*:[ \t\r\n]*')
_PAYLOAD = re.compile(r'[ \t\r\n]*,[ \t\r\n]*"payload"[ \t\r\n]*:')
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)  # finds where a value ends; int refuses more than 4,300 digits
_BINARY = pa.binary()
_NULL, _MISSING, _CLOSE = pa.scalar(b"null", _BINARY), pa.scalar(None, _BINARY), b"}"
_SPACE = " \t\r\n"
_MOST_SCHEMAS = 64  # of one batch; the records of further ones are read one by one
_MOST_SINGLE = 512  # rows that columns refuse before the rest is read row by row: a row costs 10 of a column's
_SAMPLE = 32


SchemaOf = Callable[[str], ConnectSchema | None]


class _Known:
    """A schema, and what reads its values."""

    def __init__(self, schema: ConnectSchema | None, defaults: bool) -> None:
        self.schema = schema
        self.reader = None if schema is None else PayloadReader(schema, defaults=defaults)
        self.decimals = frozenset() if schema is None else frozenset(decimal_members(schema))


class ConnectJsonDeserializer:
    """Reads JSON with schemas; of decimals both forms.

    :param plain: read records that are no envelopes as JSON without a schema (``schemas.enable=auto``); else they are bad.
    :param defaults: read a null of a field with a default as the default (``replace.null.with.default``).
    :param kept: number of schemas that are kept (``schemas.cache.size``).
    :param schema_of: the schema that the JSON text of the member ``schema`` refers to; raises Refused. None: it describes one.
    :param content: JSON text of the schema of all records, which are payloads alone (``schema.content``); empty: each has its own.
    :raises Refused: the content describes no schema.
    """

    name = JSON

    def __init__(
        self, *, plain: bool = False, defaults: bool = True, kept: int = 1_000, schema_of: SchemaOf | None = None, content: str = ""
    ) -> None:
        self._schema_of = schema_of or self._described
        self.plain, self.defaults, self._most = plain, defaults, max(kept, 1)
        self._kept: OrderedDict[str, _Known | str] = OrderedDict()
        self._begin = b""
        if content:
            if self.known(content).schema is None:
                raise Refused("null is no schema")
            self._begin = b'{"schema":%s,"payload":' % content.encode()

    def deserialize(self, data: pa.BinaryArray, topic: str) -> Deserialized:
        """Values of the records; a null payload without a schema is a null without one."""
        if self._begin:
            data = pc.binary_join_element_wise(pa.scalar(self._begin, _BINARY), data, pa.scalar(_CLOSE, _BINARY), pa.scalar(b"", _BINARY))
        return _Batch(self, data).read()

    def deserialize_behind(self, head: bytes, data: pa.BinaryArray) -> Deserialized:
        """Values of records whose bytes are `head` (:func:`head_of`) followed by an item of `data`."""
        return _Batch(self, data, head).read()

    def known(self, text: str) -> _Known:
        """The schema that a JSON text describes; raises Refused if it describes none."""
        found = self._kept.get(text)
        if found is None:
            try:
                found = _Known(self._schema_of(text), self.defaults)
            except Refused as error:
                found = error.reason
            self._kept[text] = found
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(text)
        if isinstance(found, str):
            raise Refused(found)
        return found

    def _described(self, text: str) -> ConnectSchema | None:
        return connect_schema(parse(text.encode("utf-8", "surrogatepass")), defaults=self.defaults)


@dataclass
class _Values:
    """Values of one schema."""

    pieces: list[tuple[RowIndex, pa.Array]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)

    def parts(self, schema: ConnectSchema | None) -> Iterable[ConnectPart]:
        """One part; two where the values of single rows need another Arrow type."""
        if self.rows:
            made = array_of(self.items, schema) if schema else pa.array(self.items, _BINARY)
            self.pieces.append((np.array(self.rows, np.int64), made))
        for kind in dict.fromkeys(array.type for _, array in self.pieces):
            same = [piece for piece in self.pieces if piece[1].type == kind]
            rows, data = same[0]
            if len(same) > 1:
                rows = np.concatenate([rows for rows, _ in same])
                order = np.argsort(rows)
                rows, data = rows[order], pa.concat_arrays([data for _, data in same]).take(pa.array(order))
            yield ConnectPart(rows, ConnectColumn(data, schema))


class _Batch:
    """The records of one call.

    :param head: common beginning of the records, cut from `texts`.
    """

    def __init__(self, owner: ConnectJsonDeserializer, texts: pa.BinaryArray, head: bytes = b"") -> None:
        self._owner, self._texts, self._head = owner, texts, head
        self._values: dict[ConnectSchema | None, _Values] = {}
        self._bad: list[tuple[int, str]] = []

    def read(self) -> Deserialized:
        """Every row is read by columns, or alone."""
        rows = np.arange(len(self._texts))
        if self._head and rows.size:
            whole = _head(self._head)
            assert whole is not None, self._head
            self._closed(rows, self._texts, 0, whole[1])
        else:
            self._read_whole(rows)
        parts = [part for schema, values in self._values.items() for part in values.parts(schema)]
        return Deserialized(tuple(parts), tuple(sorted(self._bad)))

    def _read_whole(self, rest: RowIndex) -> None:
        if self._owner.plain:
            begin = np.asarray(pc.match_substring_regex(self._texts, _BEGINS))
            if not begin.all():
                self._add_plain(rest[~begin], self._texts.filter(pa.array(~begin)))
            rest = rest[begin]
        for _ in range(_MOST_SCHEMAS):
            if not rest.size:
                break
            rest = self._one_schema(rest)
        self._singly(rest)

    def _one_schema(self, rest: RowIndex) -> RowIndex:
        """Read the rows that have the schema of the first one; returns the others."""
        head = _head(self._texts[int(rest[0])].as_py())
        if head is None:
            self._singly(rest[:1])
            return rest[1:]
        begin, schema_text = head
        texts = self._texts if rest.size == len(self._texts) else self._texts.take(pa.array(rest))
        mine = np.asarray(pc.starts_with(texts, begin))
        if not mine.all():
            texts = texts.filter(pa.array(mine))
        self._closed(rest[mine], texts, len(begin), schema_text)
        others: RowIndex = rest[~mine]
        return others

    def _closed(self, rows: RowIndex, texts: pa.BinaryArray, begin: int, schema_text: str) -> None:
        """Read rows of one schema; their payloads begin at byte `begin`."""
        closed = np.asarray(pc.ends_with(texts, _CLOSE))
        if not closed.all():
            self._singly(rows[~closed])
            texts, rows = texts.filter(pa.array(closed)), rows[closed]
        try:
            known = self._owner.known(schema_text)
        except Refused:
            self._singly(rows)
        else:
            self._payloads(rows, pc.binary_slice(texts, begin, -1), known)

    def _payloads(self, rows: RowIndex, payloads: pa.BinaryArray, known: _Known) -> None:
        if known.schema is None:
            self._add_plain(rows, payloads)
            return
        quoted = self._quoted(payloads, known)
        numeric = quoted is not None
        kind = parsed_as(known.schema, numeric)
        if kind is None:
            self._singly(rows)
            return
        columns = PayloadColumns(defaults=self._owner.defaults, numeric=numeric)
        left = np.asarray(pc.equal(payloads, _NULL))
        if quoted is not None:
            left |= quoted
        if left.any():
            self._singly(rows[left])
            rows, payloads = rows[~left], payloads.filter(pa.array(~left))
        refused = 0
        # a member behind a payload that is no object would be passed over, too
        for part, array in parsed(payloads, kind, ignore=pa.types.is_struct(kind)):
            if array is not None:
                made, wrong = columns.typed(array, known.schema)
                here = rows[part]
                if wrong.any():
                    self._singly(here[wrong])
                    here, made = here[~wrong], made.filter(pa.array(~wrong))
                self._of(known.schema).pieces.append((here, made))
                continue
            refused += part.stop - part.start
            self._singly(rows[part])
            if refused >= _MOST_SINGLE:
                self._singly(rows[part.stop :])
                break

    @staticmethod
    def _quoted(payloads: pa.BinaryArray, known: _Known) -> Mask | None:
        """The rows of :func:`.uncertain_decimals` if decimals are numbers; None if decimals are base64 or absent."""
        if not known.decimals or uncertain_decimals(payloads.slice(0, _SAMPLE), known.decimals).all():
            return None
        quoted = uncertain_decimals(payloads, known.decimals)
        return None if 2 * np.count_nonzero(quoted) > len(payloads) else quoted

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
        if type(item) is Doubled:
            item.refuse()
        whole = type(item) is dict and item.keys() == _MEMBERS
        if self._owner.plain:
            schema = item["schema"] if whole else False
            if type(schema) is Doubled:
                schema.refuse()
            whole = schema is None or (type(schema) is dict and type(schema.get("type")) is str)
        if not whole:
            if not self._owner.plain:
                raise Refused(NOT_AN_ENVELOPE)
            self._add_plain(np.array([row]), pa.array([text], _BINARY))
            return
        texts = _member_texts(text.decode())
        known = self._owner.known(texts["schema"])
        if known.reader is None:
            self._add_plain(np.array([row]), pa.array([texts["payload"].encode()], _BINARY))
            return
        value = known.reader.value(item["payload"])
        values = self._of(known.schema)
        values.rows.append(row)
        values.items.append(value)

    def _add_plain(self, rows: RowIndex, texts: pa.BinaryArray) -> None:
        null = pc.equal(pc.ascii_trim(texts.view(pa.string()), _SPACE).view(_BINARY), _NULL)
        self._of(None).pieces.append((rows, pc.if_else(null, _MISSING, texts)))

    def _of(self, schema: ConnectSchema | None) -> _Values:
        return self._values.setdefault(schema, _Values())


def head_of(text: bytes) -> bytes:
    """The bytes before the payload, equal in all records of one schema; empty if the record has another layout."""
    found = _head(text)
    return b"" if found is None else found[0]


def _head(text: bytes) -> tuple[bytes, str] | None:
    """The bytes up to the payload, and the JSON text of the schema; None where the record is spelled otherwise."""
    try:
        whole = text.decode()
    except UnicodeDecodeError:
        return None
    begin = _SCHEMA.match(whole)
    if begin is None:
        return None
    try:
        _, end = _DECODER.raw_decode(whole, begin.end())
    except (ValueError, RecursionError):
        return None
    middle = _PAYLOAD.match(whole, end)
    return None if middle is None else (whole[: middle.end()].encode(), whole[begin.end() : end])


def _member_texts(text: str) -> dict[str, str]:
    """The JSON texts of an object's members; `text` is known to be one object."""
    found: dict[str, str] = {}
    at = text.index("{")
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, text.index('"', at))
        begin = text.index(":", at) + 1
        begin += len(text[begin:]) - len(text[begin:].lstrip(_SPACE))
        _, end = _DECODER.raw_decode(text, begin)
        found[name] = text[begin:end]
        at = end + len(text[end:]) - len(text[end:].lstrip(_SPACE))
    return found
