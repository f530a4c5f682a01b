"""Reports of measurements by tasks that report nothing else; tests/unit/runtime/test_task_reports.py has their sums."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.common.measurements import COMMIT, Collector
from ignite_kafka.runtime import measurement_reports
from ignite_kafka.runtime.measurement_reports import measurement_report
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.status import TaskProgress


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, TaskProgress]]:
    """Progress records that are written, with connector and slot; each report is due at once."""
    records: list[tuple[str, int, TaskProgress]] = []
    writer = SimpleNamespace(progress=lambda *record: records.append(record))
    monkeypatch.setattr(measurement_reports, "StatusWriter", lambda clients, prefix: writer)
    monkeypatch.setattr(measurement_reports, "Interval", lambda seconds: SimpleNamespace(due=lambda: True))
    return records


def report(collector: Collector, **settings: Any) -> None:
    plan: Any = SimpleNamespace(connector="c", generation=3, settings=SourceSettings(name="c", **settings))
    measurement_report(plan, None, 8, 2, collector)()  # type: ignore[arg-type]


def test_a_report_has_what_the_task_has_measured_so_far(written: list[tuple[str, int, TaskProgress]]) -> None:
    collector = Collector()
    collector.observe(COMMIT, 0.2)
    report(collector, metrics_port=0)
    report(collector, metrics_otlp=True)
    (connector, slot, progress), _ = written
    assert (connector, slot, progress.generation, progress.attempt, progress.caches) == ("c", 8, 3, 2, {})
    assert progress.measured == collector.measured()


def test_without_an_exporter_nothing_is_reported(written: list[tuple[str, int, TaskProgress]]) -> None:
    report(Collector())
    assert written == []
