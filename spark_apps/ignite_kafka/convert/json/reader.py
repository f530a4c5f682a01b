"""Conversion of JSON keys or values to Ignite's binary format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask, RowIndex
from ...common.time_zones import UTC
from ...events import FLOAT_GUESSED, emit
from ...ignite.binary.encode import encoded
from ...ignite.types.type_table import TYPE_NAME, code_name, type_code
from ..ignite_types.converted_side import ConvertedSide, concat_sides
from ..ignite_types.object_types import ObjectTypes
from ..ignite_types.row_encoder import array_of
from ..rules.exact_numbers import doubtful, is_strict
from ..rules.marked_fields import ANY, is_a, is_guessed
from ..rules.parsed_json import QUOTED_FLOATS, Number, kind_of
from .envelopes import envelopes, refusal
from .parser import parsed
from .read_columns import narrowed, parsed_as, typed
from .read_rows import RowReader, parse, report_list_guesses
from .values import Refused
from .write_columns import JsonFormat

_MOST_RESTARTS = 16  # beyond that, the records of a batch have too little in common for columns
# rows that columns refuse before the rest of the batch is read row by row, which costs ten times as much for each row
_MOST_SINGLE = 512

_NONE = np.zeros(0, np.int64)


class JsonReader:
    """Reader that converts the JSON texts of keys or values to Ignite's binary format, and learns new fields of types.

    :param root: field with the type of all values, which may be a reference (marked_fields.py).
    :param chosen: names of the members to read, each required; empty for all members.
    :param alone: return the only chosen member itself, not an object with it.
    :param enveloped: `key` or `value`: refuse envelopes of Kafka Connect on this side; None: such objects are data.
    :param date_zone: time zone of the midnight that a java.sql.Date is set to.
    """

    def __init__(
        self,
        root: pa.Field,
        objects: ObjectTypes,
        form: JsonFormat,
        *,
        chosen: tuple[str, ...] = (),
        alone: bool = False,
        enveloped: str | None = None,
        date_zone: str = UTC,
    ) -> None:
        self._root = root
        self._objects = objects
        self._form = form
        self._choice = _Choice(chosen, alone)
        self._enveloped = enveloped
        self._date_zone = date_zone
        self._seen: set[str] = set()

    def read(self, texts: pa.BinaryArray) -> ConvertedSide:
        """Convert N JSON texts, none null, to Ignite's binary format.

        :raises TypeClash: a field is declared differently in a query entity and in the cluster's binary metadata.
        """
        self._objects.new_batch()
        wrong = envelopes(texts) if self._enveloped else _NONE
        if not wrong.size:
            return self._read_all(texts)
        rows = np.setdiff1d(np.arange(len(texts)), wrong)
        side = concat_sides([self._read_all(texts.take(pa.array(rows)))], [rows])
        why = refusal(str(self._enveloped))
        return replace(side, bad=tuple(sorted([*side.bad, *((int(row), why) for row in wrong)])))

    def _read_all(self, texts: pa.BinaryArray) -> ConvertedSide:
        return self._by_kind(texts) if is_a(self._root, ANY) else self._read(texts, self._root)

    def _read(self, texts: pa.BinaryArray, root: pa.Field) -> ConvertedSide:
        for restart in range(_MOST_RESTARTS + 2):
            batch = _Batch(texts, root, self._objects, self._form, self._choice, self._date_zone)
            learned = batch.by_columns() if restart < _MOST_RESTARTS else batch.by_rows(range(len(texts)))
            if learned:
                continue
            side = batch.side()  # notes the schemas of objects, which must be registered before
            if self._objects.register():
                report_list_guesses(self._objects)
                return side
        raise AssertionError("the types of a batch change each time it is read")

    def _by_kind(self, texts: pa.BinaryArray) -> ConvertedSide:
        """Convert texts of values that may have any type, with a column for each JSON kind."""
        name = str(self._root.metadata[TYPE_NAME], "utf-8")
        if not len(texts):
            return ConvertedSide(_NONE, texts, ())
        trimmed = pc.ascii_trim(texts.view(pa.string()), " \t\r\n")
        kinds = self._with_floats(trimmed, _kinds(trimmed), name)
        sides = []
        places = []
        for kind in np.unique(kinds):
            rows = np.flatnonzero(kinds == kind)
            if kind == _UNCLEAR:
                sides.append(
                    ConvertedSide(_NONE, texts.slice(0, 0), tuple((row, _UNCLEAR_REASON) for row in range(len(rows))))
                )
                places.append(rows)
                continue
            side = self._read(texts.take(pa.array(rows)), kind_of(_EXAMPLES[kind], name))
            sides.append(side)
            places.append(rows)
        return concat_sides(sides, places)

    def _with_floats(self, trimmed: pa.StringArray, kinds: np.ndarray, name: str) -> np.ndarray:
        """Return the texts' JSON kinds, where "NaN" and infinities are doubles or Strings as the other texts suggest.

        These texts may be doubles as converter `json` writes them, or Strings.

        The kinds seen are kept between batches, because the cluster has no metadata for the type of a whole value. Keys
        are not read as doubles, since the same key would have two forms if its first batch had no number.
        """
        quoted = np.asarray(pc.is_in(trimmed, value_set=pa.array([f'"{text}"' for text in QUOTED_FLOATS])))
        if np.isin(kinds, ("1", ".")).any():
            self._seen.add(".")
        if np.any((kinds == '"') & ~quoted & np.asarray(pc.starts_with(trimmed, '"'))):
            self._seen.add('"')
        if not quoted.any():
            return kinds
        of_key = self._objects.of_key(name)
        if not self._seen:
            guess = '"' if of_key else "."
            self._seen.add(guess)
            kind = code_name(type_code(kind_of(_EXAMPLES[guess], name)))
            emit(FLOAT_GUESSED, type=name, field=f"(whole {'key' if of_key else 'value'})", kind=kind)
        clear = self._seen == {'"'} or (self._seen == {"."} and not of_key)
        return np.where(quoted, next(iter(self._seen)) if clear else _UNCLEAR, kinds)


@dataclass(frozen=True)
class _Choice:
    """Members of JSON objects to read, such as the fields of a key; see :class:`JsonReader`."""

    names: tuple[str, ...]
    alone: bool

    def of_field(self, field: pa.Field) -> pa.Field:
        if not self.names:
            return field
        lower_names = {name.lower() for name in self.names}
        return field.with_type(
            pa.struct([child.with_nullable(False) for child in field.type if child.name.lower() in lower_names])
        )

    def of_item(self, item: Any) -> Any:
        if not self.names or type(item) is not dict:
            return item
        members = {name.lower(): (name, member) for name, member in item.items()}
        for name in self.names:
            if members.get(name.lower(), (name, None))[1] is None:
                raise Refused(f"field {name}, which is to make the key, is null or missing")
        return dict(members[name.lower()] for name in self.names)

    def of_column(self, array: pa.Array, field: pa.Field) -> tuple[pa.Array, pa.Field]:
        # without a struct, all of these JSON values are null, and so are their members
        if not self.alone or not pa.types.is_struct(array.type):
            return array, field
        return array.field(0), field.type.field(0)


class _Batch:
    """One attempt to convert a batch with the types known so far; it fails when a record adds a field."""

    def __init__(
        self,
        texts: pa.BinaryArray,
        root: pa.Field,
        objects: ObjectTypes,
        form: JsonFormat,
        choice: _Choice,
        date_zone: str,
    ) -> None:
        self._texts = texts
        self._root = root
        self._objects = objects
        self._form = form
        self._choice = choice
        self._date_zone = date_zone
        self._reader = RowReader(objects, form)
        self._version = objects.version
        self._single: list[tuple[int, object]] = []
        self._bad: list[tuple[int, str]] = []
        self._columns: tuple[RowIndex, pa.BinaryArray] = (_NONE, pa.array([], pa.binary()))

    def by_columns(self) -> bool:
        """Convert the texts as columns; return True if a field was learned, so that the batch must be read again."""
        field = self._choice.of_field(narrowed(self._objects.expanded(self._root), self._texts))
        plain = parsed_as(field, self._form)
        if plain is None:
            return self.by_rows(range(len(self._texts)))
        starts = []
        arrays = []
        refused = 0
        strict = is_strict(field)
        doubts: list[Mask] = []
        for part, array in parsed(self._texts, plain, ignore=bool(self._choice.names)):
            if array is not None:
                starts.append(np.arange(part.start, part.stop))
                arrays.append(array)
                if self._objects.guessing:
                    _settle(array, field, self._objects)
                if strict:
                    doubts.append(doubtful(self._texts[part], array, field))
                continue
            refused += part.stop - part.start
            end = part.stop if refused < _MOST_SINGLE else len(self._texts)
            if self.by_rows(range(part.start, end)):
                return True
            if end != part.stop:
                break
        if not arrays:
            return False
        rows = np.concatenate(starts)
        typed_array, wrong = typed(arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays), field)
        if strict:
            wrong |= np.concatenate(doubts)
        if wrong.any():
            if self.by_rows(rows[wrong].tolist()):
                return True
            rows = rows[~wrong]
            typed_array = typed_array.filter(pa.array(~wrong))
        self._columns = rows, self._encode(typed_array, field.with_type(typed_array.type))
        return False

    def by_rows(self, rows: Iterable[int]) -> bool:
        """Convert some rows one by one; return True if a field was learned, so that the batch must be read again."""
        for row in rows:
            version = self._objects.version
            try:
                self._single.append(
                    (row, self._reader.value(self._choice.of_item(parse(self._texts[row].as_py())), self._root))
                )
            except Refused as error:
                self._objects.forget(version)
                self._reader.forget()
                self._bad.append((row, error.reason))
        return self._objects.version != self._version

    def side(self) -> ConvertedSide:
        """Return the converted values in the order of the rows, and the bad rows."""
        rows, data = self._columns
        if self._single:
            array, field = array_of([value for _, value in self._single], self._root, self._objects)
            rows = np.concatenate((rows, [row for row, _ in self._single])).astype(np.int64)
            data = pa.concat_arrays([data, self._encode(array, field)])
            order = np.argsort(rows)
            rows = rows[order]
            data = data.take(pa.array(order))
        return ConvertedSide(rows, data, tuple(sorted(self._bad)))

    def _encode(self, array: pa.Array, field: pa.Field) -> pa.BinaryArray:
        """Encode values in Ignite's binary format; null stays null."""
        array, field = self._choice.of_column(array, field)
        data = encoded(array, field, date_zone=self._date_zone, schemas=self._objects)
        return pc.if_else(array.is_valid(), data, pa.scalar(None, pa.binary())) if array.null_count else data


