"""JSON of this program's own Kafka records, read with checked types and limited size.

The same limits apply when they are written and read.

Whoever may write to an internal topic chooses its bytes. So every reader takes JSON from :func:`loads`, and fields from
:func:`read_as` or from the functions for single values: all of them raise ValueError, and nothing else, for a record of
another form.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import RecordTooLarge

MOST_BYTES = 16 << 20
"""Maximum size of a key or a value, in bytes.

This is 16 times the brokers' default limit, and more than a status of 50,000 caches.
"""
MOST_DEPTH = 64
"""Maximum nesting of arrays and objects; records of this program have fewer than ten levels.

Recursive code can walk through this number of levels.
"""

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAY_HOLD_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
T = TypeVar("T")
Reader = Callable[[object], Any]


@dataclass(frozen=True)
class Range:
    """Inclusive bounds of a number in a dataclass that :func:`read_as` reads.

    It is used as ``Annotated[int, Range(…)]`` in a dataclass for :func:`read_as`.
    """

    least: float
    most: float


_INT64 = Range(-(1 << 63), (1 << 63) - 1)
_FINITE = Range(-math.inf, math.inf)
MOST_MILLISECONDS = 253_402_300_799_999
"""Last millisecond of the year 9999 since 1970; later times cannot be formatted."""
Milliseconds = Annotated[int, Range(0, MOST_MILLISECONDS)]
"""A time in milliseconds since 1970."""


def dumps(value: object) -> bytes:
    """Write a record's key or value as JSON, to be read by :func:`loads`.

    :raises RecordTooLarge: the JSON has more than :data:`MOST_BYTES`.
    """
    data = json.dumps(value, separators=(",", ":")).encode()
    if len(data) > MOST_BYTES:
        what = f"a record of an internal topic would have {len(data):,} bytes, and readers accept {MOST_BYTES:,}"
        raise RecordTooLarge(what, "Divide the caches or topics among several connectors.")
    return data


def loads(data: bytes | str) -> Any:
    """Parse the JSON of a record's key or value; unpaired surrogates become U+FFFD, so that it can be written again.

    :raises ValueError: the data is no JSON in UTF-8, has more than :data:`MOST_BYTES`, is nested deeper than
        :data:`MOST_DEPTH`, or has a number of more digits than Python converts.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
    text = data if isinstance(data, str) else data.decode()
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    # the replacement is slow for a hundred thousand small records, and only few records need it
    if text.count("[") + text.count("{") > MOST_DEPTH or _MAY_HOLD_SURROGATE.search(text):
        return _replace_surrogates(value, MOST_DEPTH)
    return value


_TOO_DEEP = f"it is nested deeper than {MOST_DEPTH} levels"


def _replace_surrogates(value: Any, levels: int) -> Any:
    """Replace unpaired surrogates in a JSON value by U+FFFD, at every level.

    :raises ValueError: the value has more levels.
    """
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if not isinstance(value, list | dict):
        return value
    if not levels:
        raise ValueError(_TOO_DEEP)
    if isinstance(value, list):
        return [_replace_surrogates(item, levels - 1) for item in value]
    return {_replace_surrogates(name, 0): _replace_surrogates(item, levels - 1) for name, item in value.items()}


def integer(value: object, least: float = _INT64.least, most: float = _INT64.most) -> int:
    """Return a JSON value that must be an integer within bounds; otherwise raise ValueError.

    :raises ValueError: the value is anything else, such as a boolean.
    """
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"it is no integer from {least:,} to {most:,}")
    return value


def boolean(value: object) -> bool:
    """Return a JSON value that must be a boolean; otherwise raise ValueError.

    :raises ValueError: the value is anything else.
    """
    if not isinstance(value, bool):
        raise ValueError("it is neither true nor false")
    return value


def text(value: object) -> str:
    """Return a JSON value that must be a text; otherwise raise ValueError.

    :raises ValueError: the value is anything else.
    """
    if not isinstance(value, str):
        raise ValueError("it is no text")
    return value


