"""What each command prints with ``--json`` has its documented form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.admin import backlog, connector_events, dead_letters, declared_state, offsets, shown_offsets, sink_offsets, target_state
from ignite_kafka.admin.backlog import BacklogView, CacheCapture, CleanupResult, Resend, UnitBacklog
from ignite_kafka.admin.connector_events import ConnectorEvents
from ignite_kafka.admin.connectors import DeletedConnector, RestartRequest
from ignite_kafka.admin.dead_letters import DeadLetterList, DeadLetterRow, Replay
from ignite_kafka.admin.declared_state import AppliedChange, Difference
from ignite_kafka.admin.findings import OK, Diagnosis
from ignite_kafka.admin.offsets import AlteredOffset, ResetOffsets
from ignite_kafka.admin.sink_offsets import MovedOffsets
from ignite_kafka.admin.target_state import NewestRun, TargetStateChange
from ignite_kafka.cli import connectors, doctor, local_run, migrate, sink_views, views
from ignite_kafka.cli import main as cli
from ignite_kafka.cli.commands import COMMANDS
from ignite_kafka.cli.output_schemas import SCHEMAS, output_schema
from ignite_kafka.cli.sink_views import SinkPlanView, TopicPreview
from ignite_kafka.cli.views import CachePreview, PlanView, StatusView
from ignite_kafka.common.event_log import Occurrence, count_of
from ignite_kafka.errors import CacheDestroyed
from ignite_kafka.plan.sink_offsets import PartitionOffset
from ignite_kafka.plan.slots import SlotState, UnitOffset
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState, SnapshotRecord
from ignite_kafka.state.status import CacheStatus, RunStatus
from ignite_kafka.verification.direction import Judged
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.result import VerifyResult
from tests.support.connect_files import VARIABLES, allowing, copied
from tests.support.json_output import check_json_output, check_value

NOON = 1_764_244_800_000  # 2025-11-27T12:00:00Z
RUN = RunStatus(
    "FAILED", "c", "r1", "s1", 2, "w", 0, 1_500, {"x": CacheStatus("x", records=1_000)}, CacheDestroyed("gone", cache="x").to_dict(),
    events={"15120": 2}, versions={"Python": "3.11"},
)  # fmt: skip
RECORD = ConnectorRecord(2, 4, run_id="r1", settings={"name": "c", "slots": 4})
UNIT = UnitOffset(1, "17", "s1", True, 5, 3, recent="ab", bad=1)
EVENTS = {15120: count_of(NOON, "slot 0 restarts", {"slot": 0})}


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs a command with ``--json``, and returns the value that it printed, which has the form of its schema."""

    def run(*arguments: str, code: int = 0) -> Any:
        words = ["-q", *arguments, "--json"]
        assert cli.main(words) == code, capsys.readouterr().err
        return check_json_output(words, capsys.readouterr().out)

    return run


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "c.properties"
    path.write_text("name=c\ncacheWhitelist=flights\nkeyPolicy=key\n")
    return str(path)


