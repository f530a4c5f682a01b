"""Reports of a comparison: its first record, progress now and then, and the result or the error."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import CacheNotFound, KafkaUnavailable
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.comparisons import ComparisonStatus
from ignite_kafka.state.status import COMPLETED, FAILED, RUNNING
from ignite_kafka.verification import report
from ignite_kafka.verification.direction import Judged
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.report import ComparisonReport
from ignite_kafka.verification.result import VerifyResult


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[ComparisonStatus]:
    """Records of the status topic; `forgotten` connectors are its comparisons that were cleaned up."""
    records: list[ComparisonStatus] = []

    class Writer:
        def __init__(self, *_: Any) -> None:
            """Write nothing yet."""

        @staticmethod
        def ensure_topic(*_: Any) -> None:
            """It exists."""

    monkeypatch.setattr(report, "StatusWriter", Writer)
    monkeypatch.setattr(report, "write_comparison", lambda _writer, status, _wait_s=0.0: records.append(status))
    monkeypatch.setattr(report, "forget_comparisons", lambda _clients, _prefix, connector: records.append(connector))
    return records


def made(**settings: Any) -> ComparisonReport:
    return ComparisonReport(SourceSettings(name="c", **settings), KafkaClients({}), "r")


def test_a_comparison_reports_its_begin_and_its_result(written: list[Any]) -> None:
    comparison = made()
    result = VerifyResult([Judged(PairDifferences("flights", "t", missing=1))], 100)
    with comparison.errors_reported():
        assert [status.state for status in written] == [RUNNING]
    comparison.completed(result)
    _, last, forgotten = written
    assert (last.state, last.connector, last.run_id, last.result) == (COMPLETED, "c", "r", result.to_dict())
    assert last.ended_ms >= last.started_ms > 0
    assert forgotten == "c"


def test_an_error_of_the_library_is_the_last_record(written: list[Any]) -> None:
    with pytest.raises(CacheNotFound), made().errors_reported():
        raise CacheNotFound("no cache", cache="a")
    assert (written[1].state, written[1].error["what"]) == (FAILED, "no cache")


def test_progress_is_reported_now_and_then(written: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = made()
    monkeypatch.setattr(comparison, "_due", type("Due", (), {"due": iter([True, False, True]).__next__})())
    for done in range(3):
        comparison.progress("comparing", done, 9)
    assert [(status.step, status.done, status.tasks) for status in written] == [("comparing", 0, 9), ("comparing", 2, 9)]


def test_progress_that_cannot_be_reported_ends_nothing(monkeypatch: pytest.MonkeyPatch, written: list[Any]) -> None:
    comparison = made()

    def refuse(*_: Any) -> None:
        raise KafkaUnavailable("no broker answers")

    monkeypatch.setattr(report, "write_comparison", refuse)
    monkeypatch.setattr(comparison, "_due", type("Due", (), {"due": lambda _: True})())
    comparison.progress("comparing", 1, 9)
