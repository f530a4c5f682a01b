"""Cost of a stream's poll without changes, or with few: polling the changed units against reading every unit."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyignite
from pyignite.datatypes.prop_codes import PROP_GROUP_NAME, PROP_NAME

from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.ignite.backlog_units import UNIT
from ignite_kafka.ignite.connection import ThinConnection
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.ignite.protocol import cache_id

from ..processes import stat
from ..report import Section, Table
from ..stack import Stack

_PARTITIONS = 1_024
_BATCH_BYTES = 16 << 20
_CHANGED = 100  # units
_SECONDS = 2.0  # of each kind of poll, for a CPU time that counts in hundredths of a second
_CONNECTOR = "bench-idle"
Poll = Callable[[], object]


def idle(stack: Stack, log: Callable[[str], None]) -> Section:
    """Measure polls of one connection and one connector, by turns, over more and more caches."""
    rows = []
    with ThinConnection(IgniteEndpoint((stack.ignite.address,)), IgniteCredentials()) as connection:
        for count in stack.sizes.idle_caches:
            rows.append(_row(stack, BacklogService(connection), count))
            log(f"  {rows[-1]}")
    about = (
        f"Caches of {_PARTITIONS:,} partitions in one cache group, captured by one connector on one node; nobody writes. *Every unit* is "
        f"read at each poll; or the node is asked what has changed, and nothing is read; or {_CHANGED} keys were put before, and what has "
        "changed is read and acknowledged. Milliseconds a poll; CPU is the node's."
    )
    headers = (
        "units",
        "every unit ms",
        "CPU ms",
        "what has changed ms",
        "CPU ms",
        f"with {_CHANGED} puts ms",
        "CPU ms",
    )
    return Section("An idle poll", about, (Table(headers, tuple(rows)),))


def _row(stack: Stack, service: BacklogService, count: int) -> tuple[str, ...]:
    names = [f"idle-{number}-{uuid.uuid4().hex[:6]}" for number in range(count)]
    host, _, port = stack.ignite.address.rpartition(":")
    client = pyignite.Client()
    with client.connect(host, int(port)):
        caches = [client.create_cache({PROP_NAME: name, PROP_GROUP_NAME: "idle"}) for name in names]
        started = service.start(_CONNECTOR, {"backlogFlushFreq": "10"}, names)
        units = _units(names, [started[f"incarnation.{name}"] for name in names])
        place = service.changed(_CONNECTOR, b"").place

        def changes() -> None:
            changed = service.changed(_CONNECTOR, place).units
            assert changed is not None
            found = service.read(_CONNECTOR, changed, _BATCH_BYTES)
            assert len(found.number) == _CHANGED
            service.acknowledge(_CONNECTOR, found.acknowledgement(changed))

        def put() -> None:
            nonlocal place
            place = service.changed(_CONNECTOR, place).place
            caches[0].put_all({number: number for number in range(_CHANGED)})
            service.barrier(_CONNECTOR)

        polls: list[tuple[Poll, Poll | None]] = [
            (lambda: service.read(_CONNECTOR, units, _BATCH_BYTES), None),
            (lambda: service.changed(_CONNECTOR, place), None),
            (changes, put),
        ]
        figures = [_cost(stack, poll, before) for poll, before in polls]
        service.stop(_CONNECTOR, destroy=True)
        for cache in caches:
            cache.destroy()
    return f"{units.size:,}", *(f"{value:,.2f}" for figure in figures for value in figure)


def _units(names: Sequence[str], incarnations: Sequence[int]) -> npt.NDArray[np.void]:
    units = np.empty((len(names), _PARTITIONS), UNIT)
    units["cache_id"] = np.array([cache_id(name) for name in names])[:, None]
    units["partition"] = np.arange(_PARTITIONS)
    units["incarnation"] = np.array(incarnations)[:, None]
    return units.ravel()


def _cost(stack: Stack, poll: Poll, before: Poll | None) -> tuple[float, float]:
    """Time and the node's CPU time of a poll, in milliseconds, the first ones left out."""
    cpu = took = 0.0
    end, polls = time.monotonic() + 3 * _SECONDS, 0
    while (took < _SECONDS and time.monotonic() < end) or polls < 5:
        if before is not None:
            before()
        warm = polls >= 2
        began, cpu_began = time.monotonic(), _cpu_s(stack)
        poll()
        if warm:
            took, cpu = took + time.monotonic() - began, cpu + _cpu_s(stack) - cpu_began
        polls += 1
    return took / (polls - 2) * 1e3, cpu / (polls - 2) * 1e3


def _cpu_s(stack: Stack) -> float:
    found = stat(stack.servers["ignite"])
    return found.cpu_seconds if found is not None else 0.0
