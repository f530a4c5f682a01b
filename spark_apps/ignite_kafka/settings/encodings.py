"""Text encodings under the names that Java gives them, with Python's equal codec."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .fields import SettingType

CODECS: Mapping[str, str] = MappingProxyType(
    {
        "UTF-8": "utf-8", "UTF-16": "utf-16", "UTF-16BE": "utf-16-be", "UTF-16LE": "utf-16-le", "US-ASCII": "ascii",
        "ISO-8859-1": "latin-1", "ISO-8859-15": "iso8859-15", "windows-1252": "cp1252",
    }
)  # fmt: skip
"""Python's codecs by Java's canonical names. Java's UTF-16 is big-endian with a byte order mark on every machine."""

_ALIASES = {
    "UTF-8": ("utf8", "unicode-1-1-utf-8"),
    "UTF-16": ("utf16", "utf_16", "unicode", "unicodebig"),
    "UTF-16BE": ("utf_16be", "iso-10646-ucs-2", "x-utf-16be", "unicodebigunmarked"),
    "UTF-16LE": ("utf_16le", "x-utf-16le", "unicodelittleunmarked"),
    "US-ASCII": ("ascii", "iso646-us", "us", "646", "ascii7", "cp367", "ibm367"),
    "ISO-8859-1": ("iso8859_1", "iso8859-1", "iso_8859-1", "iso_8859_1", "8859_1", "latin1", "l1", "ibm819", "cp819"),
    "ISO-8859-15": ("iso8859_15", "iso8859-15", "iso_8859-15", "8859_15", "latin9", "latin-9", "l9", "ibm923", "cp923"),
    "windows-1252": ("cp1252", "cp5348", "ibm-1252", "ibm1252"),
}
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in (name.lower(), *aliases)}


def _encoding(value: object) -> str:
    name = _NAMES.get(value.strip().lower()) if isinstance(value, str) else None
    if name is None:
        raise ValueError("it is none of these")
    return name


ENCODING = SettingType("string", f"{', '.join(CODECS)}, or a name that Java has for one of them", _encoding)
"""Type of a setting whose value is a text encoding."""
