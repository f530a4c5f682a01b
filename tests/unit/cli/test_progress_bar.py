"""Progress as a bar on a terminal, as lines elsewhere, as nothing if quiet."""

from __future__ import annotations

import io
import logging

import pytest

from ignite_kafka.cli.progress_bar import ProgressBar
from tests.support.fake_time import FakeTime


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar_which_goes_at_the_end() -> None:
    stream = Terminal()
    bar = ProgressBar(stream)
    bar.show("comparing", 1, 2)
    assert stream.getvalue().startswith("\rcomparing [====================                    ]  50%")
    bar.show("comparing", 2, 2)
    bar.end()
    assert "100%" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_elsewhere_it_is_a_line_from_time_to_time(caplog: pytest.LogCaptureFixture) -> None:
    stream, time = io.StringIO(), FakeTime()
    bar = ProgressBar(stream, clock=time)
    with caplog.at_level(logging.INFO):
        for done in range(30):
            bar.show("comparing", done, 100)
            time.sleep(1)
    bar.end()
    assert stream.getvalue() == ""
    assert [record.getMessage() for record in caplog.records] == [
        "comparing: 10 of 100 tasks after 10 s",
        "comparing: 20 of 100 tasks after 20 s",
    ]


def test_it_shows_nothing_if_quiet(caplog: pytest.LogCaptureFixture) -> None:
    stream, time = Terminal(), FakeTime()
    bar = ProgressBar(stream, quiet=True, clock=time)
    time.sleep(60)
    with caplog.at_level(logging.INFO):
        bar.show("comparing", 1, 2)
    bar.end()
    assert stream.getvalue() == ""
    assert caplog.records == []
