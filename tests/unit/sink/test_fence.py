"""Tokens of repairs."""

from __future__ import annotations

from ignite_kafka.ignite.write_fence import WriterToken
from ignite_kafka.sink.fence import repair_token


def test_a_repair_is_behind_every_task_of_its_run_and_before_the_next_run() -> None:
    token = repair_token(4, 1_795_800_000)
    assert WriterToken(4, epoch=1_000_000, attempt=9, turn=9) < token < repair_token(4, 1_795_800_001) < WriterToken(5)
