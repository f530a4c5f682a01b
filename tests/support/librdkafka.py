"""Configuration properties of the installed librdkafka, as the library lists them."""

from __future__ import annotations

import ctypes
import logging
import re
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import Producer, cimpl


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


def read_settings(config: Mapping[str, str]) -> dict[str, str]:
    """A producer's settings as the library has read them: those that differ from its defaults or were given, by name."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.Logger("librdkafka")
    logger.addHandler(handler)
    producer = Producer({**config, "debug": "conf"}, logger=logger)
    for _ in range(100):
        producer.poll(0.05)
        if any("Client configuration" in line for line in lines):
            break
    producer.poll(0.2)
    return {found[1]: found[2] for line in lines if (found := re.search(r"  ([a-z0-9._]+) = (.*)$", line))}
