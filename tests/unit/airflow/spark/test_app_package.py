"""Files of a packaged app: where they are, what they hold, and what is refused before anything is written."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ignite_kafka.runs.identity import FollowedRun
from airflow_provider_ignite_kafka.runs.names import RunNames
from airflow_provider_ignite_kafka.spark import app_package
from airflow_provider_ignite_kafka.spark.app_package import SparkAppFiles, package_app
from tests.unit.airflow.bench import CONFIG, PASSWORDS, Bench

SETTINGS = {"cache_whitelist": ["flights"], "topic_prefix": "t-"}
NAMES = RunNames("nightly.copy", "nightly/copy/1", "nightly/copy/1/x")


def packaged(folder: Path | str, settings: Any = None, **arguments: Any) -> SparkAppFiles:
    given = {"direction": "source", "secrets_file": "/etc/ignite-kafka.json", "names": NAMES, **arguments}
    return package_app(SETTINGS if settings is None else settings, str(folder), **given)


def test_files_and_arguments_name_the_run_and_hold_no_secret(bench: Bench, tmp_path: Path) -> None:
    app = packaged(tmp_path / "apps")
    request = json.loads(Path(app.request).read_text())
    run = FollowedRun.from_dict(app.run)
    assert (request["run_id"], request["snapshot_id"], request["connector"]) == (NAMES.run_id, NAMES.snapshot_id, NAMES.connector)
    assert (run.run_id, run.connector, run.secrets_file) == (NAMES.run_id, NAMES.connector, "/etc/ignite-kafka.json")
    assert app.arguments == ("--request", app.request, "--mounted-secrets", "/etc/ignite-kafka.json")
    assert app.conf == {"spark.submit.pyFiles": app.library}
    with zipfile.ZipFile(app.library) as library:
        assert json.loads(library.read("request.json")) == request
        assert "ignite_kafka/app.py" in library.namelist()
    everything = json.dumps(app.to_dict()).encode() + b"".join(library_bytes(Path(app.folder)))
    assert not any(password.encode() in everything for password in PASSWORDS)


def library_bytes(folder: Path) -> list[bytes]:
    found = []
    for path in folder.iterdir():
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                found += [archive.read(name) for name in archive.namelist()]
        else:
            found.append(path.read_bytes())
    return found


def test_each_call_has_a_folder_of_its_own(bench: Bench, tmp_path: Path) -> None:
    assert packaged(tmp_path).folder != packaged(tmp_path).folder


def test_an_object_storage_gets_the_files_and_the_driver_finds_the_request_in_the_library(bench: Bench, tmp_path: Path) -> None:
    app = packaged(f"file://{tmp_path}/apps", direction="sink", settings={"topics": ["t"]})
    assert app.arguments[:2] == ("--request", "request.json")
    assert app.application.startswith(f"file://{tmp_path}/apps/")
    assert Path(app.application.removeprefix("file://")).name == "kafka_to_ignite.py"
    assert json.loads(Path(app.request.removeprefix("file://")).read_text())["snapshot_id"] is None


@pytest.mark.parametrize(
    ("cluster_folder", "request_argument"), [("/mnt/apps/", "/mnt/apps/{own}/request.json"), ("s3a://bucket/apps", "request.json")]
)
def test_addresses_are_those_of_the_cluster(bench: Bench, tmp_path: Path, cluster_folder: str, request_argument: str) -> None:
    app = packaged(tmp_path, cluster_folder=cluster_folder)
    own = Path(app.folder).name
    assert app.library == f"{cluster_folder.rstrip('/')}/{own}/ignite_kafka.zip"
    assert app.arguments[1] == request_argument.format(own=own)
    assert (tmp_path / own / "request.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"direction": "both"}, "direction is 'both'.*source, sink"),
        ({"secrets_file": None}, "the connections have secrets.*secrets_file"),
        ({"cluster_folder": "apps"}, "cluster_folder is 'apps'"),
        ({"settings": {"topic_prefx": "t-"}}, "topic_prefx"),
        ({"allowed_caches": ["planes"]}, "does not allow"),
        ({"run_for": "PT1H"}, "run_for is of streams"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(bench: Bench, tmp_path: Path, arguments: Any, reason: str) -> None:
    with pytest.raises(AirflowFailException, match=reason):
        packaged(tmp_path / "apps", **arguments)
    assert not (tmp_path / "apps").exists()


@pytest.mark.parametrize(("folder", "reason"), [("apps", "folder is 'apps'"), ("s3://me@bucket/apps", "object_conn_id")])
def test_a_folder_that_is_no_address_is_refused(bench: Bench, folder: str, reason: str) -> None:
    with pytest.raises(AirflowFailException, match=reason):
        packaged(folder)


def test_a_folder_that_cannot_be_written_is_named_and_may_be_retried(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AirflowException, match=f"could not be written to {tmp_path}/file/.*rights") as raised:
        packaged(tmp_path / "file")
    assert not isinstance(raised.value, AirflowFailException)


def test_connections_without_secrets_need_no_file(bench: Bench, connect: Any, tmp_path: Path) -> None:
    connect("ignite_default", conn_type="ignite", host="node")
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": CONFIG["bootstrap.servers"]})
    assert packaged(tmp_path, secrets_file=None).arguments[2:] == ()


def test_run_for_begins_with_the_call(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_package, "now_ms", lambda: 1_000)
    run = FollowedRun.from_dict(packaged(tmp_path, run_mode="continuous", failover_policy="FULL_SNAPSHOT", run_for=60).run)
    assert (run.submitted_ms, run.until_ms, run.streams) == (1_000, 61_000, True)
