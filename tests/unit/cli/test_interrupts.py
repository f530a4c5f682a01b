"""Ctrl-C as a real signal to a real process: the command ends in good order, and says how to continue if it may have written."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

from ignite_kafka.cli.command_table import CommandRow
from ignite_kafka.cli.commands import COMMANDS, parse
from tests.support.waiting import DEADLINE_S

_WAITS = """
import sys, time
from ignite_kafka.cli import command_table, main
def wait(arguments):
    print("ready", flush=True)
    while True:
        time.sleep(0.01)
command_table.CommandRow.load_body = lambda row: wait
sys.exit(main.main(sys.argv[1:]))
"""


def interrupted(words: list[str]) -> str:
    """The last line on stderr of a command that is interrupted while it works."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-c", _WAITS, *words]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, output) == (128 + signal.SIGINT, "")
    (last,) = errors.splitlines()
    return last


@pytest.mark.parametrize("row", [row for row in COMMANDS if row.continues], ids=lambda row: row.path)
def test_commands_that_may_have_written_say_how_to_continue(row: CommandRow) -> None:
    words = next(shlex.split(example) for example in reversed(row.examples) if parse(shlex.split(example)).may_have_written)
    assert interrupted(words) == (
        f"ignite-kafka: Interrupted interrupted by Ctrl-C (SIGINT). What was committed stays. To continue: ignite-kafka {shlex.join(words)}"
    )


def test_the_others_only_end() -> None:
    assert interrupted(["plan", "f"]) == "ignite-kafka: Interrupted interrupted by Ctrl-C (SIGINT)"


def test_with_json_it_is_a_line_of_json() -> None:
    error = json.loads(interrupted(["run", "f", "--run-id", "r1", "--json"]))
    assert (error["exit_code"], error["error"]["type"]) == (130, "Interrupted"), "the code with which it ended"
    assert error["error"]["remedy"].endswith("To continue: ignite-kafka run f --json")
