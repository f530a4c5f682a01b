"""Config providers: references to files, folders and the environment, within what is allowed, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.files import LoadedSettings, from_properties

PACKAGE = "org.apache.kafka.common.config.provider"
DECLARED = f"""\
config.providers=file,dir,env
config.providers.file.class={PACKAGE}.FileConfigProvider
config.providers.dir.class={PACKAGE}.DirectoryConfigProvider
config.providers.env.class={PACKAGE}.EnvVarConfigProvider
"""


def load(text: str, declared: str = DECLARED) -> LoadedSettings:
    return from_properties(f"{declared}name=c\n{text}".encode(), "c.properties")


def test_values_come_from_files_folders_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.properties").write_text("prefix=from\\u002dfile\n")
    monkeypatch.setenv("OUR_BROKERS", "k:9092")
    text = f"topicPrefix=${{file:{tmp_path}/s.properties:prefix}}-${{dir:{tmp_path}:one}}\nbootstrap.servers=${{env:OUR_BROKERS}}"
    (tmp_path / "one").write_text("x")
    settings = load(text).settings()
    assert (settings.to_dict()["topic_prefix"], settings.bootstrap_servers) == ("from-file-x", "k:9092")
    assert settings.origin["bootstrap_servers"] == "c.properties, line 7, by a config provider"


@pytest.mark.parametrize(
    ("more", "reference", "message"),
    [
        ("", "${file:FOLDER/none:a}", "cannot be read: No such file"),
        ("", "${file:FOLDER/s:none}", "the file has no such key"),
        ("", "${dir:FOLDER:../s}", "no name of a file"),
        ("", "${env:NO_SUCH_VARIABLE_HERE}", "no such variable"),
        ("", "${vault:a:b}", "that provider is not declared"),
        ("config.providers.file.param.allowed.paths=/etc,/var", "${file:FOLDER/s:a}", "not below allowed.paths"),
        ("config.providers.file.param.allowed.paths=FOLDER/in", "${file:FOLDER/in/link:a}", "not below allowed.paths"),
        ("config.providers.env.param.allowlist.pattern=OUR_.*", "${env:HOME}", "does not match allowlist.pattern"),
    ],
)
def test_what_cannot_be_resolved_is_an_error(more: str, reference: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a=hunter2")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "s")
    text = f"{more}\ntopicPrefix={reference}".replace("FOLDER", str(tmp_path))
    with pytest.raises(SettingsError, match=message) as caught:
        load(text).settings()
    assert caught.value.where["set_in"].startswith("c.properties, line ")
    assert "hunter2" not in str(caught.value)


def test_a_wrong_value_of_a_provider_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "hunter2")
    with pytest.raises(SettingsError, match="the value that a config provider gave is wrong") as caught:
        load("batchSize=${env:OURS}").settings()
    assert "hunter2" not in str(caught.value)
    assert "a whole number" in str(caught.value)


def test_a_class_that_is_not_kafka_s_cannot_run_here() -> None:
    declared = "config.providers=v\nconfig.providers.v.class=com.acme.VaultConfigProvider\n"
    with pytest.raises(SettingsError, match="has a class that cannot run here"):
        load("", declared).settings()
