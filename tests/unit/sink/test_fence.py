"""Tokens of repairs."""

from __future__ import annotations

from typing import Any, cast

from ignite_kafka.ignite.write_fence import WriterToken
from ignite_kafka.sink.fence import repair_fence


def test_a_repair_is_behind_every_task_of_its_run_and_before_the_next_run() -> None:
    token = repair_fence(cast(Any, "a cluster"), "sink", 4, 8, ["c"]).token
    assert WriterToken(4, epoch=1_000_000, attempt=9, turn=9) < token < WriterToken(5)
