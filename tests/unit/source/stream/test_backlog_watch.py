"""Reads of the lag while a stream runs: how often, and what happens if nodes do not answer."""

from __future__ import annotations

import logging

import pytest

from ignite_kafka.errors import BacklogUnavailable
from ignite_kafka.source.stream.backlog_lag import BacklogLag
from ignite_kafka.source.stream.backlog_watch import BacklogWatch

LAG = BacklogLag(("a",))


class Nodes:
    """Nodes that need some time for an answer; `now_s` is the clock."""

    def __init__(self) -> None:
        self.now_s, self.took_s, self.error = 100.0, 0.0, False

    def read(self) -> BacklogLag:
        self.now_s += self.took_s
        if self.error:
            raise BacklogUnavailable("no server node is alive", "")
        return LAG


def test_the_lag_is_read_at_once_and_then_at_intervals() -> None:
    nodes = Nodes()
    watch = BacklogWatch(nodes.read, 30.0, lambda: nodes.now_s)
    assert watch.read() == LAG
    nodes.now_s += 29.0
    assert watch.read() is None
    nodes.now_s += 1.0
    assert watch.read() == LAG


def test_reads_that_take_long_take_one_hundredth_of_the_time() -> None:
    nodes = Nodes()
    nodes.took_s = 2.0
    watch = BacklogWatch(nodes.read, 30.0, lambda: nodes.now_s)
    assert watch.read() == LAG
    nodes.now_s += 199.0
    assert watch.read() is None
    nodes.now_s += 1.0
    assert watch.read() == LAG


def test_nodes_that_do_not_answer_end_no_run_and_are_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    nodes = Nodes()
    nodes.error = True
    watch = BacklogWatch(nodes.read, 30.0, lambda: nodes.now_s)
    with caplog.at_level(logging.WARNING):
        assert watch.read() is None
    assert "the lag cannot be read: no server node is alive" in caplog.text
    nodes.error = False
    nodes.now_s += 30.0
    assert watch.read() == LAG
