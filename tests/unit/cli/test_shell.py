"""Completion: the script of bash in a real bash, and what zsh and fish ask for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ignite_kafka.admin import target_state
from ignite_kafka.cli import completion
from ignite_kafka.cli import main as cli
from ignite_kafka.cli.commands import COMMANDS
from ignite_kafka.cli.rows_of_shell import SHELLS
from ignite_kafka.cli.shell import VARIABLE
from ignite_kafka.errors import KafkaUnavailable
from tests.support.waiting import DEADLINE_S

_COMPLETE = """
eval "$(ignite-kafka completion bash)"
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMPREPLY=()
_ignite_kafka_completion ignite-kafka
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment with the command on the path."""
    command = tmp_path / "bin" / "ignite-kafka"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ignite_kafka.cli "$@"\n')
    command.chmod(0o755)
    path = os.pathsep.join([str(command.parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def complete(environment: dict[str, str]) -> Callable[..., list[str]]:
    """What bash offers for the last of the words."""

    def call(*words: str) -> list[str]:
        line = ["bash", "--norc", "-c", _COMPLETE, "bash", "ignite-kafka", *words]
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    return call


def test_bash_completes_commands_options_and_values(complete: Callable[..., list[str]]) -> None:
    assert complete("st") == ["status", "stop"]
    assert complete("offsets", "") == ["show", "alter", "reset"]
    assert complete("run", "flights.json", "--ma") == ["--master"]
    assert complete("completion", "") == list(SHELLS)
    assert complete("-q", "verify", "--name", "c", "--rep") == ["--repair", "--repair-at-most"]
    everything = complete("")
    assert sorted(set(everything)) == sorted({row.path.partition(" ")[0] for row in COMMANDS})


def ask(shell: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Lines that the command gives to a shell's script for the last of the words."""
    monkeypatch.setenv(VARIABLE, f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["ignite-kafka", *words]))
    monkeypatch.setenv("COMP_CWORD", words[-1] if shell == "fish" else str(len(words)))
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 0
    return list(filter(None, capsys.readouterr().out.splitlines()))


@pytest.mark.parametrize(("shell", "first"), [("zsh", "plain"), ("fish", "plain,pause\tpause a running connector until it is resumed")])
def test_zsh_and_fish_get_commands_with_their_help(
    shell: str, first: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ask(shell, ["pau"], monkeypatch, capsys)
    assert lines[0] == first
    assert lines[:3] == (["plain", "pause", "pause a running connector until it is resumed"] if shell == "zsh" else lines)


@pytest.mark.parametrize(("shell", "registers"), [("zsh", "#compdef ignite-kafka"), ("fish", "complete --no-files --command ignite-kafka")])
def test_scripts_of_zsh_and_fish_register_the_command(
    shell: str, registers: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert registers in script
    assert f"{VARIABLE}={shell}_complete" in script
    if program := shutil.which(shell):  # its own check of the syntax, where it is installed
        (tmp_path / "script").write_text(script)
        subprocess.run([program, "-n", str(tmp_path / "script")], check=True, timeout=DEADLINE_S)


@pytest.mark.parametrize("words", [["run", "fl"], ["validate", "f", "more"], ["plan", "--secrets", "s"], ["migrate", "w"]])
def test_paths_are_left_to_the_shell(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("bash", words, monkeypatch, capsys) == [f"file,{words[-1]}"]


def test_names_of_connectors_are_those_of_the_brokers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []

    def names(_clients: object, _topics: object, prefix: str) -> list[str]:
        asked.append(prefix)
        return ["flights", "flights-sink", "planes"]

    monkeypatch.setattr(target_state, "list_connectors", names)
    monkeypatch.setattr(completion, "MOST_S", DEADLINE_S)
    words = ["pause", "--kafka", "127.0.0.1:1", "--internal-topic-prefix", "p", "fl"]
    assert ask("bash", words, monkeypatch, capsys) == ["plain,flights", "plain,flights-sink"]
    assert asked == ["p"]
    assert ask("bash", ["verify", "--kafka", "127.0.0.1:1", "--name", "pl"], monkeypatch, capsys) == ["plain,planes"]
    assert asked.pop() == "ignite-kafka"
    assert ask("bash", ["pause", "fl"], monkeypatch, capsys) == [], "without brokers none are asked"
    assert asked == ["p"]


def test_a_failure_gives_no_names_and_no_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> list[str]:
        asked.set()
        raise KafkaUnavailable("no broker")

    asked = threading.Event()
    monkeypatch.setattr(target_state, "list_connectors", fail)
    monkeypatch.setattr(completion, "MOST_S", DEADLINE_S)
    assert ask("bash", ["pause", "--kafka", "127.0.0.1:1", "fl"], monkeypatch, capsys) == []
    assert asked.is_set()
    assert capsys.readouterr().err == ""


def test_brokers_that_do_not_answer_in_time_give_no_names(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wait(*_: object) -> list[str]:
        asked.set()
        ended.wait(DEADLINE_S)
        return ["flights"]

    asked = threading.Event()
    ended = threading.Event()
    monkeypatch.setattr(target_state, "list_connectors", wait)
    monkeypatch.setattr(completion, "MOST_S", 0.1)
    assert ask("bash", ["pause", "--kafka", "127.0.0.1:1", "fl"], monkeypatch, capsys) == []
    assert asked.wait(DEADLINE_S)
    ended.set()
