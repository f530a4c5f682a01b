"""Lags of a simulated connector, poll by poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ignite_kafka.admin.connector_lag import NEVER_STARTED, ConnectorLag
from ignite_kafka.kafka.partition_lag import PartitionLag
from ignite_kafka.state.status import RUNNING

NEVER = ConnectorLag("c", NEVER_STARTED)


def behind(count: int, *, position: int = 0, loaded: bool = True) -> ConnectorLag:
    """The lag of a connector with one cache of one partition."""
    partition = PartitionLag("flights", 0, position, position + count, count)
    return ConnectorLag("c", RUNNING, loaded, (partition,) if count else (), frozenset({"flights"}))


def simulate(monkeypatch: pytest.MonkeyPatch, *polls: ConnectorLag | Exception | Callable[[], ConnectorLag]) -> list[Any]:
    """Let readers return these lags; the list holds those that are left."""
    left = list(polls)

    def read(_reader: object, timeout_s: float) -> ConnectorLag:
        poll = left.pop(0)
        if isinstance(poll, Exception):
            raise poll
        return poll if isinstance(poll, ConnectorLag) else poll()

    monkeypatch.setattr("airflow_provider_ignite_kafka.runs.lag.LagReader.read", read)
    return left