def answers(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def test_validate_of_a_file(printed: Callable[..., Any], file: str) -> None:
    result = printed("validate", file, "--kafka", "k:1")
    (one,) = result["connectors"]
    assert (result["valid"], one["name"], one["direction"], one["run_mode"]) == (True, "c", "to Kafka", "once")
    assert one["settings"]["bootstrap_servers"] == {"value": "k:1", "set_in": "the command line"}
    assert one["settings"]["cache_whitelist"] == {"value": ["flights"], "set_in": "c.properties, line 2"}


def test_validate_of_a_folder(printed: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nclass: IgniteSink\nstate: paused\nconfig: {topics: t, group.id: g}\n")
    (tmp_path / "b.yaml").write_text("name: b\n\nstate: halted\n")
    result = printed("validate", str(tmp_path), code=2)
    (one,), (wrong,) = result["connectors"], result["errors"]
    assert (one["name"], one["line"], one["state"], one["direction"]) == ("a", 1, "paused", "to Ignite")
    assert "group.id" in one["notes"][0]
    assert (wrong["connector"], wrong["file"], wrong["line"]) == ("b", "b.yaml", 3)
    assert "halted" in wrong["error"]["what"]


@pytest.fixture
def connect_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    folder = copied(tmp_path, stores=False)
    names = ("distributed.properties", "tutorial-source.properties", "tutorial-sink.properties")
    return [*(str(folder / name) for name in names), *allowing(folder)]


def test_files_of_kafka_connect(
    printed: Callable[..., Any], connect_files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    valid = printed("validate", *connect_files)
    assert [one["run_mode"] for one in valid["connectors"]] == ["continuous"] * 2
    assert all(one["notes"] for one in valid["connectors"])

    (tmp_path / "new").mkdir()
    migrated = printed("migrate", *connect_files, "--output", str(tmp_path / "new"))
    assert sorted(map(Path, migrated["written"])) == sorted((tmp_path / "new").iterdir())
    for one in migrated["connectors"]:
        assert Path(one["settings"]).exists()
        assert one["command"] == f"ignite-kafka run {one['settings']} --secrets {one['secrets']}"
        assert 0 < one["ignored"] < one["keys"]

    def run_together(parts: Sequence[Any], _: object) -> int:
        for part in parts:
            assert part._command[-1] == "--json"
        parts[0].record = json.loads(RUN.to_json())
        return 1

    monkeypatch.setattr(migrate, "run_together", run_together)
    runs = printed("run", *connect_files, code=1)["runs"]
    assert {name: run and run["run_id"] for name, run in runs.items()} == {
        "gridgain-quickstart-source": "r1",
        "gridgain-quickstart-sink": None,
    }


def test_plan(printed: Callable[..., Any], file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CachePreview("planes", "planes", False, None, 2, 8, 0, 0, "pl.*")
    monkeypatch.setattr(views, "plan_view", answers(PlanView("c", "s1", "unfinished", "json", 16, None, 1032, (cache,))))
    assert printed("plan", file)["caches"][0]["override"] == "pl.*"
    (tmp_path / "sink.properties").write_text("name=s\nconnector.class=org.gridgain.kafka.sink.IgniteSinkConnector\nigniteCfg=x\n"
                                              "ignite_addresses=n:1\ntopics=t\n")  # fmt: skip
    view = SinkPlanView("s", "g", "json", (TopicPreview("t", "t", False, 2, 100),))
    monkeypatch.setattr(sink_views, "sink_plan_view", answers(view))
    assert printed("plan", str(tmp_path / "sink.properties"))["topics"][0]["records"] == 100
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(declared_state, "plan", answers([Difference("c", "offset", "x/1", 5, None, "", "a.yaml, line 1")]))
    assert printed("plan", str(tmp_path / "folder"))[0]["declared"] == 5


def test_apply(printed: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nconfig: {}\n")
    monkeypatch.setattr(declared_state, "apply", answers([AppliedChange("a", "paused", False)]))
    assert printed("apply", str(tmp_path), code=1) == [{"connector": "a", "action": "paused", "done": False}]


def test_doctor(printed: Callable[..., Any], file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(_settings: object, _secrets: object, diagnosis: Diagnosis) -> None:
        diagnosis.add("Kafka", OK, "answers")

    monkeypatch.setattr(doctor, "_check_clusters", check)
    assert printed("doctor", file, "--no-spark")["works"]


def test_run_and_verify(printed: Callable[..., Any], file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "run_locally", answers(RUN))
    monkeypatch.setattr("ignite_kafka.app.stop_on_sigterm", answers(None))
    assert printed("run", file)["error"]["type"] == "CacheDestroyed"
    differences = PairDifferences("flights", "t", records=9, entries=8)
    differences.note("missing", b"key", "a key is missing")
    check_value("verify", json.loads(json.dumps(VerifyResult([Judged(differences)], 2.5).to_dict())))


def test_status_of_a_connector(printed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    control = ConnectorState(RECORD, SnapshotRecord("s1", {}))
    monkeypatch.setattr(views, "status_view", answers(StatusView(control, {"r1": RUN}, "PAUSED", 3_600.4)))
    assert printed("status", "c")["lost"] == {"run_id": "r1", "silent_s": 3600}
    monkeypatch.setattr(views, "status_view", answers(StatusView(ConnectorState(), {})))
    assert printed("status", "c")["connector"] is None


def test_events(printed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector_events, "read_connector_events", answers(ConnectorEvents("c", EVENTS)))
    assert printed("events", "c")["events"][0]["newest"][0]["fields"] == {"slot": "0"}

    def follow(*_: object) -> Iterator[tuple[int, Occurrence]]:
        yield 15120, EVENTS[15120].newest[0]
        yield 99999, Occurrence(NOON, "of another version")

    monkeypatch.setattr(connector_events, "follow_events", follow)
    assert [line["id"] for line in printed("events", "c", "--follow")] == [15120, 99999]


@pytest.mark.parametrize("command", ["pause", "resume", "stop"])
def test_target_states(command: str, printed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for run in (RUN, None):
        change = TargetStateChange("c", "PAUSED", NewestRun(RECORD, run))
        monkeypatch.setattr(target_state, "request_target_state", answers(change))
        assert printed(command, "c")["ended"] == (run is not None)


def test_offsets(printed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    state = SlotState(0, by_cache={"x": {0: UNIT, 1: UnitOffset(1, "17")}})
    monkeypatch.setattr(shown_offsets, "read_states", answers([state]))
    first, second = printed("offsets", "show", "c")
    assert (first["offset"]["ranges"], second["offset"]["snapshot"]) == ([[0, 3]], None)
    monkeypatch.setattr(shown_offsets, "read_states", answers([SlotState(0, by_topic={("t", 0): PartitionOffset(5, "id", 1)})]))
    assert printed("offsets", "show", "c")["offset"]["kafka_offset"] == 5
    monkeypatch.setattr(offsets, "alter", answers(AlteredOffset("x", 1, -1, 3)))
    altered = printed("offsets", "alter", "c", "--cache", "x", "--partition", "1", "--sent", "3")
    assert (altered["before"], altered["after"]) == ([], [[0, 3]])
    monkeypatch.setattr(offsets, "reset", answers(ResetOffsets({"x": 2})))
    assert printed("offsets", "reset", "c")["units"] == {"x": 2}
    monkeypatch.setattr(sink_offsets, "move", answers(MovedOffsets({("t", 0): (-1, 5)})))
    assert printed("offsets", "reset", "c", "--to", "earliest")["offsets"][0]["before"] is None


def test_dead_letters(printed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    row = DeadLetterRow(0, 7, 5, "TASK_PUT", "a.B", "no number", {"topic": "t", "partition": "0", "offset": "9"})
    monkeypatch.setattr(dead_letters, "list_dead_letters", answers(DeadLetterList("c", "dead", (row,), True)))
    assert printed("dead-letters", "list", "c")["letters"][0]["origin"]["offset"] == "9"
    monkeypatch.setattr(dead_letters, "replay", answers(Replay("c", 2, 1)))
    assert printed("dead-letters", "replay", "c")["superseded"] == 1


def test_backlogs(printed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    unit = UnitBacklog("x", 0, 17, 5, 100, 1, 5, ("FULL",))
    monkeypatch.setattr(backlog, "status", answers(BacklogView("c", 1, 2, (CacheCapture("x", None, 8),), ("n1",), (unit,))))
    assert printed("backlog", "status", "c")["units"][0]["changes"] == 5
    monkeypatch.setattr(backlog, "cleanup", answers(CleanupResult("c", "service", None)))
    assert printed("backlog", "cleanup", "c")["cache"] is None
    monkeypatch.setattr(backlog, "resend", answers(Resend("c", "x", (1, 2))))
    assert printed("resend", "x", "--name", "c")["partitions"] == [1, 2]


def test_schemas_and_scripts(printed: Callable[..., Any]) -> None:
    for path in SCHEMAS:
        assert printed("schema", *path.split()) == output_schema(path)
    for shell in ("bash", "zsh", "fish"):
        assert printed("completion", shell)["shell"] == shell


def test_an_error_has_its_form_too(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(file).write_text("name=c\nslots=0\ntasks_max=0\n")
    assert cli.main(["plan", file, "--json"]) == 2
    with pytest.raises(SystemExit):
        cli.main(["plan", "--json", "--nope"])
    for line in capsys.readouterr().err.splitlines():
        check_value("error", json.loads(line))


def test_a_command_without_a_schema_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema", "offset", "show"]) == 2
    assert "there is no command 'offset show'. Did you mean offsets show?" in capsys.readouterr().err


def test_schemas_are_those_of_the_commands() -> None:
    assert {row.path for row in COMMANDS} | {"error"} == set(SCHEMAS)


def test_lists_restarts_and_deletions(printed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    listed = connectors.ListedConnectors((connectors.ListedConnector("x", "sink", "FAILED", 2, "host", "REST", "RecordRefused: …"),))
    monkeypatch.setattr(connectors, "kafka_clients", lambda *_: SimpleNamespace(check=lambda: None))
    monkeypatch.setattr(connectors, "Topics", lambda _: None)
    monkeypatch.setattr(connectors, "OverviewReader", lambda _: SimpleNamespace(read=lambda *_: {"x": None}))
    monkeypatch.setattr(connectors.ListedConnector, "of", lambda *_: listed.connectors[0])
    assert printed("list")["connectors"][0]["state"] == "FAILED"
    monkeypatch.setattr(connectors, "request_restart", answers(RestartRequest("x", "r1", active=True)))
    assert printed("restart", "x")["active"]
    for deleted in (DeletedConnector("x", ended=True), DeletedConnector("x", True, CleanupResult("x", "service", "cache"))):
        monkeypatch.setattr(connectors, "delete_connector", answers(deleted))
        assert printed("delete", "x")["ended"]
    monkeypatch.setattr(connectors, "delete_connector", answers(DeletedConnector("x", ended=False, declared_again=True)))
    assert printed("delete", "x", code=1)["declared_again"]
