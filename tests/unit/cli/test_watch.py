"""`status --watch`: a table on a real terminal, lines elsewhere, ended by a real Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ignite_kafka.cli import all_connectors, watch
from ignite_kafka.cli import main as cli
from ignite_kafka.cli.all_connectors import ConnectorLine, ConnectorList
from ignite_kafka.errors import KafkaUnavailable
from tests.support.json_output import check_value
from tests.support.terminals import terminal_process
from tests.support.waiting import DEADLINE_S, wait_until

FLIGHTS = ConnectorLine("flights", "Ignite to Kafka", "RUNNING", "RUNNING", "r1", 1_000, 25.0, None, 2, 0, None)
SINK = ConnectorLine("copy", "Kafka to Ignite", "FAILED", None, "r2", 5, None, 7, 0, 1, "CacheDestroyed: gone\x1b[2J")


class Ended(Exception):
    """There are no more looks."""


def looks(*results: Sequence[ConnectorLine] | KafkaUnavailable) -> Callable[[], ConnectorList]:
    left: Iterator[Any] = iter(results)

    def read() -> ConnectorList:
        try:
            result = next(left)
        except StopIteration:
            raise Ended from None
        if isinstance(result, KafkaUnavailable):
            raise result
        return ConnectorList(tuple(result))

    return read


def watched(*results: Sequence[ConnectorLine] | KafkaUnavailable, as_json: bool = False) -> list[float]:
    """Seconds slept between the looks."""
    slept: list[float] = []
    with pytest.raises(Ended):
        watch.watch(looks(*results), as_json=as_json, sleep=slept.append)
    return slept


def test_a_line_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    more = replace(FLIGHTS, records=2_000, rate=50.0)
    paused = replace(more, state="PAUSED", target="PAUSED", rate=None)
    slept = watched([FLIGHTS, SINK], [more, SINK], [replace(more, rate=1.0), SINK], [paused])
    lines = [line.partition(" ")[2] for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "flights RUNNING: run r1, 1,000 records, 25 records/s, target state RUNNING, 2 warnings",
        "copy FAILED: run r2, 5 records, lag 7, 1 errors, CacheDestroyed: gone [2J",
        "flights RUNNING: run r1, 2,000 records, 50 records/s, target state RUNNING, 2 warnings",
        "flights PAUSED: run r1, 2,000 records, target state PAUSED, 2 warnings",
        "copy DELETED: run r2, 5 records, lag 7, 1 errors, CacheDestroyed: gone [2J",
    ]
    assert slept == [watch.REFRESH_S] * 4


def test_json_is_a_line_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    watched([FLIGHTS], [FLIGHTS], [], as_json=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["state"] for line in lines] == ["RUNNING", "DELETED"]
    for line in lines:
        check_value("status", line)


def test_brokers_that_do_not_answer_are_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    watched([FLIGHTS], KafkaUnavailable("no broker"), [SINK, FLIGHTS])
    shown = capsys.readouterr()
    assert shown.err == "Kafka does not answer: no broker\n"
    assert len(shown.out.splitlines()) == 2
    with pytest.raises(KafkaUnavailable):
        watch.watch(looks(KafkaUnavailable("no broker")), as_json=False)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clients:
        def check(self) -> None:
            pass

    def read(_clients: object, _prefix: str, name: str | None = None) -> ConnectorList:
        return ConnectorList(tuple(line for line in (SINK, FLIGHTS) if name in (None, line.name)))

    monkeypatch.setattr("ignite_kafka.runtime.clients.kafka_clients", lambda *_: Clients())
    monkeypatch.setattr(all_connectors, "read_connectors", read)


def test_status_without_a_name_lists_all(served: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "--kafka", "k:1"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["connector", "direction", "state", "run", "records", "rate", "lag", "warnings", "errors", "error"]
    assert rows[2][:6] == ["copy", "Kafka", "to", "Ignite", "FAILED", "r2"]
    assert cli.main(["status", "--kafka", "k:1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    check_value("status", shown)
    assert [line["name"] for line in shown["connectors"]] == ["copy", "flights"]


def test_an_unknown_name_is_not_watched(served: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "flight", "--watch", "--kafka", "k:1"]) == 2
    assert "Did you mean flights?" in capsys.readouterr().err


_WATCHING = """
import sys
from ignite_kafka.cli import all_connectors, main
from ignite_kafka.runtime import clients
from tests.unit.cli.test_watch import FLIGHTS, SINK
from ignite_kafka.cli.all_connectors import ConnectorList
class Clients:
    def check(self): pass
clients.kafka_clients = lambda *_: Clients()
all_connectors.read_connectors = lambda *_: ConnectorList((FLIGHTS, SINK))
sys.exit(main.main(["status", "--watch", "--kafka", "k:1"]))
"""


def environment(**variables: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
    return {**clean, "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path), **variables}


@pytest.mark.parametrize(("variables", "styled"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_shows_a_table_until_ctrl_c(variables: dict[str, str], styled: bool) -> None:
    with terminal_process([sys.executable, "-c", _WATCHING], environment(**variables)) as process:
        wait_until(lambda: "2 connectors at" in process.drawn or process.process.poll() is not None, "the table")
        process.process.send_signal(signal.SIGINT)
        assert process.wait() == 128 + signal.SIGINT, process.drawn
        lines = process.drawn.splitlines()
    assert ("\x1b[31mFAILED" in process.drawn) == styled
    assert "gone [2J" in process.drawn, "a text of a record is not obeyed"
    at = {name: next(number for number, line in enumerate(lines) if name in line) for name in ("connector ", "copy", "flights")}
    assert at["connector "] < at["copy"] < at["flights"], "failed connectors come first"
    assert lines[-1].endswith("ignite-kafka: Interrupted interrupted by Ctrl-C (SIGINT)"), lines
    assert "\x1b[?25h" in process.drawn, "the cursor is shown again"


def test_without_a_terminal_ctrl_c_ends_the_lines() -> None:
    line = [sys.executable, "-c", _WATCHING]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        assert "flights RUNNING: run r1" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 128 + signal.SIGINT
    assert errors.splitlines()[-1].startswith("ignite-kafka: Interrupted ")
