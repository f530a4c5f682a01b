"""Secrets: a file for its owner alone, nothing shown."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.settings import secrets
from ignite_kafka.settings.permissions import Permissions
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.secrets_file import SecretsFile

FULL = Secrets(IgniteCredentials("ann", "hunter2", "hunter3"), {"sasl.password": "hunter4"})


def test_file_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    secrets.dump(FULL, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secrets.load(path) == FULL


def test_the_mode_is_0600_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        secrets.dump(FULL, tmp_path / "s")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600


def test_nothing_is_written_over_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for name in ("there", "link"):
        with pytest.raises(FileExistsError):
            secrets.dump(FULL, tmp_path / name)
    assert (tmp_path / "there").read_text() == "x"
    assert not (tmp_path / "target").exists()


def test_parts_may_be_missing() -> None:
    assert secrets.from_json("{}") == Secrets()
    assert secrets.from_json('{"ignite": {"username": "ann", "password": null}}') == Secrets(IgniteCredentials("ann"))


def test_nothing_is_shown() -> None:
    assert "hunter" not in repr(FULL)
    assert "hunter" not in str(FULL)
    assert "sasl.password" in repr(FULL)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "s"
    secrets.dump(FULL, path)
    path.chmod(mode)
    with pytest.raises(SettingsError, match=f"mode {mode:04o}.*chmod 600") as caught:
        secrets.load(path)
    assert "hunter" not in str(caught.value)
    secrets.restrict(path)
    assert secrets.load(path) == FULL


@pytest.mark.parametrize("read_only", [False, True])
def test_a_mounted_file_may_be_read_by_a_group_and_never_by_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_only: bool) -> None:
    path = tmp_path / "s"
    secrets.dump(FULL, path)
    if read_only:
        monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(f_flag=os.ST_RDONLY))
    else:
        monkeypatch.setattr(secrets, "_mount_points", lambda: frozenset({str(path.resolve())}))
    path.chmod(0o440)
    assert secrets.load(path) == FULL
    path.chmod(0o444)
    with pytest.raises(SettingsError, match=r"mode 0444.*defaultMode 0400"):
        secrets.load(path)


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s"
    secrets.dump(FULL, path)
    monkeypatch.setattr(secrets, "_trusted_owners", lambda: {os.geteuid() + 1})
    with pytest.raises(SettingsError, match=f"belongs to another user .uid {os.geteuid()}."):
        secrets.load(path)


def test_mount_points_are_those_of_the_kernel_s_table(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text("36 35 98:0 / / rw - ext4 /dev/a rw\n37 36 0:5 /x /run/my\\040secrets/s ro shared:1 - tmpfs tmpfs ro\n")
    assert secrets._mount_points(table) == {"/", "/run/my secrets/s"}
    assert secrets._mount_points(tmp_path / "none") == frozenset()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "no JSON object"),
        ('{"ignite": "hunter2"}', "no JSON object of objects"),
        ('{"ignite": {"pasword": "hunter2"}}', "unknown name.*ignite.pasword"),
        ('{"kafka": {"sasl.password": 5}}', "not text.*kafka.sasl.password"),
        ('{"ignite": {"password": 5}}', "not text.*ignite.password"),
        ('{"kafka": {"sasl.password": null}}', "not text"),
        ('{"spark": {}}', "unknown part.*spark"),
        ('{"spark": {"a": "hunter2"}}', "unknown name.*spark.a"),
    ],
)
def test_another_form_is_an_error_that_shows_no_content(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "s"
    path.touch(0o600)
    path.write_text(content)
    with pytest.raises(SettingsError, match=message) as caught:
        secrets.load(path)
    assert "hunter" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_kafka_part_has_librdkafka_s_names(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no property of librdkafka.*sasl\.pasword.*Did you mean sasl\.password") as caught:
        secrets.from_json('{"kafka": {"sasl.pasword": "hunter2"}}')
    assert "hunter" not in str(caught.value)


def test_what_acts_on_the_host_must_be_allowed(tmp_path: Path) -> None:
    content = '{"kafka": {"plugin.library.paths": "/opt/plugin.so"}}'
    for allowed in ((), ("plugin.library.paths=/opt/other.so",), ("plugin.library.paths",)):
        with pytest.raises(SettingsError, match=r"plugin\.library\.paths loads native code, and this value is not allowed"):
            secrets.from_json(content, permissions=Permissions(allowed))
    allowing = Permissions(("plugin.library.paths=/opt/plugin.so",))
    assert secrets.from_json(content, permissions=allowing).kafka == {"plugin.library.paths": "/opt/plugin.so"}


def test_a_control_character_in_a_kafka_property_is_refused_unseen() -> None:
    for name, value in (("security.protocol", "sasl_plaintext\0"), ("sasl.password\0", "hunter2"), ("sasl.password", "hunter2\n")):
        with pytest.raises(SettingsError, match="control character U\\+000") as caught:
            secrets.from_json(json.dumps({"kafka": {name: value}}))
        assert "hunter2" not in str(caught.value)
    assert secrets.from_json(json.dumps({"kafka": {"ssl.key.pem": "-----BEGIN\nx\n"}})).kafka


def test_permissions_travel_with_secrets_and_are_not_in_the_file(tmp_path: Path) -> None:
    secrets.dump(replace(FULL, insecure=True), path := tmp_path / "secrets.json")
    assert not secrets.load(path).insecure
    assert secrets.load(path, Permissions(insecure_connections=True)).insecure
    with pytest.raises(SettingsError, match=r"unknown part .*insecure"):
        secrets.from_json('{"insecure": {}}')
    assert SecretsFile(str(path), Permissions(insecure_connections=True)).load().insecure


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        secrets.load(tmp_path / "none")


def test_which_names_are_secret() -> None:
    config = {
        "sasl.password": "1", "ssl.key.password": "2", "ssl.key.pem": "3", "sasl.oauthbearer.client.secret": "4", "sasl.jaas.config": "5",
        "bootstrap.servers": "h", "sasl.username": "u", "security.protocol": "SSL", "ssl.ca.location": "c", "ssl.ca.pem": "p",
        "ssl.key.location": "k", "sasl.oauthbearer.token.endpoint.url": "e",
    }  # fmt: skip
    public, hidden = secrets.split_kafka(config)
    assert sorted(hidden.values()) == ["1", "2", "3", "4", "5", "e"]  # the address that the client secret is sent to goes with it
    assert public | hidden == config


def test_json_form() -> None:
    assert secrets.from_json(json.dumps(secrets.to_dict(FULL))) == FULL
