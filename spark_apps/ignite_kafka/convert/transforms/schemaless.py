"""Conversion of JSON values without a schema between texts and Python values, as transforms need it.

Each Java type has a Python type: Long int, Double float, String str, Boolean bool, Map dict, List list. A number that
no transform touches keeps its text. Members keep their order, unlike in Java's HashMap.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa

from ...java.hash_code import java_hash
from ...java.jackson_text import escape
from ...java.text import java_text
from ..connect.columns import ConnectColumn
from .json_objects import joined
from .thrown import Failures, Thrown

_CLASSES = {
    bool: "java.lang.Boolean", int: "java.lang.Long", float: "java.lang.Double", str: "java.lang.String",
    list: "java.util.ArrayList",
    dict: "java.util.HashMap", type(None): "null",
}  # fmt: skip


class Number(float):
    """Float with its JSON text, so that an untouched number is written unchanged."""

    text: str

    def __new__(cls, text: str) -> Number:
        """Create the number from its JSON text."""
        number = super().__new__(cls, text)
        number.text = text
        return number


_DECODER = json.JSONDecoder(parse_float=Number)


def parsed(column: ConnectColumn) -> list[Any]:
    """Parse a column of JSON texts to N Python values."""
    column = joined(column)
    if pa.types.is_null(column.data.type):
        return [None] * len(column.data)
    decode = _DECODER.decode
    return [None if text is None else decode(text.decode("utf-8", "surrogatepass")) for text in column.data.to_pylist()]


def written(values: list[Any]) -> ConnectColumn:
    """Write N Python values as a column of JSON texts."""
    return ConnectColumn(
        pa.array([None if value is None else value_text(value) for value in values], pa.binary()), None
    )


def value_text(value: Any) -> bytes:
    """Write a Python value as JSON text."""
    return escape(_text(value).encode("utf-8", "surrogatepass"))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return value.text if isinstance(value, Number) else double_text(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode_basestring(name)}:{_text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return str(value)


def double_text(value: float) -> str:
    """Write a double as JSON text, as Jackson does."""
    text: str = java_text(pa.array([value], pa.float64()))[0].as_py()
    return f'"{text}"' if not np.isfinite(value) else text


def class_of(value: Any) -> str:
    """Return the Java class that Kafka Connect would have for a value, for messages."""
    return _CLASSES[float if isinstance(value, float) else type(value)]


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    """Return a value that must be a map; otherwise raise Thrown, as ``Requirements.requireMap`` does.

    :raises Thrown: the value is not a map.
    """
    if not isinstance(value, dict):
        raise Thrown(f"Only Map objects supported in absence of schema for [{purpose}], found: {class_of(value)}")
    return value


def members(maps: list[dict[str, Any] | None], name: str) -> list[Any]:
    """Return one member of each map; None where map or member is missing."""
    return [None if mapping is None else mapping.get(name) for mapping in maps]


def in_hash_order(names: Iterable[str]) -> list[str]:
    """Return names in the order of a Java HashMap, so that the same exception comes first as in Kafka Connect."""
    kept = list(dict.fromkeys(names))
    size = 16
    while len(kept) > size * 3 // 4:
        size *= 2
    spread = {name: java_hash(name) & 0xFFFFFFFF for name in kept}
    return sorted(kept, key=lambda name: (spread[name] ^ spread[name] >> 16) & size - 1)


def row_by_row(values: list[Any], change: Callable[[int, Any], Any], failures: Failures) -> list[Any]:
    """Call a function for each value; a row on which it raises Thrown becomes None and fails.

    The function gets position and value; its exceptions are added to `failures`.
    """
    results = [None] * len(values)
    for row, value in enumerate(values):
        try:
            results[row] = change(row, value)
        except Thrown as error:
            mask = np.zeros(len(values), bool)
            mask[row] = True
            failures.add(mask, error.reason, error.exception)
    return results
