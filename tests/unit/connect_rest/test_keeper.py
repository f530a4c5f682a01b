"""The keeper of local runs: processes that stand for runs are started, ended, and started again as the records say."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ignite_kafka.admin.connectors import DeletedConnector
from ignite_kafka.admin.overview import ConnectorOverview, TargetRequest
from ignite_kafka.connect_rest import deletions, supervision
from ignite_kafka.connect_rest import keeper as keeping
from ignite_kafka.connect_rest.keeper import Keeper
from ignite_kafka.connect_rest.reading import ConnectorReader
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.declared_connectors import Cleanup, Declaration
from tests.support.waiting import wait_until
from tests.unit.connect_rest.test_configuration import OPERATOR, SOURCE

_WAITS = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); print('up', flush=True); signal.pause()"


def declared(config: Mapping[str, str] | None = None, *, restart_ms: int = 0, target: str = "RUNNING") -> ConnectorOverview:
    """A declared connector; `config` is beside the least configuration."""
    declaration = Declaration({**SOURCE, **(config or {})})
    return ConnectorOverview("c", declaration=declaration, target=TargetRequest(target, 1), restart_ms=restart_ms)


class Kept:
    """A keeper whose runs are programs of this test."""

    def __init__(self, folder: Path) -> None:
        self.connectors: dict[str, ConnectorOverview] = {}
        self.program, self.folder = _WAITS, folder
        self.starts: list[str] = []
        reader = cast(ConnectorReader, SimpleNamespace(read_with_deleted=lambda: self.connectors))
        self.keeper = Keeper(reader, OPERATOR, self.command, folder)

    def command(self, file: Path, run_id: str) -> Sequence[str]:
        self.starts.append(run_id)
        return [sys.executable, "-c", self.program]

    @property
    def processes(self) -> Mapping[str, int]:
        return {name: process.pid for name, process in self.keeper._processes.items()}

    def until(self, reached: Callable[[], object], what: str) -> None:
        def step() -> bool:
            self.keeper.step()
            return bool(reached())

        wait_until(step, what)

    def up(self) -> None:
        """Wait until each started program handles its signals."""
        log = self.folder / "c.log"
        self.until(lambda: log.exists() and log.read_text().count("up") >= len(self.starts), "the programs")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setattr(supervision, "FIRST_WAIT_S", 0.0)
    made = Kept(tmp_path)
    yield made
    made.connectors.clear()
    made.keeper._end_all()


def test_a_declared_connector_runs_with_its_checked_settings_in_a_private_file(kept: Kept) -> None:
    kept.connectors["c"] = declared()
    kept.keeper.step()
    kept.keeper.step()
    assert len(kept.starts) == 1
    file = kept.folder / "c.json"
    assert file.stat().st_mode & 0o777 == 0o600
    written = json.loads(file.read_text())
    assert (written["name"], written["cache_whitelist"], written["bootstrap_servers"]) == ("c", ["a"], "localhost:1")
    assert "cache_blacklist" not in written, "an empty list would be refused"


@pytest.mark.parametrize("change", ["stopped", "not declared", "gone"])
def test_a_connector_that_is_stopped_ends_and_runs_again_when_it_is_resumed(kept: Kept, change: str) -> None:
    kept.connectors["c"] = declared()
    kept.up()
    match change:
        case "stopped":
            kept.connectors["c"] = declared(target="STOPPED")
        case "not declared":
            kept.connectors["c"] = ConnectorOverview("c")
        case _:
            del kept.connectors["c"]
    kept.until(lambda: not kept.processes and not kept.keeper._runs, "the end of the run")
    kept.connectors["c"] = declared()
    kept.keeper.step()
    assert len(kept.starts) == 2


@pytest.mark.parametrize("change", [declared({"tasks_max": "2"}), declared(restart_ms=5)])
def test_a_new_configuration_or_a_restart_begins_a_new_run(kept: Kept, change: ConnectorOverview) -> None:
    kept.connectors["c"] = declared()
    kept.up()
    kept.connectors["c"] = change
    kept.until(lambda: len(kept.starts) == 2, "the second run")


def test_a_run_that_is_killed_begins_again_unless_restarts_are_off(kept: Kept) -> None:
    kept.connectors["c"] = declared()
    kept.up()
    os.kill(kept.processes["c"], signal.SIGKILL)
    kept.until(lambda: len(kept.starts) == 2, "the second run")
    kept.connectors["c"] = declared({"autoRestart.enabled": "false"})
    os.kill(kept.processes["c"], signal.SIGKILL)
    kept.until(lambda: not kept.processes, "the end of the run")
    kept.keeper.step()
    assert len(kept.starts) == 2


def test_wrong_settings_do_not_run_and_hide_no_other_connector(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.connectors["b"] = ConnectorOverview("b", declaration=Declaration({**SOURCE, "name": "b", "tasks.max": "many"}))
    kept.connectors["a"] = ConnectorOverview("a", declaration=Declaration({**SOURCE, "name": "a", "autoRestart.enabled": "?"}))
    kept.connectors["c"] = declared()
    for _ in range(3):
        kept.keeper.step()
    assert list(kept.processes) == ["c"]
    assert len([record for record in caplog.records if "does not run" in record.message]) == 2, "once for each"


DELETED = ConnectorOverview("c", ConnectorState(ConnectorRecord(3)), declaration=Declaration(None, deleted_after=3))


def test_the_capture_of_a_deleted_connector_ends_after_its_run(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def finish(settings: ConnectorSettings, _: object, dead_run: str) -> DeletedConnector:
        asked.append((settings.name, dead_run))
        return DeletedConnector("c", ended=True)

    monkeypatch.setattr(deletions, "finish_deletion", finish)
    kept.connectors["c"] = declared()
    kept.up()
    kept.connectors["c"] = DELETED
    kept.keeper.step()
    assert asked == [], "its run has not ended"
    kept.until(lambda: asked, "the end of the capture")
    assert asked == [("c", kept.starts[0])], "its process is dead, whatever its records say"
    kept.connectors["c"] = replace(DELETED, cleanup=Cleanup())
    kept.keeper.step()
    kept.connectors["c"] = declared()
    kept.up()
    kept.connectors["c"] = DELETED
    kept.until(lambda: len(asked) == 2, "the end of the capture of the connector that was declared again")


def test_a_record_under_another_name_writes_no_file(kept: Kept) -> None:
    kept.connectors["../c"] = replace(declared(), name="../c")
    kept.keeper.step()
    assert (kept.starts, list(kept.folder.parent.glob("c.*"))) == ([], [])


def test_a_finished_deletion_is_not_finished_again(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(deletions.Deletions, "advance", lambda _, names, __: asked.append([*names]))
    kept.connectors["c"] = replace(DELETED, cleanup=Cleanup())
    kept.connectors["d"] = replace(DELETED, name="d")
    kept.keeper.step()
    assert asked == [["d"]]


def test_nodes_that_do_not_answer_delay_no_end(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(deletions, "finish_deletion", lambda *_: released.wait(120) and DeletedConnector("d", ended=True))
    kept.connectors["d"] = replace(DELETED, name="d")
    kept.connectors["c"] = declared()
    kept.up()
    kept.keeper.stop()
    kept.keeper.run()
    assert not kept.processes
    assert kept.keeper._deletions._threads["d"].is_alive(), "the call still hangs"
    released.set()


def test_the_end_of_the_server_ends_the_runs(kept: Kept) -> None:
    kept.connectors["c"] = declared()
    kept.up()
    kept.keeper.stop()
    kept.keeper.run()
    assert not kept.processes


def test_a_process_that_cannot_be_started_is_tried_again(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept.connectors["c"] = declared()
    with monkeypatch.context() as broken:
        broken.setattr(kept.keeper, "_command", lambda *_: ["/no/such/program"])
        kept.keeper.step()
        kept.keeper.step()
    assert [record.message.partition(":")[0] for record in caplog.records] == ["Connector c does not run"]
    kept.keeper.step()
    assert list(kept.processes) == ["c"]


def test_a_log_is_private_and_follows_no_link(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    log, target = kept.folder / "c.log", kept.folder / "target"
    target.touch()
    log.symlink_to(target)
    kept.connectors["c"] = declared()
    kept.keeper.step()
    assert (kept.starts, "its process cannot be started" in caplog.text) == ([], True)
    log.unlink()
    kept.up()
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_large_log_is_kept_once(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_LARGE_LOG_BYTES", 10)
    (kept.folder / "c.log").write_text("of earlier runs")
    kept.connectors["c"] = declared()
    kept.up()
    assert (kept.folder / "c.log.1").read_text() == "of earlier runs"
