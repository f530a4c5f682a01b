"""Processes that run together: the end of one is the end of the others, and with JSON each gives a record."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest

from ignite_kafka.cli.processes import Part, run_together, show_records

ENDS = "print('done')"
FAILS = "import sys; print('broken'); sys.exit(3)"
STREAMS = (
    "import signal, sys, time\n"
    "signal.signal(signal.SIGTERM, lambda *_: (print('after the batch'), sys.exit({code})))\n"
    "print('ready', flush=True)\n"
    "while True: time.sleep(0.01)"
)


def part(name: str, program: str, *, as_json: bool = False) -> Part:
    return Part(name, [sys.executable, "-u", "-c", program], as_json=as_json)


def test_both_end(capsys: pytest.CaptureFixture[str]) -> None:
    polls: list[int] = []
    assert run_together([part("source", ENDS), part("sink", ENDS)], lambda: polls.append(1)) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == ["sink   | done", "source | done"]


def test_the_failure_of_one_ends_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    stream = part("source", STREAMS.format(code=0))
    assert run_together([stream, part("sink", FAILS)], lambda: None) == 3
    found = capsys.readouterr()
    assert "sink   | broken" in found.out
    assert "the sink failed with exit code 3; the source was ended" in found.err
    assert stream.code is not None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_both_after_their_batch(capsys: pytest.CaptureFixture[str], number: int) -> None:
    parts = [part(name, STREAMS.format(code=0)) for name in ("source", "sink")]
    lines: list[str] = []

    def once_ready() -> None:
        lines.extend(capsys.readouterr().out.splitlines())
        if len(lines) == 2:
            lines.append("")
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    assert run_together(parts, once_ready) == 0
    assert capsys.readouterr().out.count("after the batch") == 2
    assert signal.getsignal(number) == before


def test_a_run_that_ends_at_once_is_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_together([part("source", STREAMS.format(code=143))], lambda: os.kill(os.getpid(), signal.SIGINT))


def test_records_are_on_stdout_and_all_else_is_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    prints = "import sys; print('a line of Spark'); print('{\"run_id\": \"r1\"}'); print('a log', file=sys.stderr)"
    parts = [part("source", prints, as_json=True), part("sink", ENDS, as_json=True)]
    assert run_together(parts, lambda: None) == 0
    show_records(parts)
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"runs": {"source": {"run_id": "r1"}, "sink": None}}
    assert sorted(shown.err.splitlines()) == ["sink   | done", "source | a line of Spark", "source | a log"]


def test_the_failure_of_one_is_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_together([part("sink", FAILS, as_json=True)], lambda: None) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert json.loads(last)["error"]["what"] == "the sink failed with exit code 3"
