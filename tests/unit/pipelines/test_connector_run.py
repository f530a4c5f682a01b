"""The record of a run that the user or the system ended."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.connector_settings import ConnectorSettings
from ignite_kafka.kafka.control import ControlState
from ignite_kafka.kafka.status import RunStatus
from ignite_kafka.pipelines import connector_run
from ignite_kafka.pipelines.connector_run import ConnectorRun, RunRequest
from ignite_kafka.settings import SourceSettings
from ignite_kafka.views import StatusView


class Writer:
    """Keeps the records of one run."""

    written: list[RunStatus] = []

    def __init__(self, *_: Any) -> None: ...

    @staticmethod
    def ensure_topic(*_: Any) -> None: ...

    def run(self, status: RunStatus, wait_s: float) -> None:
        self.written.append(status)


@pytest.mark.parametrize(("raised", "by"), [(KeyboardInterrupt(), "Ctrl-C (SIGINT)"), (SystemExit(143), "SIGTERM")])
def test_status_says_in_words_who_ended_a_run(raised: BaseException, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Run(ConnectorRun[ConnectorSettings]):
        def _run(self) -> None:
            raise raised

    monkeypatch.setattr(connector_run, "StatusWriter", Writer)
    monkeypatch.setattr(connector_run, "Topics", lambda clients: None)
    monkeypatch.setattr(connector_run, "TaskErrors", lambda spark: None)
    monkeypatch.setattr(connector_run, "kafka_clients", lambda *_: SimpleNamespace(check=lambda: None))
    monkeypatch.setattr(connector_run, "_refuse_speculation", lambda spark: None)
    monkeypatch.setattr(Writer, "written", [])
    with pytest.raises(type(raised)), ExitStack() as stack:
        Run(cast(Any, None), RunRequest(SourceSettings(name="c"), "r1"), stack).run()
    (record,) = Writer.written
    assert record.state == "STOPPED"
    text = StatusView(ControlState(), {"r1": record}).text()
    assert f"Interrupted: the run was ended by {by}. Run it again: what was committed stays, and it goes on from there." in text
