"""Properties of the installed librdkafka, as the library itself lists them."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from confluent_kafka import cimpl


def table(path: Path) -> str:
    """CONFIGURATION.md of the installed library, written to a path and read from there."""
    library, libc = ctypes.CDLL(cimpl.__file__), ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    libc.fopen.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    libc.fclose.argtypes = library.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p]
    file = libc.fopen(bytes(path), b"w")
    library.rd_kafka_conf_properties_show(file)
    libc.fclose(file)
    return path.read_text()


def names(path: Path) -> dict[str, set[str]]:
    """Names by the letter of the table: * every client, P producers, C consumers."""
    found: dict[str, set[str]] = {"*": set(), "P": set(), "C": set()}
    for name, letter in re.findall(r"^([a-z0-9._]+) +\| +([*PC]) +\|", table(path), re.MULTILINE):
        found[letter].add(name)
    return found


def aliases(path: Path) -> list[tuple[str, str]]:
    """Pairs of an alias and the name that it stands for."""
    return re.findall(r"^([a-z0-9._]+) +\|.*Alias for `([a-z0-9._]+)`", table(path), re.MULTILINE)
