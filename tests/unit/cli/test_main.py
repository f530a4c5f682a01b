"""The command line: arguments, messages and exit codes; what needs clusters is in tests/integration/cli/test_cli.py."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka import errors
from ignite_kafka.app import show_progress
from ignite_kafka.cli import connector_commands, local_run, views
from ignite_kafka.cli import main as cli
from ignite_kafka.cli.tables import table
from ignite_kafka.cli.views import CachePreview, PlanView, StatusView
from ignite_kafka.common.event_log import EventLog
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.settings.permissions import Permissions
from ignite_kafka.settings.secrets import Secrets, dump
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.status import CacheStatus, RunStatus
from tests.support.waiting import DEADLINE_S


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "c.properties"
    path.write_text("name=c\ncacheWhitelist=flights\nkeyPolicy=key\n")
    return str(path)


def last_line(text: str) -> str:
    return text.rstrip("\n").split("\n")[-1]


def test_validate_shows_what_was_set_and_where(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["validate", file, "--kafka", "k:9092", "--ignite", "a:1,b:2"]) == 0
    out = capsys.readouterr().out
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert 'cache_whitelist ["flights"] c.properties, line 2' in rows
    assert 'ignite_addresses ["a:1", "b:2"] the command line' in rows
    assert 'bootstrap_servers "k:9092" the command line' in rows
    assert "is valid: connector c, " in last_line(out)


def test_addresses_of_the_command_line_are_mapped_by_the_command_line_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else the map of somebody's file sends the login elsewhere."""
    path = tmp_path / "c.properties"
    path.write_text("name=c\ncacheWhitelist=flights\nignite_address_map=10.0.0.5=evil.example.com:1\n")
    for more, shown in (
        ((), '["10.0.0.5=evil.example.com:1"] c.properties, line 3'),
        (("--ignite", "a:1"), ""),
        (("--ignite", "a:1", "--ignite-address-map", "10.0.0.5=b:2"), '["10.0.0.5=b:2"] the command line'),
        (("--ignite-address-map", "10.0.0.5=b:2"), '["10.0.0.5=b:2"] the command line'),
    ):
        assert cli.main(["validate", str(path), "--kafka", "k:9092", *more]) == 0
        rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
        assert [row for row in rows if "address_map" in row] == ([f"ignite_address_map {shown}"] if shown else [])


