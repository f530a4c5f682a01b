"""Types for parsed JSON numbers that keep their digits, and Arrow fields for values without a declared type."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .marked_fields import any_kind, collection_of, reference

QUOTED_FLOATS = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}


class Number(str):
    """A JSON number, kept as its digits until its type is known."""

    __slots__ = ()


class QuotedFloat(str):
    """A quoted NaN, Infinity or -Infinity that is to be read as a float."""

    __slots__ = ()


def kind_of(value: Any, type_name: str, name: str = "") -> pa.Field:
    """Return the Arrow field for a parsed JSON value without a declared type: integers as long, fractions as double.

    :param type_name: binary type of objects. :param name: name of the field.
    """
    match value:
        case bool():
            return pa.field(name, pa.bool_())
        case dict():
            return reference(name, type_name)
        case list():
            return collection_of(name, any_kind("item", type_name))
        case _ if type(value) is str:
            return pa.field(name, pa.string())
        case QuotedFloat():
            return pa.field(name, pa.float64())
    return pa.field(name, pa.float64() if set(value) & set(".eE") else pa.int64())
