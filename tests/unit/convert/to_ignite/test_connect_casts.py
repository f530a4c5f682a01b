"""Casts of Connect's values to the classes that a query entity declares, against a plain statement of each: exact, or a bad record."""

from __future__ import annotations

import datetime
import math
import struct as binary_struct
import uuid
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, localcontext
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ignite_kafka.common.python_compat import UTC
from ignite_kafka.convert.connect import schema as connect
from ignite_kafka.convert.connect.schema import ConnectSchema, arrow_type
from ignite_kafka.convert.to_ignite.connect_casts import scalar_cast
from ignite_kafka.ignite.binary.row_values import Date, EnumValue, SqlDate, Time, Timestamp
from ignite_kafka.ignite.types.type_table import java_field
from tests.support.connect_records import converted, plain, struct
from tests.support.to_ignite_records import GrowingTypes, cache_of, decoded

DAY = 86_400_000
BAD = object()
EPOCH = datetime.date(1970, 1, 1)
INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
INTEGER_CLASSES = {"byte": 8, "java.lang.Short": 16, "int": 32, "java.lang.Long": 64}
COLORS = {"RED": 0, "GREEN": 1}
FORMS = ["RED", "GREEN", "Color.RED", "org.Outer$Color.GREEN", "Outer$Color.RED", "red", "BLUE", "", "0"]
UUIDS = [
    "12345678-9abc-def0-1234-56789abcdef0",
    "12345678-9ABC-DEF0-1234-56789ABCDEF0",
    "x",
    "1-1-1-1-1",
    "12345678-9abc-def0-1234-56789abcdef00",
]
CLASSES = [
    *INTEGER_CLASSES, "float", "java.lang.Double", "char", "boolean", "java.lang.String", "java.util.UUID", "[B", "java.math.BigDecimal",
    "java.util.Date", "java.sql.Timestamp", "java.sql.Time", "java.sql.Date", "org.Outer$Color",
]  # fmt: skip
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]


def whole(bits: int) -> st.SearchStrategy[int]:
    most = 1 << (bits - 1)
    return st.integers(-most, most - 1) | st.sampled_from([-most, most - 1, 0, 1, -1]) | st.integers(-100, 100)


def decimals(scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**37), 10**37).map(lambda number: Decimal(number).scaleb(-scale)) | st.integers(-500, 500).map(Decimal)


VALUES: dict[str, tuple[ConnectSchema, st.SearchStrategy[Any]]] = {
    **{name: (plain(name), whole(bits)) for name, bits in INTEGERS.items()},
    "float": (plain("float"), st.floats(width=32)),
    "double": (plain("double"), st.floats() | whole(64).map(float) | st.floats(width=32)),
    "boolean": (plain("boolean"), st.booleans()),
    "string": (plain("string"), st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from([*FORMS, *UUIDS])),
    "bytes": (plain("bytes"), st.binary(max_size=5)),
    **{f"decimal {scale}": (connect.decimal(scale), decimals(scale)) for scale in (0, 2, 9)},
    "date": (connect.date(), whole(32)),
    "time": (connect.time(), st.integers(0, DAY)),
    "timestamp": (connect.timestamp(), whole(64) | st.integers(-(10**5), 10**5).map(lambda days: days * DAY)),
}


def as_number(kind: str, value: Any) -> int | float | Decimal | None:
    """The number that a value stands for."""
    return value if kind in INTEGERS or kind in ("float", "double", "date", "time", "timestamp") or kind.startswith("decimal") else None


def integer(kind: str, value: Any, bits: int) -> Any:
    number = as_number(kind, value)
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        return BAD
    most = 1 << (bits - 1)
    return int(number) if int(number) == number and -most <= int(number) < most else BAD


def real(kind: str, value: Any, form: str) -> Any:
    number = as_number(kind, value)
    if number is None or kind in ("date", "time", "timestamp"):
        return BAD
    try:
        made = binary_struct.unpack(form, binary_struct.pack(form, float(number)))[0]
    except OverflowError:
        return BAD
    if isinstance(number, float):
        return made if made == number or math.isnan(number) else BAD
    if isinstance(number, Decimal) and form == "<d":
        return made if Decimal(repr(made)) == number or Decimal(made) == number or printed(number, made) else BAD
    return made if Decimal(made) == number else BAD


