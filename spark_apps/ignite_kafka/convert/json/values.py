"""Readers of single JSON values by their expected type, and the error of a value that does not fit.

Numbers keep their digits until their type is known, so that only floats are converted to float.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any, NoReturn

import pyarrow as pa

from ...common.redaction import in_message
from ...ignite.binary.decode_decimals import MAX_MAGNITUDE
from ..ignite_types.table_contract import ContractBreach
from ..rules.exact_numbers import holds
from ..rules.json_bytes import base64_bytes
from ..rules.json_times import DAY_MS, MOST_MILLIS
from ..rules.parsed_json import QUOTED_FLOATS, Number, QuotedFloat
from .read_columns import UUID_FORM

Read = Callable[[Any], Any]

_INTEGRAL = re.compile(r"-?[0-9]{1,19}\Z")
_UUID = re.compile(UUID_FORM.replace("$", r"\Z"))
_MARKED_RANGES = {"char": (0, 0xFFFF), "time": (0, DAY_MS), "date": (-(2**63), 2**63 - 1)}
_DECLARE_NUMBER = (
    "declare the field (java.math.BigDecimal, or java.lang.Double where it may be rounded), or use converter "
    "ignite-binary"
)
_EXACT = Context(prec=100_000, Emax=MAX_EMAX, Emin=MIN_EMIN)
MOST_DIGITS = 40_000  # about MAX_MAGNITUDE bytes; 1E+999999999 would have a gigabyte in Ignite


class Refused(Exception):
    """Error of a record that cannot be converted; outer field names are added as it propagates."""

    def __init__(self, what: str, *, of_value: bool = False) -> None:
        super().__init__(what)
        self._what = what
        self._of_value = of_value
        self._path = ""

    def within(self, name: str) -> Refused:
        """Put the name of an outer field or position in front of the error's path; return the error."""
        self._path = f"{name}.{self._path}" if self._path and not self._path.startswith("[") else f"{name}{self._path}"
        return self

    def because(self, cause: str) -> Refused:
        """Add a cause to the error's text; return the error."""
        self._what = f"{self._what}: {cause}"
        return self

    @property
    def reason(self) -> str:
        """Reason why the record is bad, as a sentence that names the field."""
        if not self._of_value:
            return self._what
        text = f"field {self._path} {self._what}" if self._path else f"it {self._what}"
        return ContractBreach(text, self._what.contract) if isinstance(self._what, ContractBreach) else text


