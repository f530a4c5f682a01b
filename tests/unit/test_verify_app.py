"""The Spark app that compares: arguments reach the comparison, the result is a line of JSON, errors become exit codes."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka import app, verify_app
from ignite_kafka.errors import KafkaUnavailable, TopicError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.runtime import yarn_attempt
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.comparisons import ComparisonStatus
from ignite_kafka.state.status import COMPLETED
from ignite_kafka.verification import connector, report
from ignite_kafka.verification.direction import Judged
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.result import VerifyOptions, VerifyResult


@pytest.fixture(autouse=True)
def no_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, VerifyOptions]]:
    """Settings and options of fake comparisons that find an entry without a record."""
    found: list[tuple[Any, VerifyOptions]] = []

    def verify(_spark: Any, settings: Any, _secrets: Any, _source: Any, options: VerifyOptions, progress: Any) -> VerifyResult:
        progress("comparing", 1, 2)
        found.append((settings, options))
        return VerifyResult([Judged(PairDifferences("flights", "t", missing=1))], options.percent or 100)

    context = SimpleNamespace(applicationId="local-1", uiWebUrl=None)
    session = SimpleNamespace(sparkContext=context, stop=lambda: None)
    monkeypatch.setattr(app, "session_builder", lambda _: SimpleNamespace(getOrCreate=lambda: session))
    monkeypatch.setattr(connector, "check_connector", lambda *_: None)
    monkeypatch.setattr(connector, "verify_connector", verify)
    return found


def request(folder: Path, **settings: Any) -> str:
    path = folder / "request.json"
    path.write_text(json.dumps({"connector": "c", "run_id": "r", "settings": settings}))
    return str(path)


def test_the_result_is_a_line_of_json(tmp_path: Path, asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    options = json.dumps({"percent": 5, "repair": True})
    assert verify_app.main(["--request", request(tmp_path), "--direction", "source", "--options", options]) == 0
    ((settings, given),) = asked
    assert (type(settings), settings.name, given) == (SourceSettings, "c", VerifyOptions(5, repair=True))
    (line,) = capsys.readouterr().out.splitlines()
    result = json.loads(line.removeprefix(verify_app.RESULT_LINE))
    assert (result["equal"], result["caches"][0]["missing"]) == (False, 1)


def test_a_sink(tmp_path: Path, asked: list[Any]) -> None:
    assert verify_app.main(["--request", request(tmp_path, topics=["t"]), "--direction", "sink"]) == 0
    assert isinstance(asked[0][0], SinkSettings)


def test_errors_are_exit_codes(
    tmp_path: Path, asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify_app.main(["--request", request(tmp_path, unknown=1), "--direction", "source"]) == 2

    def refuse(*_: object) -> None:
        raise KafkaUnavailable("no broker answers")

    monkeypatch.setattr(connector, "check_connector", refuse)
    assert verify_app.main(["--request", request(tmp_path), "--direction", "source"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, asked) == ("", [])
    assert captured.err.splitlines()[-1].startswith("ignite-kafka: KafkaUnavailable no broker answers")


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the app reports to the status topic."""
    records: list[Any] = []

    class Report:
        def __init__(self, _settings: Any, _clients: Any, run_id: str) -> None:
            records.append(run_id)

        @contextmanager
        def errors_reported(self) -> Iterator[None]:
            try:
                yield
            except KafkaUnavailable as error:
                records.append(error.what)
                raise

        def progress(self, step: str, done: int, tasks: int) -> None:
            records.append((step, done, tasks))

        def completed(self, result: VerifyResult) -> None:
            records.append(result.equal)

    monkeypatch.setattr(report, "ComparisonReport", Report)
    monkeypatch.setattr(KafkaClients, "check", lambda _self: None)
    monkeypatch.delenv("CONTAINER_ID", raising=False)
    return records


SERVERS = {"bootstrap_servers": "b:1", "ignite_addresses": "n:1"}


def test_a_cluster_gets_a_record(tmp_path: Path, asked: list[Any], reported: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--request", request(tmp_path, **SERVERS), "--direction", "source", "--record"]
    assert verify_app.main(arguments) == 0
    assert reported == ["r", ("comparing", 1, 2), False]
    assert capsys.readouterr().out.startswith(verify_app.RESULT_LINE), "the log of the driver has the result, too"


def test_a_record_has_the_error(tmp_path: Path, asked: list[Any], reported: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise KafkaUnavailable("no broker answers")

    monkeypatch.setattr(connector, "check_connector", refuse)
    assert verify_app.main(["--request", request(tmp_path, **SERVERS), "--direction", "source", "--record"]) == 1
    assert reported == ["r", "no broker answers"]


@pytest.mark.parametrize(("error", "exit_code"), [(None, 0), (TopicError("no topic exists"), 1)])
def test_a_later_attempt_of_yarn_compares_nothing_again(
    tmp_path: Path, asked: list[Any], reported: list[Any], monkeypatch: pytest.MonkeyPatch, error: TopicError | None, exit_code: int
) -> None:
    def read(_clients: Any, _prefix: str, name: str, run_id: str) -> tuple[ComparisonStatus, int]:
        return ComparisonStatus(COMPLETED, name, run_id, ended_ms=5, error=error.to_dict() if error else None), 5

    monkeypatch.setattr(yarn_attempt, "read_comparison", read)
    monkeypatch.setenv("CONTAINER_ID", "container_1410901177871_0001_02_000001")
    options = json.dumps({"repair": True})
    arguments = ["--request", request(tmp_path, **SERVERS), "--direction", "source", "--record", "--options", options]
    assert verify_app.main(arguments) == exit_code
    assert (asked, reported) == ([], [])


def test_sigterm_ends_it(tmp_path: Path, asked: list[Any]) -> None:
    verify_app.main(["--request", request(tmp_path), "--direction", "source"])
    with pytest.raises(SystemExit) as ended:
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
