"""Reader of single JSON records, for values that columns cannot hold and for the reasons of bad records."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any, NoReturn

import pyarrow as pa

from ...common.record_limits import MAX_DEPTH, MAX_FIELDS
from ...events import FLOAT_GUESSED, emit
from ...ignite.types.type_table import TYPE_NAME, mark_of
from ..ignite_types.object_types import ObjectTypes
from ..ignite_types.unknown_classes import unknown_class
from ..rules.enum_forms import enum_forms, enum_values
from ..rules.exact_numbers import is_strict
from ..rules.marked_fields import ANY, OBJECT, REASON, REFUSED, UNKNOWN, column_class, is_a, is_open, undecided_class
from ..rules.parsed_json import QUOTED_FLOATS, Number, QuotedFloat, kind_of
from .values import (
    DuplicateNames,
    Read,
    Refused,
    constant_of,
    decimal_of,
    expect,
    no_null,
    no_value,
    null_error,
    refuse,
    scalar_reader,
    text_of,
)
from .write_columns import JsonFormat

# a quoted text, even without a closing quote, so that no quote is matched twice; or the zeros before a number's first
# digit
_QUOTED_OR_ZEROS = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|(?<![\w.+-])(-?)0+(?=[0-9])', re.DOTALL)


class Typed:
    """A value of a field that may hold any type, with the Arrow field for this value's own type."""

    __slots__ = ("field", "value")

    def __init__(self, field: pa.Field, value: Any) -> None:
        self.field = field
        self.value = value


