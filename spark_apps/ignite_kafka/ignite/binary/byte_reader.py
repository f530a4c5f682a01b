"""Reader of Ignite's binary format one value at a time, with bounds checks; base of the row decoder.

Errors name the position.
"""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ...errors import DecodeError, UnsupportedType
from .decode_decimals import MAX_MAGNITUDE, decimal_value
from .row_values import Timestamp
from .text import decode_text


@dataclass
class ByteReader:
    """Reader of raw bytes and numbers; each read advances `position`, at most to `limit`."""

    data: memoryview
    partition: int
    cache: str
    position: int = 0
    limit: int = 0

    def error(self, position: int, what: str, type_id: int | None = None) -> DecodeError:
        """Make the error for broken bytes at a position of the page."""
        place = {"cache": self.cache, "partition": self.partition, "type_id": type_id, "position": position}
        return DecodeError(what, "The bytes are broken or of an unknown format; nothing was skipped", **place)

    def unsupported(self, position: int, what: str, type_id: int | None = None) -> UnsupportedType:
        """Make the error for a valid value that this library cannot decode, at a position of the page."""
        place = {"cache": self.cache, "partition": self.partition, "type_id": type_id, "position": position}
        return UnsupportedType(what, "Copy this cache with the ignite-binary converter", **place)

    def take(self, count: int) -> memoryview:
        """Read the next `count` bytes."""
        start = self.position
        if count < 0:
            raise self.error(start, f"The length {count} is negative")
        if start + count > self.limit:
            raise self.error(start, f"{count} bytes are due and {self.limit - start} are left")
        self.position = start + count
        return self.data[start : self.position]

    def number(self, form: str) -> Any:
        """Read the next number, in the struct format of a single number."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]


@dataclass
class ScalarReader(ByteReader):
    """Reader of scalar values; each method begins after the type code."""

    def boolean(self) -> bool:
        """Read a boolean: one byte, 0 or 1."""
        byte = self.number("<B")
        if byte > 1:
            raise self.error(self.position - 2, "A boolean is neither 0 nor 1")
        return bool(byte)

    def string(self) -> str:
        """Read a string: int32 length and UTF-8."""
        start = self.position - 1
        data = bytes(self.take(self.number("<i")))
        try:
            return decode_text(data)
        except UnicodeError:
            raise self.error(start, "A String is no valid UTF-8") from None

    def uuid(self) -> uuid.UUID:
        """Read a UUID: two int64, the most significant first."""
        high = self.number("<Q")
        low = self.number("<Q")
        return uuid.UUID(int=high << 64 | low)

    def timestamp(self) -> Timestamp:
        """Read a timestamp: int64 milliseconds and int32 nanoseconds to add."""
        start = self.position - 1
        millis = self.number("<q")
        nanos = self.number("<i")
        seconds, rest = divmod(millis, 1000)
        if nanos < 0 or rest * 1_000_000 + nanos > 999_999_999:
            raise self.error(start, "A Timestamp has nanoseconds out of range")
        return Timestamp(seconds, rest * 1_000_000 + nanos)

    def decimal(self) -> Decimal:
        """Read a decimal: int32 scale, int32 length and magnitude, with the sign in its top bit."""
        start = self.position - 1
        scale = self.number("<i")
        magnitude = self.take(self.number("<i"))
        if not len(magnitude):
            raise self.error(start, "A BigDecimal has no digits")
        if len(magnitude) > MAX_MAGNITUDE:
            raise self.unsupported(start, f"A BigDecimal of {len(magnitude)} bytes, more than {MAX_MAGNITUDE}")
        return decimal_value(magnitude, scale)

    def primitive_array(self, form: str) -> list[Any]:
        """Read an array of numbers: int32 count, then items in a struct format."""
        count = self.number("<i")
        return list(struct.unpack(f"<{count}{form}", self.take(count * struct.calcsize("<" + form))))

    def booleans(self) -> list[bool]:
        """Read an array of booleans: int32 count and bytes."""
        start = self.position - 1
        data = self.take(self.number("<i"))
        if any(byte > 1 for byte in data):
            raise self.error(start, "A boolean is neither 0 nor 1")
        return [byte == 1 for byte in data]
