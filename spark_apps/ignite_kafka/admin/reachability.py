"""Reachable servers and versions of this process.

It imports nothing but Python's own library: executors may lack everything else.
"""

from __future__ import annotations

import importlib
import os
import platform
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

CONNECT_S = 5.0
PACKAGES = ("confluent_kafka", "numpy", "pyarrow", "polars", "yaml")
"""Modules that the library imports on executors; their packages are those of setup.cfg, install_requires."""


@dataclass(frozen=True)
class Seen:
    """What one process sees.

    :param host: its host and, on one host, the process that started it: an executor has one of its own.
    :param versions: of Python and :data:`PACKAGES`. :param missing: packages that cannot be imported, with the reason.
    :param unreachable: servers that no connection was made to, with the reason.
    """

    host: str
    versions: Mapping[str, str]
    missing: Mapping[str, str]
    unreachable: Mapping[str, str]


def look(places: Mapping[str, tuple[str, ...]], _partition: Iterable[object] = ()) -> Iterator[Seen]:
    """Connect to servers and import the packages; the work of a Spark task.

    :param places: addresses (``host:port``) of each server, of which one is enough.
    """
    versions = {"Python": platform.python_version()}
    missing = {}
    for package in PACKAGES:
        try:
            versions[package] = str(importlib.import_module(package).__version__)
        except ImportError as error:
            missing[package] = str(error)
    problems = {subject: problem_of(addresses) for subject, addresses in places.items()}
    unreachable = {subject: problem for subject, problem in problems.items() if problem}
    yield Seen(_host(), versions, missing, unreachable)


def clock(_partition: Iterable[object] = ()) -> Iterator[tuple[str, float]]:
    """Read this host's clock, in seconds since 1970; the work of a Spark task."""
    yield _host(), time.time()


def merged(seen: Iterable[Seen]) -> dict[str, Seen]:
    """Return what each host sees: what one of its processes lacks, it lacks."""
    by_host: dict[str, Seen] = {}
    for host in seen:
        before = by_host.setdefault(host.host, host)
        missing = {**before.missing, **host.missing}
        unreachable = {**before.unreachable, **host.unreachable}
        by_host[host.host] = Seen(host.host, {**before.versions, **host.versions}, missing, unreachable)
    return by_host


def _host() -> str:
    return f"{socket.gethostname()}/{os.getppid()}"


def problem_of(addresses: Iterable[str]) -> str:
    """Return why none of the addresses (``host:port``) takes a TCP connection; empty if one does."""
    problems = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        except OSError as error:
            problems.append(f"{address}: {error.strerror or error}")
        except ValueError as error:  # of a name that is none, or a port that is no number
            problems.append(f"{address}: {error}")
        else:
            return ""
    return "; ".join(problems) or "it has no address"


def skew_s(time_s: float, asked_s: float, answered_s: float) -> float:
    """Return by how many seconds a clock, read between two times of this one, is ahead (or behind.

    Negative) at least.
    """
    return max(0.0, time_s - answered_s) + min(0.0, time_s - asked_s)