def printed(number: Decimal, made: float) -> bool:
    """Whether a double prints as the number with as many digits as that has, 17 at most."""
    with localcontext(Context(prec=100)):
        digits = len(number.normalize().as_tuple().digits)
    return digits <= 17 and Decimal(f"{made:.{digits}g}") == number


def big_decimal(kind: str, value: Any, scale: int) -> Any:
    if kind not in INTEGERS and not kind.startswith("decimal"):
        return BAD
    number = Decimal(value)
    if scale < 0:
        return number.quantize(Decimal(1).scaleb(-int(kind.split()[1])), context=wide()) if " " in kind else number
    with localcontext(Context(prec=200)):
        fitted = number.quantize(Decimal(1).scaleb(-scale))
    return fitted if fitted == number and abs(number) < Decimal(10) ** (38 - scale) else BAD


def wide() -> Any:
    with localcontext(Context(prec=200)) as context:
        return context.copy()


def midnight(day: int, zone: str) -> int:
    """Milliseconds at which a day begins in a zone."""
    if zone == "UTC":
        return day * DAY
    assume(-700_000 < day < 2_000_000)
    local = datetime.datetime.combine(EPOCH + datetime.timedelta(day), datetime.time(), ZoneInfo(zone))
    return round((local - datetime.datetime(1970, 1, 1, tzinfo=UTC)) / datetime.timedelta(milliseconds=1))


