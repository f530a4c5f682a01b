"""An exchange of blocks by Spark: blocks of a bucket meet, errors of tasks arrive as they are, ended tasks are counted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from pyspark.sql import SparkSession

from ignite_kafka.errors import CacheNotFound, KafkaUnavailable, TaskFailed
from ignite_kafka.verification.exchange import Block, Exchange

BUCKETS = 5


def numbers(share: int) -> Iterator[Block]:
    for number in range(share * 100, share * 100 + 100):
        yield number % BUCKETS, np.array([number])


def total(blocks: Iterator[np.ndarray]) -> tuple[int, int]:
    found = np.concatenate([*blocks, np.zeros(0, np.int64)])
    return len(found), int(found.sum())


def test_blocks_of_a_bucket_meet(spark: SparkSession) -> None:
    seen: list[tuple[int, int]] = []
    exchange = Exchange(spark, range(4), numbers, total, BUCKETS, lambda done, count: seen.append((done, count)))
    try:
        expected = [(80, sum(range(bucket, 400, BUCKETS))) for bucket in range(BUCKETS)]
        assert exchange.collect(lambda one: one[0]) == [80] * BUCKETS
        assert exchange.fetch([3, 1]) == [expected[3], expected[1]]
    finally:
        exchange.close()
    assert all(0 <= done <= count == 4 + BUCKETS for done, count in seen)


def failing_share(share: int) -> Iterator[Block]:
    yield from numbers(share)
    if share == 1:
        raise KafkaUnavailable("no broker answers")
    if share == 2:
        raise CacheNotFound("no such cache", cache="c")


def failing_bucket(blocks: Iterator[np.ndarray]) -> int:
    if total(blocks)[0]:
        raise CacheNotFound("no such cache", cache="c")
    return 0


def test_the_error_of_a_task_arrives_as_it_is_a_final_one_first(spark: SparkSession) -> None:
    for read, reduce in ((failing_share, total), (numbers, failing_bucket)):
        exchange = Exchange(spark, range(4), read, reduce, BUCKETS)
        try:
            with pytest.raises(CacheNotFound) as raised:
                exchange.collect(lambda one: one)
        finally:
            exchange.close()
        assert raised.value.where == {"cache": "c"}


def fault(share: int) -> Iterator[Block]:
    yield 0, 1 // share


def test_a_fault_of_the_program_ends_the_job(spark: SparkSession) -> None:
    exchange = Exchange(spark, range(1), fault, total, 1)
    with pytest.raises(TaskFailed, match="a Spark task failed: ZeroDivisionError"):
        exchange.collect(lambda one: one)
    exchange.close()
