"""Columns of JSON texts, one value each: their kinds, and conversion to and from Arrow values.

A missing value is null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import IntEnum
from json.encoder import encode_basestring

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Int64Array, RowIndex
from ...ignite.binary.byte_columns import data_of, offsets_of
from ...java.jackson_text import escape
from ...java.numbers import wrapped
from ...java.text import java_text
from .thrown import Failures

_BINARY = pa.binary()
_NOTHING = pa.scalar(b"", _BINARY)
_QUOTE = pa.scalar(b'"', _BINARY)
_SPECIAL = r'["\\\x00-\x1f]|[\x{10000}-\x{10FFFF}]'
_POINT, _EXPONENT, _BACKSLASH, _LOWER = b".e\\ "
_IS_SPECIAL = np.zeros(256, bool)
_IS_SPECIAL[[*range(0x20), *b'"\\', *range(0xF0, 0x100)]] = True
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
_HALF = re.compile("[\ud800-\udfff]")
NULL = pa.scalar(b"null", _BINARY)

ChangeTokens = Callable[["Kind", pa.BinaryArray, Failures], pa.BinaryArray]
"""Function that changes the JSON texts of one kind, and records failed rows."""


class Kind(IntEnum):
    """Kinds of values in JSON texts; a missing text is NULL."""

    NULL = 0
    BOOLEAN = 1
    LONG = 2
    DOUBLE = 3
    STRING = 4
    LIST = 5
    MAP = 6


JAVA_CLASSES: Mapping[Kind, str] = {
    Kind.NULL: "null", Kind.BOOLEAN: "java.lang.Boolean", Kind.LONG: "java.lang.Long", Kind.DOUBLE: "java.lang.Double",
    Kind.STRING: "java.lang.String", Kind.LIST: "java.util.ArrayList", Kind.MAP: "java.util.HashMap",
}  # fmt: skip
_FIRST = np.full(256, Kind.LONG, np.uint8)
for _letter, _kind in (
    (b"n", Kind.NULL),
    (b"tf", Kind.BOOLEAN),
    (b'"', Kind.STRING),
    (b"[", Kind.LIST),
    (b"{", Kind.MAP),
):
    _FIRST[list(_letter)] = _kind


def kinds(tokens: pa.BinaryArray) -> npt.NDArray[np.uint8]:
    """Return the kind of the value in each JSON text."""
    codes = np.zeros(len(tokens), np.uint8)
    offsets, block = bytes_of(tokens)
    nonempty = np.flatnonzero(offsets[1:] > offsets[:-1])
    if nonempty.size:
        codes[nonempty] = _FIRST[block[offsets[nonempty]]]
    if tokens.null_count:
        codes[np.asarray(tokens.is_null())] = Kind.NULL
    numbers = np.flatnonzero(codes == Kind.LONG)
    if numbers.size:
        offsets, block = bytes_of(_take_rows(tokens, numbers))
        marks = np.flatnonzero((block == _POINT) | (block | _LOWER == _EXPONENT))
        codes[numbers[np.searchsorted(offsets, marks, "right") - 1]] = Kind.DOUBLE
    return codes


def bytes_of(tokens: pa.Array) -> tuple[Int64Array, npt.NDArray[np.uint8]]:
    """Return the N + 1 offsets of texts in their shared bytes, and these bytes."""
    offsets = offsets_of(tokens).astype(np.int64)
    return offsets - offsets[0], data_of(tokens)


def by_kind(tokens: pa.BinaryArray) -> list[tuple[Kind, RowIndex]]:
    """Return the kinds that occur among JSON texts, each with its rows (int64, ascending)."""
    codes = kinds(tokens)
    return [(Kind(code), np.flatnonzero(codes == code)) for code in np.unique(codes).tolist()]


def longs(tokens: pa.BinaryArray) -> pa.Int64Array:
    """Parse JSON integers; an integer beyond 64 bits is cut to its low 64 bits, as in JsonConverter."""
    try:
        return tokens.view(pa.string()).cast(pa.int64())
    except pa.ArrowInvalid:
        return pa.array([wrapped(int(text), 64) for text in tokens.to_pylist()], pa.int64())


def doubles(tokens: pa.BinaryArray) -> pa.DoubleArray:
    """Parse JSON numbers with a fraction or an exponent as doubles."""
    try:
        return tokens.view(pa.string()).cast(pa.float64())
    except pa.ArrowInvalid:
        return pa.array([float(text) for text in tokens.to_pylist()], pa.float64())


def texts(tokens: pa.BinaryArray, failures: Failures) -> pa.StringArray:
    """Parse JSON strings to plain texts; one with half of a surrogate pair fails, because UTF-8 cannot hold it."""
    if not (bytes_of(tokens)[1] == _BACKSLASH).any():
        with suppress(pa.ArrowInvalid):  # half of a pair that another transform has written
            return pc.ascii_trim(tokens.cast(pa.string()), '"')
    parsed = [json.loads(token.decode("utf-8", "surrogatepass")) for token in tokens.to_pylist()]
    halves = np.array([_HALF.search(text) is not None for text in parsed], bool)
    failures.add(halves, "a text has half of a surrogate pair")
    return pa.array(parsed, pa.string(), mask=halves)


def booleans(tokens: pa.BinaryArray) -> pa.BooleanArray:
    """Parse the JSON texts true and false as booleans."""
    return pc.equal(tokens, pa.scalar(b"true", _BINARY))


def tokens_of(values: pa.Array) -> pa.BinaryArray:
    """Write booleans, numbers or strings as JSON texts, as Jackson does; null stays null."""
    if pa.types.is_string(values.type):
        return _quote(values)
    if pa.types.is_boolean(values.type):
        return pc.if_else(values, pa.scalar(b"true", _BINARY), pa.scalar(b"false", _BINARY))
    if not pa.types.is_floating(values.type):
        return values.cast(pa.string()).cast(_BINARY)
    written = java_text(values)
    if pc.all(pc.is_finite(values)).as_py():
        return written.cast(_BINARY)
    special = pc.is_in(written, value_set=pa.array(_NO_NUMBERS))
    return pc.if_else(special, _quote(written), written.cast(_BINARY))


def _quote(values: pa.StringArray) -> pa.BinaryArray:
    quoted = pc.binary_join_element_wise(_QUOTE, values.cast(_BINARY), _QUOTE, _NOTHING)
    if not _IS_SPECIAL[bytes_of(values)[1]].any():
        return quoted
    special = np.asarray(pc.fill_null(pc.match_substring_regex(values, _SPECIAL), False))
    escaped = [text_token(text) for text in values.filter(pa.array(special)).to_pylist()]
    return pc.replace_with_mask(quoted, pa.array(special), pa.array(escaped, _BINARY))


def text_token(text: str) -> bytes:
    """Write a string as JSON text, as Jackson does."""
    return escape(encode_basestring(text).encode("utf-8", "surrogatepass"))


def with_nulls(tokens: pa.BinaryArray) -> pa.BinaryArray:
    """Replace missing JSON texts by the text ``null``."""
    return tokens.fill_null(NULL) if tokens.null_count else tokens


def without_nulls(tokens: pa.BinaryArray) -> pa.BinaryArray:
    """Replace the JSON text ``null`` by an Arrow null."""
    null = pc.equal(tokens, NULL)
    return pc.if_else(null, pa.scalar(None, _BINARY), tokens) if pc.any(null).as_py() else tokens


def gathered(parts: list[tuple[RowIndex, pa.BinaryArray]], count: int) -> pa.BinaryArray:
    """Join columns of JSON texts in the order of their rows, which together are all N rows."""
    if len(parts) == 1:
        return parts[0][1]
    order = np.concatenate([rows for rows, _ in parts]) if parts else np.zeros(0, np.int64)
    every = pa.concat_arrays([part.cast(_BINARY) for _, part in parts]) if parts else pa.array([], _BINARY)
    places = np.empty(count, np.int64)
    places[order] = np.arange(count)
    return every.take(pa.array(places))


def _take_rows(tokens: pa.BinaryArray, rows: RowIndex) -> pa.BinaryArray:
    return tokens if rows.size == len(tokens) else tokens.take(pa.array(rows))


def changed_by_kind(tokens: pa.BinaryArray, change: ChangeTokens, failures: Failures) -> pa.BinaryArray:
    """Change JSON texts by calling a function once for each kind of value."""
    parts = []
    for kind, rows in by_kind(tokens):
        kind_tokens = _take_rows(tokens, rows)
        refused = Failures(rows.size)
        parts.append((rows, change(kind, kind_tokens, refused)))
        failures.add_of(refused, rows)
    return gathered(parts, len(tokens))
