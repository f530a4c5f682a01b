"""Measurements of a task: buckets, sums of tasks, and what happens without a collector."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from ignite_kafka.common import measurements
from ignite_kafka.common.measurements import BOUNDS_S, COMMIT, PUT, Collector, Histogram, Measurements, add_measurements
from ignite_kafka.common.typed_json import dumps, loads, read_as


@pytest.mark.parametrize(("seconds", "bucket"), [(0.0, 0), (-1.0, 0), (0.005, 0), (0.0051, 1), (0.3, 6), (300.0, 13), (301.0, 14)])
def test_a_bucket_has_what_is_at_most_its_bound(seconds: float, bucket: int) -> None:
    collector = Collector()
    collector.observe(COMMIT, seconds)
    histogram = collector.measured().durations[COMMIT]
    assert [at for at, count in enumerate(histogram.counts) if count] == [bucket]
    assert (histogram.count, histogram.seconds) == (1, max(0.0, seconds))


def test_everything_that_is_measured_meanwhile_reaches_each_collector_and_nothing_else() -> None:
    measurements.observe(COMMIT, 1.0)
    with measurements.collect() as outer:
        measurements.observe(COMMIT, 0.2)
        measurements.observe_several(COMMIT, [0, 0, 2], 0.04)
        with measurements.collect() as inner, measurements.timed(PUT):
            measurements.count_retry("read")
        measurements.count_retry("read")
    measurements.count_retry("read")
    assert outer.measured().durations[COMMIT].count == 3
    assert outer.measured().durations[COMMIT].seconds == pytest.approx(0.24)
    assert outer.measured().retries == {"read": 2}
    assert (inner.measured().durations[PUT].count, inner.measured().retries) == (1, {"read": 1})


def test_an_operation_that_fails_has_no_duration() -> None:
    with measurements.collect() as collector:
        with pytest.raises(OSError, match="broken"), measurements.timed(COMMIT):
            raise OSError("broken")
        assert collector.measured() == Measurements()


def test_sums_of_tasks_are_by_bucket_and_operation() -> None:
    first, second = Collector(), Collector()
    first.observe(COMMIT, 0.004)
    second.observe(COMMIT, 0.004)
    second.observe(COMMIT, 2.0)
    second.observe(PUT, 1.0)
    first.count_retry("put")
    second.count_retry("put")
    total = add_measurements((first.measured(), second.measured()))
    assert total.durations[COMMIT].counts == (2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    assert (total.durations[PUT].count, total.retries, total.size) == (1, {"put": 2}, 6)
    assert add_measurements(()) == Measurements()


def test_they_are_read_from_a_record_and_those_of_other_buckets_are_refused() -> None:
    collector = Collector()
    collector.observe(COMMIT, 0.2)
    collector.count_retry("read")
    written = dumps(asdict(collector.measured()))
    assert read_as(Measurements, loads(written)) == collector.measured()
    assert len(written) < 150
    with pytest.raises(ValueError, match="3 buckets"):
        read_as(Measurements, {"durations": {"commit": {"counts": [1, 2, 3], "seconds": 1.0}}})
    assert len(Histogram().counts) == len(BOUNDS_S) + 1
