"""Substitutes for names of the standard library that Python 3.10 lacks.

``StrEnum``, ``Self``, ``UTC``, the parts of ``re``, times that end with Z.

Spark's images and Amazon EMR have Python 3.10. Everything else of the library runs there unchanged.
"""

from __future__ import annotations

import re
import sys
from datetime import datetime
from enum import Enum
from typing import Any

__all__ = ["UTC", "Self", "StrEnum", "parse_time", "parse_time_ms", "regex_compiler", "regex_constants", "regex_parser"]

if sys.version_info >= (3, 11):
    from datetime import UTC
    from enum import StrEnum
    from re import _compiler as regex_compiler  # type: ignore[attr-defined]
    from re import _constants as regex_constants  # type: ignore[attr-defined]
    from re import _parser as regex_parser  # type: ignore[attr-defined]
    from typing import Self
else:
    import sre_compile as regex_compiler
    import sre_constants as regex_constants
    import sre_parse as regex_parser
    from datetime import timezone

    UTC = timezone.utc
    Self = Any  # annotations are not evaluated

    class StrEnum(str, Enum):
        """Enumeration of texts that are formatted as their values."""

        __str__ = str.__str__
        __format__ = str.__format__


def parse_time_ms(text: str) -> int:
    """Parse an ISO 8601 time to milliseconds since 1970; without an offset it is UTC.

    :raises ValueError: it is no time.
    """
    moment = parse_time(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def parse_time(text: str) -> datetime:
    """Parse a date, or a time in ISO 8601.

    :raises ValueError: the text is neither.
    """
    if sys.version_info < (3, 11):
        # Python 3.10 accepts no Z, and only fractions of three or six digits
        text = re.sub(r"Z$", "+00:00", text)
        text = re.sub(r"(?<=:\d\d)[.,](\d+)", lambda fraction: f".{fraction[1][:6]:0<6}", text)
    return datetime.fromisoformat(text)
