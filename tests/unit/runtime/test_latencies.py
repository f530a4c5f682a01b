"""Latencies of committed changes, by the clock of this machine."""

from __future__ import annotations

import numpy as np
import pytest

from ignite_kafka.common.measurements import LATENCY, Measurements, collect
from ignite_kafka.runtime import latencies
from ignite_kafka.runtime.latencies import observe_latencies

NOW_MS = 1_000_000


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latencies, "now_ms", lambda: NOW_MS)


def test_each_change_is_in_its_bucket_and_the_sum_is_exact() -> None:
    ages_ms = np.array([0, 5, 6, 7, 90, 100, 101, 299_000, 400_000, -50])
    with collect() as collector:
        observe_latencies(NOW_MS - ages_ms)
    histogram = collector.measured().durations[LATENCY]
    assert histogram.counts == (3, 2, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1)
    assert histogram.seconds == pytest.approx(ages_ms.clip(0).sum() / 1000)


def test_times_that_are_unknown_are_left_out() -> None:
    with collect() as collector:
        observe_latencies(np.array([-1, 0], np.int64))
        observe_latencies(np.empty(0, np.int64))
    assert collector.measured() == Measurements()