def day_of(kind: str, value: int, zone: str) -> Any:
    if kind in INTEGERS or kind == "date":
        return value if -(2**31) <= value < 2**31 else BAD
    if kind != "timestamp":
        return BAD
    if zone != "UTC":
        assume(abs(value) < 700_000 * DAY)
    return next((day for day in range(value // DAY - 1, value // DAY + 2) if midnight(day, zone) == value and abs(day) < 2**31), BAD)


def instant(kind: str, value: int, zone: str) -> Any:
    if kind == "date":
        return midnight(value, zone)
    return value if kind in INTEGERS or kind == "timestamp" else BAD


def expected(kind: str, value: Any, java: str, scale: int, zone: str) -> Any:
    """What a Java client reads, as the row decoder has it; or BAD."""
    if java in INTEGER_CLASSES:
        return integer(kind, value, INTEGER_CLASSES[java])
    if java in ("float", "java.lang.Double"):
        return real(kind, value, "<f" if java == "float" else "<d")
    if java == "java.math.BigDecimal":
        return big_decimal(kind, value, scale)
    if java in SIMPLE:
        wanted, made = SIMPLE[java]
        return made(value) if kind == wanted else BAD
    if java == "char":
        return value if kind in INTEGERS and 0 <= value <= 0xFFFF else BAD
    if java == "org.Outer$Color":
        return color(kind, value)
    if java == "java.sql.Time":
        return time(kind, value, zone)
    if java == "java.sql.Date":
        day = day_of(kind, value, zone)
        return BAD if day is BAD else SqlDate(midnight(day, zone))
    millis = instant(kind, value, zone)
    if millis is BAD or java == "java.util.Date":
        return BAD if millis is BAD else Date(millis)
    return Timestamp(millis // 1000, millis % 1000 * 1_000_000) if abs(millis) <= (2**63 - 1) // 1000 else BAD


SIMPLE: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "boolean": ("boolean", bool), "java.lang.String": ("string", str), "[B": ("bytes", bytes),
    "java.util.UUID": ("string", lambda text: uuid.UUID(text) if text in UUIDS[:2] else BAD),
}  # fmt: skip


def color(kind: str, value: Any) -> Any:
    if kind == "string":
        return {"RED": 0, "Color.RED": 0, "GREEN": 1, "org.Outer$Color.GREEN": 1}.get(value, BAD)
    return value if kind in INTEGERS and value in (0, 1) else BAD


def time(kind: str, value: Any, zone: str) -> Any:
    ahead = {"UTC": 0, "Europe/Berlin": 1, "America/New_York": -5, "Asia/Kolkata": 5.5}[zone]
    return Time(value - int(ahead * 3_600_000)) if (kind in INTEGERS or kind == "time") and 0 <= value <= DAY else BAD


def same(found: Any, wanted: Any) -> bool:
    if isinstance(found, EnumValue):
        return bool(found.ordinal == wanted)
    if isinstance(found, float) and math.isnan(found):
        return isinstance(wanted, float) and math.isnan(wanted)
    if isinstance(found, Decimal):
        return found == wanted and found.as_tuple().exponent == wanted.as_tuple().exponent
    return bool(found == wanted and type(found) is type(wanted))


@pytest.mark.parametrize("java", CLASSES)
@given(data=st.data())
def test_a_cast_is_exact_or_the_record_is_bad(java: str, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(VALUES)), "schema")
    zone = data.draw(st.sampled_from(ZONES), "zone")
    scale = data.draw(st.sampled_from([-1, 0, 2, 12]), "scale")
    schema, strategy = VALUES[kind]
    given_values = data.draw(st.lists(strategy | st.none(), min_size=1, max_size=6), "values")
    wanted = [None if value is None else expected(kind, value, java, scale, zone) for value in given_values]
    types = GrowingTypes()
    types.add("org.Outer$Color", {}, enum=list(COLORS))
    cache = cache_of({"f": java}, scale=scale)
    of_struct = struct(None, f=schema)
    entries = converted(cache, types, [(of_struct, {"f": value}) for value in given_values], zone=zone)
    assert [bad.row for bad in entries.bad] == [row for row, value in enumerate(wanted) if value is BAD]
    assert all(bad.reason.startswith("field f is ") for bad in entries.bad)
    found = [value.fields["f"] for _, value in decoded(entries, types)]
    right = [value for value in wanted if value is not BAD]
    assert len(found) == len(right)
    assert all(map(same, found, right)), (found, right)


def test_decimals_that_columns_hold_as_texts_or_in_256_bits() -> None:
    cast = scalar_cast(connect.decimal(2), java_field("d", "java.math.BigDecimal"))
    assert cast is not None
    for given_values in (pa.array(["1E+50", "12.50", None]), pa.array([Decimal(10**50), Decimal("12.50"), None], pa.decimal256(76, 2))):
        made = cast(given_values)
        assert [None if text is None else Decimal(text) for text in made.data.to_pylist()] == [Decimal("1E+50"), Decimal("12.50"), None]
        assert not made.wrong.any()
    fitted = scalar_cast(connect.decimal(2), java_field("d", "java.math.BigDecimal", 3))
    assert fitted is not None
    data, _, wrong = fitted(pa.array(["1E+50", "12.50", "x", None]))
    assert (data.to_pylist(), wrong.tolist()) == ([None, Decimal("12.500"), None, None], [True, False, True, False])


def test_a_day_without_midnight_begins_when_its_clocks_have_gone_forward() -> None:
    cast = scalar_cast(connect.date(), java_field("d", "java.util.Date"), "America/Sao_Paulo")
    assert cast is not None
    made = cast(pa.array([datetime.date(2018, 11, 4)], pa.date32()))
    assert made.data.to_pylist() == [datetime.datetime(2018, 11, 4, 3, tzinfo=UTC)]


@pytest.mark.parametrize("kind", sorted(VALUES))
def test_an_empty_column_and_one_of_nulls_fit_every_class_that_the_schema_fits(kind: str) -> None:
    schema, _ = VALUES[kind]
    for java in CLASSES[:-1]:
        cast = scalar_cast(schema, java_field("f", java, 2))
        for count in (0, 3):
            made = None if cast is None else cast(pa.nulls(count, arrow_type(schema)))
            assert made is None or (made.data.null_count, bool(made.wrong.any())) == (count, False)
