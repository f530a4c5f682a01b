"""How the Spark apps find their secrets, and where they refuse to ship them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.app import AppRequest, Arguments, find_secrets
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.settings import secrets
from ignite_kafka.settings.permissions import Permissions
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.secrets_file import SecretsFile
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.topic_names import reserve
from tests.support import emitted_events

FULL = Secrets(IgniteCredentials("ann", "hunter2"), {"sasl.password": "hunter3"})
AUTHENTICATED = {"spark.authenticate": "true"}
ENCRYPTED = {**AUTHENTICATED, "spark.network.crypto.enabled": "true"}


def spark(master: str, conf: dict[str, str] | None = None) -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, getConf=lambda: conf or {}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.json"
    secrets.dump(FULL, path)
    return path


def exposed() -> int:
    return emitted_events.counts().get(events.SECRETS_EXPOSED.id, 0)


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    emitted_events.reset()


@pytest.mark.parametrize("master", ["spark://m:7077", "yarn", "k8s://https://m", "spark://local:1"])
def test_a_spark_that_asks_nobody_who_he_is_gets_no_secrets(file: Path, master: str) -> None:
    with pytest.raises(SettingsError, match=r"driver's port.*secrets_file.*spark\.authenticate.*ship_secrets_unprotected") as caught:
        find_secrets(spark(master), Arguments("r", secrets=str(file)))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("conf", "unprotected", "told"), [({}, True, 1), (AUTHENTICATED, False, 1), (ENCRYPTED, False, 0)])
def test_what_is_shipped_in_the_clear_is_said(file: Path, conf: dict[str, str], unprotected: bool, told: int) -> None:
    found = find_secrets(spark("spark://m:7077", conf), Arguments("r", secrets=str(file), unprotected=unprotected))
    assert found is not None
    assert exposed() == told
    file.unlink()  # the caller's file may go
    assert pickle.loads(pickle.dumps(found)).load() == FULL  # as Spark hands it to a task
    assert "hunter" not in repr(found)


def test_beside_the_driver_nothing_is_in_the_way(file: Path) -> None:
    found = find_secrets(spark("local[2]"), Arguments("r", secrets=str(file)))
    assert found is not None
    assert found.load() == FULL
    assert exposed() == 0


def test_a_mounted_file_is_read_where_it_is(file: Path) -> None:
    found = find_secrets(spark("spark://m:7077"), Arguments("r", mounted_secrets=str(file)))
    assert found == SecretsFile(str(file))
    assert found.load() == FULL


def test_permissions_of_a_request_reach_the_secrets_of_tasks(file: Path, tmp_path: Path) -> None:
    content = {"connector": "c", "run_id": "r", "settings": {}, "allowed_kafka_options": ["ssl.providers=legacy"]}
    (path := tmp_path / "request.json").write_text(json.dumps(content))
    assert AppRequest.load(str(path), SourceSettings).permissions == Permissions(("ssl.providers=legacy",))
    path.write_text(json.dumps({**content, "allow_insecure_connections": True}))
    permissions = AppRequest.load(str(path), SourceSettings).permissions
    assert permissions == Permissions(("ssl.providers=legacy",), insecure_connections=True)
    for arguments in (Arguments("r", secrets=str(file)), Arguments("r", mounted_secrets=str(file))):
        assert arguments.read_secrets(permissions).insecure
        found = find_secrets(spark("local[2]"), arguments, permissions)
        assert found is not None
        assert pickle.loads(pickle.dumps(found)).load().insecure
        path.write_text(json.dumps({**content, "settings": {"allow_insecure_connections": True}}))
        assert not arguments.read_secrets(AppRequest.load(str(path), SourceSettings).permissions).insecure


def test_without_secrets_there_is_nothing_to_ship() -> None:
    assert find_secrets(spark("spark://m:7077"), Arguments("r")) is None


def test_a_file_that_others_can_read_is_not_shipped(file: Path) -> None:
    file.chmod(0o644)
    with pytest.raises(SettingsError, match="others can read the secrets file"):
        find_secrets(spark("local[2]"), Arguments("r", secrets=str(file)))


def test_a_copy_of_the_cluster_manager_is_taken_from_others(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o644)  # --files copies with the mode of the umask
    monkeypatch.chdir(tmp_path)
    found = find_secrets(spark("local[2]"), Arguments("r", secrets=f"elsewhere/{file.name}"))
    assert found is not None
    assert found.load() == FULL
    assert file.stat().st_mode & 0o777 == 0o600


def test_prefixes_of_internal_topics_of_a_request_bind_its_settings(tmp_path: Path) -> None:
    """An administrator lists them; the driver checks the settings anew, and its tasks get them too."""
    content = {"connector": "c", "run_id": "r", "settings": {"topics": ["team-b-configs"], "internal_topic_prefix": "mine"}}
    request = tmp_path / "request.json"
    try:
        for prefixes in ({}, {"internal_topic_prefixes": ["team-c"]}):
            request.write_text(json.dumps({**content, **prefixes}))
            assert AppRequest.load(str(request), SinkSettings).settings.topics == ("team-b-configs",)
        request.write_text(json.dumps({**content, "internal_topic_prefixes": ["team-b"]}))
        with pytest.raises(SettingsError, match="topics names an internal topic"):
            AppRequest.load(str(request), SinkSettings)
    finally:
        reserve([])
