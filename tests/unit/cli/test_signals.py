"""The command `signal`: its arguments, and its results as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.admin import signals as admin
from ignite_kafka.admin.signals import RequestedSignals, SignalList, SignalView, failed_signals, refuse_without_stream
from ignite_kafka.cli import main as cli
from ignite_kafka.cli.signals import describe_signal, requested_text, signals_text
from ignite_kafka.errors import SettingsError
from ignite_kafka.state.configs import ConnectorRecord
from ignite_kafka.state.signal_records import CacheSelection, SignalCount, SignalStatus
from ignite_kafka.state.signals import SignalFold


@pytest.fixture
def requested(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the command requests, instead of a connector."""
    calls: list[Any] = []

    def record(name: str) -> Callable[..., RequestedSignals]:
        def call(settings: Any, secrets: Any, *more: Any) -> RequestedSignals:
            calls.append((name, settings.name, *more))
            return RequestedSignals(settings.name, name, ("one",), run_ended=True)

        return call

    monkeypatch.setattr(admin, "request_snapshot", record("snapshot"))
    monkeypatch.setattr(admin, "change_signals", record("change"))
    return calls


def test_a_snapshot_is_requested(requested: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = tmp_path / "keys"
    keys.write_text('1\n\n  {"id":2}\n')
    words = ["--cache", "a", "--where", "x > 1", "--keys", str(keys), "--partitions", "0,7-9,8", "--id", "one", "--kafka", "k:1"]
    assert cli.main(["signal", "conn", "snapshot", *words]) == 0
    selection = CacheSelection("a", "x > 1", ("1", '{"id":2}'), (0, 7, 8, 9))
    assert requested == [("snapshot", "conn", [selection], "one", "command line")]
    assert "no run is active" in capsys.readouterr().out
    assert cli.main(["signal", "conn", "snapshot", "--cache", "a", "--cache", "b", "--kafka", "k:1"]) == 0
    assert requested[1][2] == [CacheSelection("a"), CacheSelection("b")]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["snapshot", "--cache", "a", "--partitions", "9-7"], "no range"),
        (["snapshot", "--cache", "a", "--partitions", "a"], "no range"),
        (["snapshot", "--cache", "a", "--partitions", "65000"], "no range"),
        (["snapshot"], "no cache is given"),
        (["pause", "--cache", "a"], "--cache is an argument of signal NAME snapshot"),
        (["list", "--keys", "a"], "--keys is an argument of signal NAME snapshot"),
    ],
)
def test_wrong_arguments(words: list[str], why: str, requested: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["signal", "conn", *words, "--kafka", "k:1"]) == 2
    assert why in capsys.readouterr().err
    assert not requested


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "has none"), (b"\xff", "cannot be read"), (b"1\n" * 300_000, "more than 500,000 bytes")]
)
def test_files_of_keys_that_are_none(
    content: bytes, why: str, requested: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "keys").write_bytes(content)
    assert cli.main(["signal", "conn", "snapshot", "--cache", "a", "--keys", str(tmp_path / "keys"), "--kafka", "k:1"]) == 2
    assert why in capsys.readouterr().err
    assert not requested


def test_keys_are_of_one_cache(requested: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--cache", "a", "--cache", "b", "--partitions", "1", "--kafka", "k:1"]
    assert cli.main(["signal", "conn", "snapshot", *words]) == 2
    assert "of one cache" in capsys.readouterr().err
    assert not requested


@pytest.mark.parametrize("action", ["pause", "resume", "stop"])
def test_signals_are_changed(action: str, requested: list[Any]) -> None:
    assert cli.main(["signal", "conn", action, "--kafka", "k:1"]) == 0
    assert cli.main(["signal", "conn", action, "--id", "one", "--kafka", "k:1"]) == 0
    assert requested == [("change", "conn", action, None), ("change", "conn", action, "one")]


def test_signals_as_text() -> None:
    running = SignalView(
        "one", "RUNNING", ("a", "b"), "PAUSED", 1, 1, None, {"a": SignalCount(64, 16, 4_000), "b": SignalCount(8, 0, 0)}, 250.4, 14.6
    )
    failed = SignalView("two", "FAILED", ("a",), ended_ms=9, error="no column price")
    text = signals_text(SignalList("conn", (failed, running), run_ended=True))
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "one RUNNING (PAUSED requested) a, b 72 16 4,000 250 15 s" in rows
    assert "two: no column price" in rows
    assert rows[-1] == "no run is active: the connector's next run continues them"
    assert signals_text(SignalList("conn", (), run_ended=True)) == "connector conn has no signals"


def test_a_signal_in_the_status_of_its_connector() -> None:
    counts = {"a": SignalCount(64, 16, 4_000)}
    assert describe_signal(SignalView("one", "RUNNING", ("a",), "", 1, 1, None, counts, 250.4, 14.6)) == (
        "signal one is RUNNING: a; 16 of 64 partitions, 4,000 records; 250 records/s; about 15 s left"
    )
    assert describe_signal(SignalView("two", "WAITING", ("a", "b"))) == "signal two is WAITING: a, b"
    failed = SignalView("three", "FAILED", (), "", 0, 0, 9, {}, error="no column price")
    assert describe_signal(failed) == "signal three is FAILED; no column price"


def test_failed_signals_of_a_status_are_the_newest_since_the_run_s_start() -> None:
    fold = SignalFold("c")
    fold.ends = {str(at): SignalStatus(str(at), "COMPLETED" if at == 50 else "FAILED", at_ms=at) for at in range(100)}
    assert [signal.id for signal in failed_signals(fold, 97)] == ["97", "98", "99"]
    assert [signal.id for signal in failed_signals(fold, 0)] == [str(at) for at in range(90, 100)]
    assert failed_signals(fold, 100) == []


def test_a_request_as_text() -> None:
    assert "done once" in requested_text(RequestedSignals("conn", "snapshot", ("one",), run_ended=True, repeated=True))
    assert "signal conn list" in requested_text(RequestedSignals("conn", "pause", ("one", "two"), run_ended=False))
    on_page = requested_text(RequestedSignals("conn", "pause", ("one",), run_ended=False), names_list=False)
    assert on_page == "connector conn: pause of signal one is requested"


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"topics": ["t"]}, "offsets reset conn"), ({"run_mode": "once", "failover_policy": "NONE"}, "run_mode continuous")],
)
def test_other_connectors_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        refuse_without_stream("conn", ConnectorRecord(1, settings=settings))


def test_streams_are_not_refused() -> None:
    for settings in ({"run_mode": "continuous"}, {"run_mode": "once", "failover_policy": "BACKLOG"}):
        refuse_without_stream("conn", ConnectorRecord(1, settings=settings))
