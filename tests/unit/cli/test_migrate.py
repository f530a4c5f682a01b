"""`migrate`, and `run` of several files: the processes that it starts, their files and their secrets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.cli import migrate
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.settings import secrets
from ignite_kafka.settings.files.load import load
from ignite_kafka.settings.secrets import Secrets, dump
from tests.support.connect_files import PASSWORD, VARIABLES, allowing, copied


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    return copied(tmp_path, stores=False)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Settings, secrets and arguments of each process that was to be started, read while its files are there."""
    found: list[dict[str, Any]] = []

    def run(parts: Sequence[Any], on_poll: Callable[[], object]) -> int:
        on_poll()
        for part in parts:
            command = list(part._command)
            at = command.index("run")
            given = command[command.index("--secrets") + 1] if "--secrets" in command else None
            found.append(
                {
                    "name": part.name,
                    "settings": load(command[at + 1]).settings(),
                    "secrets": secrets.load(given) if given else None,
                    "arguments": command[at + 2 :],
                }
            )
        return 0

    monkeypatch.setattr(migrate, "run_together", run)
    return found


def test_another_process_may_read_what_the_command_allows(folder: Path, started: list[dict[str, Any]]) -> None:
    given = [str(folder / name) for name in ("distributed.properties", "tutorial-source.properties")]
    assert cli.main(["run", *given, *allowing(folder)]) == 0
    assert started[0]["arguments"][-6:] == allowing(folder)


def test_several_connectors_run_side_by_side(folder: Path, started: list[dict[str, Any]]) -> None:
    given = [str(folder / name) for name in ("distributed.properties", "tutorial-source.properties", "tutorial-sink.properties")]
    dump(Secrets(IgniteCredentials("ann", "hunter2")), folder / "s.json")
    options = ["--master", "local[2]", "--secrets", str(folder / "s.json"), "--kafka", "k:1", *allowing(folder)]
    assert cli.main(["--quiet", "run", *given, *options]) == 0
    assert [one["name"] for one in started] == ["gridgain-quickstart-source", "gridgain-quickstart-sink"]
    for one in started:
        assert one["settings"].run_mode == "continuous"
        assert one["secrets"].kafka == {"sasl.password": PASSWORD}
        assert one["secrets"].ignite.password == "hunter2"
        assert one["arguments"][:4] == ["--master", "local[2]", "--kafka", "k:1"]
        assert PASSWORD not in " ".join(one["arguments"])


def test_the_permissions_of_the_command_are_those_of_each_run(folder: Path, started: list[dict[str, Any]]) -> None:
    given = [str(folder / name) for name in ("standalone.properties", "tutorial-source.properties")]
    assert cli.main(["run", *given, "--allow-insecure-connections", "--allow-kafka-option", "ssl.providers=legacy"]) == 0
    assert started[0]["arguments"] == ["--allow-kafka-option", "ssl.providers=legacy", "--allow-insecure-connections"]


def test_a_connector_without_secrets_gets_none(folder: Path, started: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(folder / "standalone.properties"), str(folder / "tutorial-source.properties"), "--ignite", "i:1"]) == 0
    (one,) = started
    assert (one["secrets"], one["settings"].ignite_addresses, one["arguments"]) == (None, ("i:1",), [])
    assert "connector gridgain-quickstart-source, run_mode continuous" in capsys.readouterr().out


def test_files_without_a_worker_s_are_all_connectors(folder: Path, started: list[dict[str, Any]]) -> None:
    assert cli.main(["run", *(str(folder / f"tutorial-{kind}.properties") for kind in ("source", "sink"))]) == 0
    assert len(started) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["migrate", "standalone.properties"], "there is no connector's file"),
        (["migrate", "standalone.properties", "tutorial-sink.properties", "--output", "none"], "there is no such folder"),
        (["run", "standalone.properties", "tutorial-sink.properties", "--run-id", "r"], "are of one connector"),
        (["validate", "standalone.properties", "none.properties"], "No such file"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert cli.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_node_s_file_that_is_elsewhere_needs_addresses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ignite-client.xml").unlink()
    given = [str(folder / "standalone.properties"), str(folder / "tutorial-source.properties"), "--output", str(folder / "out")]
    assert cli.main(["migrate", *given]) == 2
    assert "Give the client connectors' addresses: --ignite" in capsys.readouterr().err
    assert cli.main(["migrate", *given, "--ignite", "i-1:10800,i-2:10800"]) == 0
    assert load(folder / "out" / "gridgain-quickstart-source.properties").settings().ignite_addresses == ("i-1:10800", "i-2:10800")
