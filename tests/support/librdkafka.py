"""Configuration properties of the installed librdkafka, as the library lists them."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from confluent_kafka import cimpl


def table(path: Path) -> str:
    """Write the library's CONFIGURATION.md to the path and return its text."""
    library, libc = ctypes.CDLL(cimpl.__file__), ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    libc.fopen.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    libc.fclose.argtypes = library.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p]
    file = libc.fopen(bytes(path), b"w")
    library.rd_kafka_conf_properties_show(file)
    libc.fclose(file)
    return path.read_text()


def names(path: Path) -> dict[str, set[str]]:
    """Return property names by client: ``*`` all, ``P`` producers, ``C`` consumers."""
    found: dict[str, set[str]] = {"*": set(), "P": set(), "C": set()}
    for name, letter in re.findall(r"^([a-z0-9._]+) +\| +([*PC]) +\|", table(path), re.MULTILINE):
        found[letter].add(name)
    return found


def aliases(path: Path) -> list[tuple[str, str]]:
    """Return pairs of alias and property name."""
    return re.findall(r"^([a-z0-9._]+) +\|.*Alias for `([a-z0-9._]+)`", table(path), re.MULTILINE)