class DuplicateNames(dict[str, Any]):
    """A JSON object with repeated names, which are an error only if they are read; the last member counts."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self._twice = [name for name in self if counts[name] > 1]

    def refuse(self, read: Iterable[str] | None = None) -> None:
        """Raise Refused if a name to be read occurs twice in the object.

        :param read: the names to be read; None: all.
        """
        among = self.keys() if read is None else set(read)
        for name in self._twice:
            if name in among:
                raise Refused(f"the name {name!r} stands twice in an object")


def decimal_of(kind: pa.DataType | None, numeric: bool, item: Any) -> Any:
    """Convert a JSON number or base64 text to a decimal; as text if its type has no fixed scale."""
    if numeric:
        value = number_of(_digits(item))
    elif kind is None:
        refuse("is a decimal whose scale is not known, which the form BASE64 leaves out: declare it, or use NUMERIC")
    else:
        data = bytes_of(item)
        if not 0 < len(data) <= MAX_MAGNITUDE:
            refuse(f"is a decimal of {len(data)} bytes, which its type cannot hold")
        value = Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-kind.scale, _EXACT)
    if kind is None:
        return str(value)
    limit = Decimal(10) ** (kind.precision - kind.scale)
    unit = Decimal((0, (1,), -kind.scale))
    if abs(value) >= limit or value != (rounded := value.quantize(unit, context=_EXACT)):
        refuse(
            f"is {_short(str(value))}, which is no decimal of {kind.precision} digits, {kind.scale} of them a fraction"
        )
    return rounded


def number_of(digits: str) -> Decimal:
    """Return the decimal of a JSON number; raise Refused for more digits than Ignite allows."""
    value = parsed(digits)
    if value is None or abs(value.adjusted()) > MOST_DIGITS or len(digits) > MOST_DIGITS:
        refuse(f"is a decimal of more than {MOST_DIGITS} digits")
    return value


def parsed(digits: str) -> Decimal | None:
    """Return the decimal of a number's text; None if its exponent is beyond Python's limit."""
    try:
        return Decimal(digits)
    except InvalidOperation:
        return None


def scalar_reader(kind: pa.DataType, mark: str | None, *, strict: bool = False) -> Read:
    """Return the function that converts a JSON value to a simple type; `strict` refuses inexact doubles."""
    if mark in _MARKED_RANGES:
        return partial(_integer, *_MARKED_RANGES[mark])
    if mark == "uuid":
        return _uuid
    if pa.types.is_boolean(kind):
        return partial(expect, bool, "boolean")
    if pa.types.is_integer(kind):
        bits = kind.bit_width - 1
        return partial(_integer, -(1 << bits), (1 << bits) - 1)
    if pa.types.is_floating(kind):
        return partial(_float, kind, strict)
    if pa.types.is_binary(kind):
        return bytes_of
    if pa.types.is_timestamp(kind):
        return lambda item: 1000 * _integer(-MOST_MILLIS, MOST_MILLIS, item)
    if pa.types.is_date32(kind):
        return partial(_integer, -(2**31), 2**31 - 1)
    return text_of


def _uuid(item: Any) -> str:
    text = text_of(item)
    if not _UUID.match(text):
        refuse("is no UUID")
    return text


def _float(kind: pa.DataType, strict: bool, item: Any) -> float:
    if type(item) in (str, QuotedFloat) and item in QUOTED_FLOATS:
        return float(QUOTED_FLOATS[item])
    digits = _digits(item)
    value = float(digits)
    if kind == pa.float32() and math.isfinite(value):
        value = pa.scalar(digits).cast(kind).as_py()  # directly, not through a double, so that it is rounded once
    if not math.isfinite(value):
        refuse(f"is {_short(digits)}, which is beyond a {'float' if kind == pa.float32() else 'double'}")
    if strict and not holds(digits, value):
        refuse(f"is {_short(digits)}, which a double does not hold ({in_message(repr(value))}): {_DECLARE_NUMBER}")
    return value


def _integer(low: int, high: int, item: Any) -> int:
    digits = _digits(item)
    if not _INTEGRAL.match(digits):
        refuse(f"is {_short(digits)}, which is no integer of its type")
    value = int(digits)
    if not low <= value <= high:
        refuse(f"is {in_message(value)}, outside of {low} to {high}")
    return value


def bytes_of(item: Any) -> bytes:
    """Decode a base64 text; raise Refused for another value."""
    data = base64_bytes(text_of(item))
    if data is None:
        refuse("is no base64")
    return data


def constant_of(type_name: str, forms: dict[str, int], names: dict[int, str], by_name: bool, item: Any) -> Any:
    """Convert an enum constant's name or ordinal to its name, or to its ordinal; raise Refused if it is unknown.

    :param forms: ordinals by the forms of a constant's name. :param names: names by ordinals.
    :param by_name: return the name, not the ordinal.
    """
    ordinal = (
        forms.get(item, -1)
        if type(item) is str
        else int(item)
        if type(item) is Number and _INTEGRAL.match(item)
        else -1
    )
    if ordinal not in names:
        refuse(f"is no constant of {type_name}")
    return names[ordinal] if by_name else ordinal


def _digits(item: Any) -> str:
    return item if type(item) is Number else str(expect(Number, "number", item))


def text_of(item: Any) -> str:
    """Return a JSON string; raise Refused for another value, or half of a surrogate pair."""
    text: str = expect(str, "text", item)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            refuse("has half of a surrogate pair")
    return text


_JSON_KINDS = {
    Number: "number",
    str: "text",
    bool: "boolean",
    dict: "object",
    DuplicateNames: "object",
    list: "array",
    type(None): "null",
}


def expect(kind: type, expected: str, item: Any) -> Any:
    """Return a JSON value if it has the expected type; otherwise raise Refused."""
    if type(item) is not kind:
        refuse(f"is a JSON {_JSON_KINDS[type(item)]} where a{'n' if expected[0] in 'ao' else ''} {expected} is due")
    return item


def no_value(item: Any) -> None:
    """Return None for any JSON value, because members without a type are not stored."""
    return


def no_null() -> NoReturn:
    """Raise Refused for a null that the type does not allow."""
    raise null_error()


def null_error() -> Refused:
    """Return the error of a null that the type does not allow."""
    return Refused("is null, which its type does not allow", of_value=True)


def refuse(what: str) -> NoReturn:
    """Raise Refused for a value that does not fit its type; the reason names the field."""
    raise Refused(what, of_value=True)


def _short(text: str) -> str:
    return in_message(text if len(text) <= 40 else f"{text[:37]}...")
