"""Processes that are found by their mark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tools.servers.marks import end, marked, set_mark

MARK = "IGNITE_KAFKA_TEST_MARK"
TITLED = "import setproctitle, time; setproctitle.setproctitle('a title ' * 20); print(flush=True); time.sleep(600)"


@contextmanager
def child(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that has printed a line."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    for name in (MARK, "SPT_NOENV"):
        monkeypatch.delenv(name, raising=False)
    value = str(os.getpid())
    monkeypatch.setenv(MARK, "")  # restored with the test
    monkeypatch.setenv("SPT_NOENV", "")
    set_mark(MARK, value)
    return value


def test_a_process_that_changes_its_title_is_found_and_ended(mark: str) -> None:
    with child(TITLED) as process:
        assert [found.pid for found in marked(MARK, mark)] == [process.pid]
        end(marked(MARK, mark))
        assert marked(MARK, mark) == []


def test_without_the_variable_of_setproctitle_it_is_not_found(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What :func:`set_mark` protects from; if this fails, setproctitle has changed and the variable can go."""
    monkeypatch.delenv("SPT_NOENV")
    with child(TITLED):
        assert marked(MARK, mark) == []