def test_validate_reads_the_secrets_file_too(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump(Secrets(IgniteCredentials("ann", "hunter2")), tmp_path / "s")
    assert cli.main(["validate", file, "--secrets", str(tmp_path / "s")]) == 0
    (tmp_path / "s").chmod(0o644)
    assert cli.main(["validate", file, "--secrets", str(tmp_path / "s")]) == 2
    shown = capsys.readouterr()
    assert "others can read the secrets file" in last_line(shown.err)
    assert "hunter2" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("content", "last"),
    [
        ("name=c\nslots=0", "ignite-kafka: SettingsError slots is wrong: it is out of range"),
        ("name=c\ncacheFilter=a", "ignite-kafka: NotAvailableYet cache_filter 'a' is not available yet"),
        ("slots=1", "ignite-kafka: SettingsError name is missing"),
    ],
)
@pytest.mark.parametrize("command", ["validate", "plan", "run", "verify"])
def test_bad_settings_end_with_2_before_anything_is_asked(
    command: str, content: str, last: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.properties"
    path.write_text(content)
    assert cli.main([command, str(path), "--ignite", "127.0.0.1:1", "--kafka", "127.0.0.1:1"]) == 2
    assert last_line(capsys.readouterr().err).startswith(last)


def test_validate_shows_addresses_that_are_defaults(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["validate", file, "--kafka", "k:9092"]) == 0
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert 'ignite_addresses ["127.0.0.1:10800"] default' in rows
    assert 'bootstrap_servers "k:9092" the command line' in rows


def last_error(err: str) -> dict[str, Any]:
    value = json.loads(last_line(err))
    assert value.keys() == {"error", "exit_code"}
    assert value["error"].keys() == {"type", "what", "remedy", "where", "findings"}
    return dict(value)


@pytest.mark.parametrize("command", ["plan", "run"])
def test_errors_are_json_where_the_output_is(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.json").write_text('{"name": "c", "slots": 0, "tasks_max": 0}')
    assert cli.main([command, str(tmp_path / "c.json"), "--json"]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    found = last_error(shown.err)
    assert (found["exit_code"], found["error"]["type"]) == (2, "SettingsError")
    assert [one["where"]["setting"] for one in found["error"]["findings"]] == ["slots", "tasks_max"]


def test_errors_of_a_cluster_are_json_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> StatusView:
        raise errors.KafkaUnavailable("no broker", "Check it.", bootstrap_servers="k:1")

    monkeypatch.setattr(views, "status_view", fail)
    assert cli.main(["status", "c", "--json"]) == 1
    found = last_error(capsys.readouterr().err)
    assert found["error"]["where"] == {"bootstrap_servers": "k:1"}


@pytest.mark.parametrize(
    "arguments", [["pause", "--json"], ["stop", "c", "--json", "--wait-ms", "soon"], ["plan", "--json", "a", "--nope"]]
)
def test_errors_of_arguments_are_json_too(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert last_error(capsys.readouterr().err)["exit_code"] == 2


def test_an_interrupted_run_names_the_command_that_goes_on(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> RunStatus:
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(local_run, "run_locally", interrupt)
    try:
        assert cli.main(["-q", "run", file, "--run-id", "r1", "--kafka", "k:1"]) == 130
        told = last_line(capsys.readouterr().err)
        assert told.startswith("ignite-kafka: Interrupted interrupted by Ctrl-C (SIGINT). What was committed stays.")
        assert told.endswith(f"To continue: ignite-kafka -q run {file} --kafka k:1")
        assert cli.main(["run", file, "--json"]) == 130
        assert last_error(capsys.readouterr().err)["error"]["type"] == "Interrupted"
    finally:
        signal.signal(signal.SIGTERM, before)


def test_bad_settings_are_event_15000(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert cli.main(["validate", str(tmp_path / "none.json")]) == 2
    assert [record.__dict__["event_id"] for record in caplog.records if "event_id" in record.__dict__] == [15000]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["validate"],
        ["frobnicate"],
        ["offsets"],
        ["plan", "a", "--nope"],
        ["pause"],
        ["stop", "c", "--wait-ms", "soon"],
        ["offsets", "alter", "c", "--cache", "x", "--partition", "1"],
        ["offsets", "alter", "c", "--cache", "x", "--partition", "-1", "--sent", "3"],
        ["resend"],
        ["backlog"],
    ],
)
def test_bad_arguments_end_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.CacheNotFound("no cache", cache="x"), 1),
        (errors.Fenced("a newer run has taken over"), 3),
        (errors.OutcomeUnknown("no answer"), 4),
        (errors.TopicError("refused", "Grant it", topic="t"), 1),
    ],
)
def test_the_exit_code_is_the_error_s(
    error: errors.IgniteKafkaError, code: int, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> RunStatus:
        raise error

    monkeypatch.setattr(local_run, "run_locally", fail)
    assert cli.main(["run", file]) == code
    assert last_line(capsys.readouterr().err) == f"ignite-kafka: {type(error).__name__} {error}"


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_full_local_folder_is_a_named_error(
    command: str, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/ignite-kafka-x")

    monkeypatch.setattr(local_run, "run_locally", full)
    monkeypatch.setattr(connector_commands, "settings_table", full)
    assert cli.main([command, file]) == 1
    last = last_line(capsys.readouterr().err)
    assert last.startswith(
        "ignite-kafka: LocalDiskFull a local file could not be written: the file system of /tmp/ignite-kafka-x has no space"
    )


def test_credentials_need_permission_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, hidden = tmp_path / "c.properties", tmp_path / "s"
    file.write_text("name=c\ncacheWhitelist=flights\nignite_addresses=node:10800\nallow_insecure_connections=true\n")
    dump(Secrets(IgniteCredentials("ann", "hunter2")), hidden)
    given = ["validate", str(file), "--secrets", str(hidden)]
    assert cli.main(given) == 2
    assert "without TLS" in (shown := last_line(capsys.readouterr().err))
    assert "--allow-insecure-connections" in shown
    assert cli.main([*given, "--allow-insecure-connections"]) == 0


def test_only_an_argument_of_the_command_opens_the_metrics_to_other_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts: list[str] = []

    def record(settings: SourceSettings, **_: object) -> RunStatus:
        hosts.append(settings.metrics_host)
        return RunStatus("COMPLETED", "c", "r")

    monkeypatch.setattr(local_run, "run_locally", record)
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": "c", "metrics_port": 0, "metrics_host": "0.0.0.0"}))
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert cli.main(["run", str(file)]) == 2
        assert "Give --metrics-host, or leave metrics_host out" in last_line(capsys.readouterr().err)
        assert cli.main(["run", str(file), "--metrics-host", "10.0.0.5"]) == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert hosts == ["10.0.0.5"]


def test_run_hands_its_arguments_on(file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    seen: dict[str, object] = {}

    def record(settings: SourceSettings, **arguments: object) -> RunStatus:
        seen.update(arguments, settings=settings)
        counts = {"flights": CacheStatus("flights", 5, 5, 50, 8, 8, 1.0)}
        return RunStatus("COMPLETED", "c", "r", "s1", 1, "w", 1_000, 3_500, counts)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(local_run, "run_locally", record)
    try:
        assert cli.main(["run", file, "--master", "local[2]", "--snapshot-id", "s1", "--run-id", "r", "--mounted-secrets", "/m"]) == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    settings = seen.pop("settings")
    assert isinstance(settings, SourceSettings)
    assert settings.cache_whitelist == ("flights",)
    stop = seen.pop("stop")
    assert isinstance(stop, threading.Event)
    assert not stop.is_set()
    assert isinstance(seen.pop("log_of_run"), EventLog)
    assert seen.pop("progress") is show_progress, "stderr is no terminal"
    assert (seen.pop("permissions"), seen.pop("ship_secrets_unprotected")) == (Permissions(), False)
    assert seen == {"master": "local[2]", "snapshot_id": "s1", "run_id": "r", "secrets": None, "mounted_secrets": "/m"}
    assert "snapshot s1 is complete after 2.5 s" in capsys.readouterr().out


def test_plan_as_text_and_as_json(file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    caches = (
        CachePreview("flights", "p-flights", True, 4, None, 1024, 512, 9_000),
        CachePreview("planes", "planes", False, None, 2, 8, 0, 0, "pl.*"),
    )
    view = PlanView("c", "s1", "unfinished", "json", 16, 3, 1032, caches)
    monkeypatch.setattr(views, "plan_view", lambda settings, secrets, snapshot_id: view)
    assert cli.main(["plan", file]) == 0
    out = capsys.readouterr().out
    assert "snapshot s1 (unfinished)" in out
    assert "1,032 units, 512 done, 16 slots, at most 3 tasks" in out
    assert "broker's default, replication factor 2, to be created" in out
    assert [line.split()[-1] for line in out.splitlines() if line.startswith(("cache ", "planes "))] == ["override", "pl.*"]
    assert cli.main(["plan", file, "--json"]) == 0
    assert '"units_done": 512' in capsys.readouterr().out


def test_status_needs_no_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[SourceSettings] = []
    error = errors.CacheDestroyed("gone", cache="x").to_dict()
    runs = {"r1": RunStatus("FAILED", "c", "r1", "s1", 2, "w", 0, 1_500, {"x": CacheStatus("x", records=1_000)}, error)}

    def record(settings: SourceSettings, secrets: Secrets) -> StatusView:
        seen.append(settings)
        return StatusView(ConnectorState(), runs)

    monkeypatch.setattr(views, "status_view", record)
    assert cli.main(["status", "c", "--kafka", "k:1", "--internal-topic-prefix", "p"]) == 0
    assert seen == [SourceSettings(name="c", bootstrap_servers="k:1", internal_topic_prefix="p")]
    assert "r1   FAILED  s1        1970-01-01 00:00:00Z  1.5        1,000  CacheDestroyed: gone" in capsys.readouterr().out
    assert cli.main(["status", "c", "--json"]) == 0
    assert '"state": "FAILED"' in capsys.readouterr().out


def test_status_shows_a_run_that_no_longer_reports_as_lost() -> None:
    runs = {run_id: RunStatus("RUNNING", "c", run_id, "s1", 2, "w", 0) for run_id in ("r1", "r2")}
    control = ConnectorState(ConnectorRecord(2, 4, run_id="r2"))
    text = StatusView(control, runs, silent_s=3_600.4).text()
    assert "run r2 is lost: no report for 3,600 s. Its driver was probably killed. Start the connector again" in text
    assert [line.split()[:2] for line in text.splitlines()[-2:]] == [["r1", "RUNNING"], ["r2", "LOST"]]
    assert StatusView(control, runs, silent_s=3_600.4).to_dict()["lost"] == {"run_id": "r2", "silent_s": 3_600}
    assert "LOST" not in StatusView(control, runs).text()


def test_offsets_as_lines_and_as_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(views, "offset_lines", lambda settings, secrets: iter(["one", "two"]))
    monkeypatch.setattr(views, "offsets_table", lambda settings, secrets: "table")
    assert cli.main(["offsets", "show", "c", "--json"]) == 0
    assert cli.main(["offsets", "show", "c"]) == 0
    assert capsys.readouterr().out == "one\ntwo\ntable\n"


def test_tables() -> None:
    assert table(("name", "count"), [("a", 1_000), ("bcdef", 5)]) == "name   count\n-----  -----\na      1,000\nbcdef      5"
    assert table(("name",), []) == "name\n----"


def test_the_package_runs_as_the_command() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-m", "ignite_kafka.cli", "--help"]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=DEADLINE_S, env=environment)
    assert "Usage: ignite-kafka" in done.stdout
