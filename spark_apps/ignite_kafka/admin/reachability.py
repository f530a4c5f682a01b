"""Check of servers and packages from this process: each server must be reachable, each package importable.

The module imports only Python's own library, because executors may lack other packages.
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
"""Modules imported by the library on executors; their packages are those of setup.cfg, install_requires."""


@dataclass(frozen=True)
class HostView:
    """Packages and servers as seen by the processes of one host.

    :param host: host name, and id of the parent process: each executor on a host has its own.
    :param versions: versions of Python and :data:`PACKAGES`.
    :param missing: packages that cannot be imported, with the reason.
    :param unreachable: servers that cannot be reached, with the reason.
    """

    host: str
    versions: Mapping[str, str]
    missing: Mapping[str, str]
    unreachable: Mapping[str, str]


def inspect_host(servers: Mapping[str, tuple[str, ...]], _partition: Iterable[object] = ()) -> Iterator[HostView]:
    """Connect to servers and import the packages, as the work of a Spark task.

    :param servers: addresses (``host:port``) by server; one reachable address is enough.
    """
    versions = {"Python": platform.python_version()}
    missing = {}
    for package in PACKAGES:
        try:
            versions[package] = str(importlib.import_module(package).__version__)
        except ImportError as error:
            missing[package] = str(error)
    problems = {subject: find_problem(addresses) for subject, addresses in servers.items()}
    unreachable = {subject: problem for subject, problem in problems.items() if problem}
    yield HostView(_host_name(), versions, missing, unreachable)


def read_clock(_partition: Iterable[object] = ()) -> Iterator[tuple[str, float]]:
    """Read this host's clock, in seconds since 1970, as the work of a Spark task."""
    yield _host_name(), time.time()


def merge_hosts(views: Iterable[HostView]) -> dict[str, HostView]:
    """Merge the views of each host's processes; a package or server missing in one process is missing on the host."""
    by_host: dict[str, HostView] = {}
    for view in views:
        before = by_host.setdefault(view.host, view)
        missing = {**before.missing, **view.missing}
        unreachable = {**before.unreachable, **view.unreachable}
        by_host[view.host] = HostView(view.host, {**before.versions, **view.versions}, missing, unreachable)
    return by_host


def _host_name() -> str:
    return f"{socket.gethostname()}/{os.getppid()}"


def find_problem(addresses: Iterable[str]) -> str:
    """Return why no address (``host:port``) accepts a TCP connection; an empty text if at least one accepts."""
    problems = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        except OSError as error:
            problems.append(f"{address}: {error.strerror or error}")
        except ValueError as error:  # an invalid name, or a port that is no number
            problems.append(f"{address}: {error}")
        else:
            return ""
    return "; ".join(problems) or "it has no address"


def measure_skew_s(time_s: float, asked_s: float, answered_s: float) -> float:
    """Return the minimum number of seconds by which another clock is ahead; negative if the clock is behind.

    :param time_s: time of the other clock, read between `asked_s` and `answered_s` of this clock.
    """
    return max(0.0, time_s - answered_s) + min(0.0, time_s - asked_s)
