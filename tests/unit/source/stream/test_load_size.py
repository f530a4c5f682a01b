"""The number of partitions that are loaded at once."""

from __future__ import annotations

from ignite_kafka.source.stream.load_size import LoadSize


def test_the_first_load_is_small_and_later_ones_fill_a_batch() -> None:
    size = LoadSize(1_000, None, 4)
    assert size.partitions == 4
    size.loaded(4, 400, 40)
    assert size.partitions == 10
    size.loaded(10, 3_000, 300)  # the mean is 200 bytes now
    assert size.partitions == 5


def test_large_and_empty_partitions() -> None:
    large, empty = LoadSize(1_000, None, 4), LoadSize(1_000, None, 4)
    large.loaded(1, 50_000, 1)
    empty.loaded(4, 0, 0)
    assert (large.partitions, empty.partitions) == (1, 1_000)


def test_records_are_limited_too() -> None:
    size = LoadSize(1_000, 25, 4)
    assert size.partitions == 1
    size.loaded(1, 10, 5)
    assert size.partitions == 5
    size.loaded(1, 10, 95)  # the mean is 50 records now
    assert size.partitions == 1