def array(value: object) -> list[Any]:
    """Return a JSON value that must be an array; otherwise raise ValueError.

    :raises ValueError: the value is anything else.
    """
    if not isinstance(value, list):
        raise ValueError("it is no array")
    return value


def json_object(value: object) -> dict[str, Any]:
    """Return a JSON value that must be an object; otherwise raise ValueError.

    :raises ValueError: the value is anything else.
    """
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    return value


def read_as(kind: type[T], value: object) -> T:
    """Build a dataclass from a JSON object, each field checked against its declared type.

    Types are bool, int (64 bits), float (finite), str, None, Any, dataclasses, tuples, mappings by text or integer,
    unions of these, and numbers annotated with a :class:`Range`.

    :raises ValueError: a field is missing, or its value has another type or is out of range.
    """
    form: Any = kind
    reader: Reader = _reader(form)
    result: T = reader(value)
    return result


def _number(value: object, bounds: Range) -> float:
    number = float(integer(value)) if isinstance(value, int) else value
    if not isinstance(number, float) or not math.isfinite(number) or not bounds.least <= number <= bounds.most:
        raise ValueError("it is no finite number within its range")
    return number


def _check_null(value: object) -> None:
    if value is not None:
        raise ValueError("it is not null")


_SCALARS: Mapping[object, Reader] = {
    Any: lambda value: value,
    bool: boolean,
    str: text,
    int: integer,
    float: lambda value: _number(value, _FINITE),
    NoneType: _check_null,
}


@cache
def _reader(form: Any) -> Reader:
    """Return the function that checks and converts JSON values to a declared type."""
    if form in _SCALARS:
        return _SCALARS[form]
    if is_dataclass(form):
        return _dataclass_reader(form)
    origin = get_origin(form)
    of = get_args(form)
    if origin is Annotated:
        bounds = of[1]
        return (
            (lambda value: integer(value, bounds.least, bounds.most))
            if of[0] is int
            else (lambda value: _number(value, bounds))
        )
    if origin in (Union, UnionType):
        return _union_reader([_reader(kind_of_union) for kind_of_union in of])
    if origin is tuple:
        return _tuple_reader(of)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_reader(of[0], _reader(of[1]))
    raise TypeError(f"{form} is no type of JSON values")


def _dataclass_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind, include_extras=True)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
    required = [field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]

    def read(value: object) -> Any:
        members = json_object(value)
        arguments = {}
        for name, reader in readers.items():
            if name in members:
                try:
                    arguments[name] = reader(members[name])
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from None
        missing = [name for name in required if name not in arguments]
        if missing:
            raise ValueError(f"{missing[0]} is missing")
        return kind(**arguments)

    return read


def _union_reader(readers: list[Reader]) -> Reader:
    def read(value: object) -> Any:
        reasons = []
        for reader in readers:
            try:
                return reader(value)
            except ValueError as error:
                reasons.append(str(error))
        raise ValueError(" and ".join(reasons))

    return read


def _tuple_reader(of: tuple[Any, ...]) -> Reader:
    if of[-1] is Ellipsis:
        item = _reader(of[0])
        return lambda value: tuple(map(item, array(value)))
    readers = [_reader(kind_of_item) for kind_of_item in of]

    def read(value: object) -> Any:
        items = array(value)
        if len(items) != len(readers):
            raise ValueError(f"it has {len(items)} items instead of {len(readers)}")
        return tuple(reader(item) for reader, item in zip(readers, items, strict=True))

    return read


def _mapping_reader(key: Any, item: Reader) -> Reader:
    name_of = _named_integer if key is int else text
    return lambda value: {name_of(name): item(member) for name, member in json_object(value).items()}


def _named_integer(name: str) -> int:
    """Return the integer in the name of a JSON member, because names are texts."""
    if not _INTEGER.fullmatch(name):
        raise ValueError("the name of a member is no integer")
    return integer(int(name))