def parse(text: bytes, *, doubled: bool = False) -> Any:
    """Parse a record's JSON, with numbers as :class:`Number`; raise Refused if it is not exactly one value.

    Numbers may have leading zeros, as for Kafka's JsonConverter.

    :param doubled: return an object with duplicate names as a :class:`DuplicateNames`; otherwise refuse it.
    """
    if not text:
        raise Refused("no bytes at all, which is no JSON value (a tombstone is null, not empty)")
    try:
        return (_DOUBLED_TOO if doubled else _DECODER).decode(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Refused(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        plain = without_leading_zeros(text)
        if plain != text:
            return parse(plain, doubled=doubled)
        raise Refused(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise Refused("nested too deep") from None


def without_leading_zeros(text: bytes) -> bytes:
    """Remove leading zeros, which JSON forbids, from the numbers of a JSON text: 007 becomes 7.

    Quoted texts stay unchanged.
    """
    return _QUOTED_OR_ZEROS.sub(lambda matched: matched[0] if matched[1] is None else matched[1], text)


def is_json(text: bytes) -> bool:
    """Return whether a text is exactly one JSON value; repeated names in objects are allowed."""
    try:
        parse(text, doubled=True)
    except Refused:
        return False
    return True


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else DuplicateNames(pairs)


def _members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = _members(pairs)
    if type(members) is DuplicateNames:
        members.refuse()
    return members


def _constant(name: str) -> NoReturn:
    raise Refused(f"not JSON: {name} without quotes")


_DECODER, _DOUBLED_TOO = (
    json.JSONDecoder(object_pairs_hook=hook, parse_int=Number, parse_float=Number, parse_constant=_constant)
    for hook in (_members_once, _members)
)


class RowReader:
    """Reader that checks parsed JSON against a field's type, and learns new fields of binary types."""

    def __init__(self, objects: ObjectTypes, form: JsonFormat) -> None:
        self._objects = objects
        self._form = form
        self._version = objects.version
        self._depth = 0
        self._members: dict[str, dict[str, tuple[str, Read]]] = {}
        self._required: dict[str, tuple[str, ...]] = {}
        # fields and readers for values of any type, by type name and JSON kind
        self._kinds: dict[tuple[str, str], tuple[pa.Field, Read]] = {}

    def forget(self) -> None:
        """Drop the kept readers of object members, because a bad record's changes of types were undone."""
        self._members = {}
        self._required = {}

    def value(self, item: Any, field: pa.Field) -> Any:
        """Convert a parsed JSON value to a field's type; raise Refused if it does not fit.

        The error names the field. Values are for :func:`~ignite_kafka.convert.ignite_types.row_encoder.array_of`.
        """
        return self.reader(field)(item)

    def reader(self, field: pa.Field) -> Read:
        """Return the function that converts parsed JSON values to a field's type."""
        read = self._not_null(field)
        if field.nullable:
            return lambda item: None if item is None else read(item)
        return lambda item: no_null() if item is None else read(item)

    def _not_null(self, field: pa.Field) -> Read:
        kind = field.type
        mark = mark_of(field)
        metadata = field.metadata or {}
        type_name = str(metadata.get(TYPE_NAME, b""), "utf-8")
        if is_a(field, OBJECT) or pa.types.is_struct(kind):
            return partial(self._object, type_name)
        if is_a(field, ANY):
            return partial(self._any, type_name)
        if is_a(field, REFUSED):
            why = str(metadata[REASON], "utf-8")
            return lambda item: refuse(why)
        if pa.types.is_list(kind):
            element = kind.value_field
            if not is_a(element, ANY):
                return partial(_list, self.reader(element))
            return partial(self._any_list, str(element.metadata[TYPE_NAME], "utf-8"), self.reader(element))
        if pa.types.is_map(kind):
            return partial(_map, self.reader(kind.key_field), self.reader(kind.item_field))
        if mark == "enum":
            names = {ordinal: label for label, ordinal in enum_values(field).items()}
            return partial(constant_of, type_name, enum_forms(field), names, pa.types.is_string(kind))
        if mark == "decimal" or pa.types.is_decimal(kind):
            return partial(
                decimal_of, kind if pa.types.is_decimal(kind) else None, self._form.decimal_format == "NUMERIC"
            )
        return scalar_reader(kind, mark, strict=is_strict(field))

    def _any_list(self, type_name: str, read: Read, item: Any) -> list[Any]:
        """Convert a JSON array whose elements determine their own types.

        A text such as NaN is read as a number, unless this list or an earlier one has other texts.
        """
        if type(item) is list and any(type(element) is str for element in item):
            content = self._objects.lists.get(type_name)
            numbers = any(type(element) is Number for element in item)
            others = any(element not in QUOTED_FLOATS for element in item if type(element) is str)
            alone = not numbers and all(element is None or type(element) is str for element in item)
            if others and content != "text":
                self._objects.remember(type_name, "text")
            elif not others and (numbers or (alone and content != "text" and not self._objects.of_key(type_name))):
                if content is None or (numbers and content == "guess"):
                    self._objects.remember(type_name, "number" if numbers else "guess")
                item = [QuotedFloat(element) if type(element) is str else element for element in item]
        return _list(read, item)

    def _any(self, type_name: str, item: Any) -> Typed:
        kind = type_name, _json_kind(item)
        entry = self._kinds.get(kind)
        if entry is None:
            field = kind_of(item, type_name)
            entry = self._kinds[kind] = field, self._not_null(field)
        field, read = entry
        self._objects.hint(type_name, field)
        return Typed(field, self._deeper(read, item) if type(item) is list else read(item))  # objects count themselves

    def _object(self, type_name: str, item: Any) -> dict[str, Any]:
        if type(item) is str and not self._objects.names.is_known(type_name) and not self._objects.written(type_name):
            refuse(unknown_class(type_name))
        members: dict[str, Any] = self._deeper(partial(self._fields, type_name), expect(dict, "object", item))
        return members

    def _deeper(self, read: Read, item: Any) -> Any:
        if self._depth == MAX_DEPTH:
            refuse(f"is nested deeper than {MAX_DEPTH}")
        self._depth += 1
        try:
            return read(item)
        finally:
            self._depth -= 1

    def _fields(self, type_name: str, item: dict[str, Any]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, member in item.items():
            label, read = self._members_of(type_name).get(name) or self._member(type_name, name, member)
            try:
                value = None if member is None else self._read(type_name, label, read, member)
                if value is not None and members.get(label) is not None:
                    refuse(f"and {label} are one field for Ignite, which does not tell upper from lower case")
            except Refused as error:
                raise error.within(name) from None
            if value is not None or label not in members:
                members[label] = value
        for required in self._names_required(type_name):
            if members.get(required) is None:
                raise self._null_error(type_name, required).within(required)
        return members

    def _null_error(self, type_name: str, name: str) -> Refused:
        field = self._objects.field(type_name, name)
        unknown = undecided_class(field) if field is not None else ""
        return Refused(unknown_class(unknown), of_value=True) if unknown else null_error()

    def _names_required(self, type_name: str) -> tuple[str, ...]:
        """Return the names of a type's fields that must not be null.

        The names are kept until a type changes, because a type may have many more fields than its objects.
        """
        self._members_of(type_name)
        names = self._required.get(type_name)
        if names is None:
            if not self._objects.written(type_name):
                refuse(f"is an object of {type_name}, of which no field is known yet")
            names = tuple(field.name for field in self._objects.fields(type_name) if not field.nullable)
            self._required[type_name] = names
        return names

    def _read(self, type_name: str, label: str, read: Read, member: Any) -> Any:
        """Convert a member of an object; correct a guessed field type, or make it certain."""
        try:
            value = read(member)
        except Refused:
            field = self._objects.reconsider(type_name, label, member)
            if field is None:
                raise
            return self._not_null(field)(member)
        if self._objects.guessing and (type(member) is Number or (type(member) is str and member not in QUOTED_FLOATS)):
            self._objects.settle(type_name, label)
        return value

    def _members_of(self, type_name: str) -> dict[str, tuple[str, Read]]:
        """Return the kept readers of a type's members by JSON name; they are dropped when a type changes."""
        if self._version != self._objects.version:
            self._members = {}
            self._required = {}
            self._version = self._objects.version
        return self._members.setdefault(type_name, {})

    def _member(self, type_name: str, name: str, member: Any) -> tuple[str, Read]:
        try:
            text_of(name)
            if self._objects.columns.contract.discards(type_name, name):
                return self._discarded(type_name, name)
            field = self._objects.field(type_name, name)
            if member is not None and (why := self._objects.columns.refusal(type_name, name)) is not None:
                refuse(why)
            if field is not None and field.name != name:
                self._objects.spell(type_name, name)
            if field is None or (is_a(field, UNKNOWN) and member is not None):
                if member is not None and (other := self._objects.same_id(type_name, name)) is not None:
                    refuse(f"has the field id of {other!r}: Ignite does not tell these names apart")
                field = self._objects.learn(type_name, name, member)
            if field is not None and member is not None and (unknown := undecided_class(field)):
                field = self._objects.decide(type_name, name, is_object=_holds_objects(member))
                if field is None:
                    refuse(unknown_class(unknown))
            if field is None and self._objects.is_full(type_name):
                refuse(f"is not a field of {type_name}, to which records add no field beyond {MAX_FIELDS}")
            if field is None:
                refuse(f"is not a field of {type_name}, whose fields are fixed since they make the key")
        except Refused as error:
            raise error.within(repr(name)[1:-1]) from None
        if is_open(field):
            return field.name, no_value
        read = self._not_null(field)
        if column := column_class(field):
            read = partial(_of_column, read, column)
        entry = self._members_of(type_name)[name] = field.name, read
        return entry

    def _discarded(self, type_name: str, name: str) -> tuple[str, Read]:
        """Return the reader of a member that is left out; not kept beyond MAX_FIELDS, as names may be without end."""
        members = self._members_of(type_name)
        skipped = name, no_value
        if len(members) < MAX_FIELDS:
            members[name] = skipped
        return skipped


def _holds_objects(item: Any) -> bool:
    """Return whether a JSON value is an object or, by its first element that is not null, an array of objects."""
    first = next((first for first in item if first is not None), None) if type(item) is list else item
    return isinstance(first, dict)


def _of_column(read: Read, java_type: str, item: Any) -> Any:
    """Convert a field that has the name of a key column; an error names the column's Java class."""
    try:
        return read(item)
    except Refused as error:
        raise error.because(f"the key's column of this name is a {java_type}") from None


def _json_kind(item: Any) -> str:
    """Return the kind of a parsed JSON value: its class name or, for a number, `fraction` or `integer`."""
    kind = type(item)
    if kind is Number:
        return "fraction" if "." in item or "e" in item or "E" in item else "integer"
    return kind.__name__


def _list(read: Read, item: Any) -> list[Any]:
    values: list[Any] = []
    try:
        for element in expect(list, "array", item):
            values.append(read(element))
    except Refused as error:
        raise error.within(f"[{len(values)}]") if type(item) is list else error from None
    return values


def report_list_guesses(objects: ObjectTypes) -> None:
    """Report, once per element type, lists that were read as doubles only because of texts such as NaN."""
    for type_name, content in objects.lists.items():
        if content == "guess":
            emit(FLOAT_GUESSED, type=type_name, field="(list element)", kind="double")
            objects.lists[type_name] = "number"


def _map(read_key: Read, read_item: Read, item: Any) -> list[tuple[Any, Any]]:
    """Convert a JSON map: an object, or an array of [key, value] if the keys are not text."""
    pairs = []
    for pair in item.items() if type(item) is dict else expect(list, "object", item):
        if type(pair) not in (list, tuple) or len(pair) != 2:
            refuse("is an array of something else than [key, value] where a map is due")
        try:
            pairs.append((read_key(pair[0]), read_item(pair[1])))
        except Refused as error:
            raise error.within(repr(pair[0])[1:-1] if type(pair[0]) is str else str(pair[0])) from None
    return pairs