def _settle(array: pa.Array, field: pa.Field, objects: ObjectTypes) -> None:
    """Make the guessed types of fields certain that have values other than NaN and infinities."""
    kind = field.type
    type_name = (field.metadata or {}).get(TYPE_NAME, b"").decode()
    for number, inner in enumerate(kind if pa.types.is_struct(kind) else ()):
        column = array.field(number)
        if pa.types.is_struct(inner.type):
            _settle(column, inner, objects)
        elif is_guessed(inner) and set(column.unique().to_pylist()) - {None, *QUOTED_FLOATS}:
            objects.settle(type_name, inner.name)


_UNCLEAR = "?"
_UNCLEAR_REASON = (
    "it is a text that is a String or a double that is not finite, and the records before do not decide: declare "
    "java.lang.Double or java.lang.String as the class of the whole key or value in the cache's query entity"
)
_EXAMPLES = {"{": {}, "[": [], "t": True, "1": Number("1"), ".": Number("1.0"), '"': ""}
_FIRST = np.full(256, '"')
_FIRST[list(b"{[")] = ["{", "["]
_FIRST[list(b"tf")] = "t"
_FIRST[list(b"-0123456789")] = "1"


def _kinds(trimmed: pa.StringArray) -> np.ndarray:
    """Return the kind of each JSON text by its first character."""
    first = pc.binary_slice(trimmed.view(pa.binary()), 0, 1)
    letters = np.array(
        [letter[0] if letter else 0 for letter in first.dictionary_encode().dictionary.to_pylist()], np.uint8
    )
    kinds = _FIRST[letters[first.dictionary_encode().indices.to_numpy(zero_copy_only=False)]]
    fractions = pc.match_substring_regex(trimmed, "[.eE]")
    return np.where((kinds == "1") & np.asarray(fractions), ".", kinds)
