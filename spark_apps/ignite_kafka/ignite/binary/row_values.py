"""Python classes of the row decoder, for Ignite types without an exact Python type.

Numbers and chars are int and float, String is str, UUID is uuid.UUID, BigDecimal is decimal.Decimal, byte[] is bytes,
arrays and collections are lists; the rest is here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Date:
    """java.util.Date: milliseconds since the epoch, in 64 bits."""

    millis: int


@dataclass(frozen=True)
class Timestamp:
    """java.sql.Timestamp: `seconds` since the epoch, rounded down, and `nanos` of the second (0 to 999,999,999)."""

    seconds: int
    nanos: int


@dataclass(frozen=True)
class Time:
    """java.sql.Time: milliseconds since 1970-01-01T00:00Z as written.

    A writer's zone can make them negative or more than a day.
    """

    millis: int


@dataclass(frozen=True)
class SqlDate:
    """java.sql.Date: milliseconds of midnight in the writer's time zone, which the bytes do not name."""

    millis: int


@dataclass(frozen=True)
class LocalDate:
    """java.time.LocalDate; `year` may be outside the range of datetime.date."""

    year: int
    month: int
    day: int

    @property
    def epoch_day(self) -> int:
        """Days since 1970-01-01 in the proleptic Gregorian calendar (days_from_civil, H. Hinnant)."""
        year = self.year - (self.month <= 2)
        era, year_of_era = divmod(year, 400)
        day_of_year = (153 * (self.month + (-3 if self.month > 2 else 9)) + 2) // 5 + self.day - 1
        return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


@dataclass(frozen=True)
class LocalTime:
    """java.time.LocalTime: nanoseconds of the day."""

    nanos: int


@dataclass(frozen=True)
class LocalDateTime:
    """java.time.LocalDateTime."""

    date: LocalDate
    time: LocalTime


@dataclass(frozen=True)
class Instant:
    """java.time.Instant: `seconds` since the epoch and `nanos` of the second."""

    seconds: int
    nanos: int


@dataclass(frozen=True)
class EnumValue:
    """Constant of a Java enum: `name` of the constant, `type_name` of the enum."""

    type_id: int
    ordinal: int
    name: str
    type_name: str = ""


@dataclass(frozen=True)
class ClassName:
    """Value of type java.lang.Class: the class name."""

    name: str


@dataclass(frozen=True)
class MapValue:
    """java.util.Map: pairs in the order of the bytes; keys may be of any type."""

    items: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class Document:
    """Binary object: the `own` fields of its schema in order, then the type's other fields, all None.

    Objects are equal if their fields have the same values; schemas do not matter, and an absent field is None.
    """

    type_name: str
    type_id: int
    fields: dict[str, Any]
    own: int = field(compare=False)
