"""Where `ignite-kafka serve` may listen, and the command of a run."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.cli import serve as serving
from ignite_kafka.cli.commands import parse
from ignite_kafka.cli.serve import check_exposure, check_work_folder, run_command
from ignite_kafka.connect_rest.access import Logins
from ignite_kafka.errors import SettingsError
from tests.unit.connect_rest.simulated_service import simulated_service

LOGINS = Logins({"ann": "correct horse"})


@pytest.mark.parametrize(
    ("host", "logins", "tls", "plain", "refused"),
    [
        ("127.0.0.1", Logins(), False, False, ""),
        ("localhost", Logins(), False, False, ""),
        ("::1", Logins(), False, False, ""),
        ("0.0.0.0", Logins(), True, True, "everybody who reaches 0.0.0.0 could change connectors"),
        ("0.0.0.0", LOGINS, False, False, "passwords and tokens would travel readable"),
        ("10.0.0.1", LOGINS, True, False, ""),
        ("10.0.0.1", Logins(token="t" * 22), False, True, ""),
    ],
)
def test_beyond_loopback_a_login_and_tls_are_needed(host: str, logins: Logins, tls: bool, plain: bool, refused: str) -> None:
    if not refused:
        check_exposure(host, logins, tls=tls, plain=plain)
        return
    with pytest.raises(SettingsError, match=refused):
        check_exposure(host, logins, tls=tls, plain=plain)


def test_a_work_folder_of_others_is_refused(tmp_path: Path) -> None:
    check_work_folder(tmp_path / "new" / "work")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    with pytest.raises(SettingsError, match=r"other users may access the folder \(mode 0777\).*chmod 700 FOLDER"):
        check_work_folder(tmp_path / "shared")


def test_wrong_arguments_end_before_anything_is_served(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["serve", "--host", "0.0.0.0"]) == 2
    assert "Give --users or --token-file" in capsys.readouterr().err
    assert cli.main(["serve", "--tls-cert", "cert.pem"]) == 2
    assert "Give --tls-cert and --tls-key" in capsys.readouterr().err
    assert cli.main(["serve", "--users", str(tmp_path / "absent")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_run_gets_what_the_user_of_the_server_granted() -> None:
    arguments = parse(
        ["serve", "--master", "yarn", "--secrets", "s.json", "--allow-insecure-connections", "--allow-kafka-option", "a=b",
         "--allow-config-provider", "FileConfigProvider=/run/secrets"]
    ).arguments  # fmt: skip
    command = run_command(arguments, Path("c.json"), "serve-1")
    assert command[3:] == [
        "run", "c.json", "--run-id", "serve-1", "--unless-stopped", "--master", "yarn", "--secrets", "s.json", "--allow-kafka-option", "a=b",
        "--allow-insecure-connections", "--allow-config-provider", "FileConfigProvider=/run/secrets",
    ]  # fmt: skip
    assert parse(command[3:]).arguments.unless_stopped
    assert run_command(parse(["serve"]).arguments, Path("c.json"), "r")[3:] == ["run", "c.json", "--run-id", "r", "--unless-stopped"]


@pytest.mark.parametrize("wrong", ["port", "certificate"])
def test_a_server_that_cannot_listen_starts_no_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str) -> None:
    kept: list[str] = []
    monkeypatch.setattr("ignite_kafka.connect_rest.keeper.Keeper.run", lambda _: kept.append("run"))
    service, _, _ = simulated_service(monkeypatch)
    absent = str(tmp_path / "absent.pem")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ["serve", "--port", str(port), *(["--tls-cert", absent, "--tls-key", absent] if wrong == "certificate" else [])]
        try:
            with pytest.raises(SettingsError, match="the server cannot listen"):
                serving._serve(parse(words).arguments, service, LOGINS, tmp_path)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    assert kept == []
