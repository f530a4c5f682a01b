"""Config providers: references to files, folders and the environment, within what is allowed, and never shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ignite_kafka.common import redaction
from ignite_kafka.convert.transforms.steps import check_steps, make_steps
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connect.config_providers import AllowedProvider, parse_allowed
from ignite_kafka.settings.files.load import LoadedSettings, from_properties

PACKAGE = "org.apache.kafka.common.config.provider"
DECLARED = f"""\
config.providers=file,dir,env
config.providers.file.class={PACKAGE}.FileConfigProvider
config.providers.dir.class={PACKAGE}.DirectoryConfigProvider
config.providers.env.class={PACKAGE}.EnvVarConfigProvider
"""
ALL = parse_allowed(["FileConfigProvider=/", "DirectoryConfigProvider=/", f"{PACKAGE}.EnvVarConfigProvider=.*"])
DATABASE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
SECRET = "postgresql://airflow:hunter2@db/airflow"


@pytest.fixture(autouse=True)
def _nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_hidden", set())


def load(text: str, declared: str = DECLARED, allowed: tuple[AllowedProvider, ...] = ALL) -> LoadedSettings:
    return from_properties(f"{declared}name=c\n{text}".encode(), "c.properties", allowed)


def refused(text: str, allowed: tuple[AllowedProvider, ...] = ALL, declared: str = DECLARED) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(text, declared, allowed).settings()
    return caught.value


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
        ("", "${dir:FOLDER:in}", "no regular file"),
        ("", "${env:NO_SUCH_VARIABLE_HERE}", "no such variable"),
        ("", "${vault:a:b}", "that provider is not declared"),
        ("config.providers.file.param.allowed.paths=/etc,/var", "${file:FOLDER/s:a}", "not below allowed.paths"),
        ("config.providers.file.param.allowed.paths=FOLDER/in", "${file:FOLDER/in/link:a}", "not below allowed.paths"),
        ("config.providers.dir.param.allowed.paths=FOLDER/in", "${dir:FOLDER/in:link}", "not below allowed.paths"),
        ("config.providers.env.param.allowlist.pattern=OUR_.*", "${env:HOME}", "does not match allowlist.pattern"),
    ],
)
def test_what_cannot_be_resolved_is_an_error(more: str, reference: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a=hunter2")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "s")
    text = f"{more}\ntopicPrefix={reference}".replace("FOLDER", str(tmp_path))
    error = refused(text)
    assert message in str(error)
    assert error.where["set_in"].startswith("c.properties, line ")
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(
    ("allowed", "reference"),
    [
        ([], "${env:OURS}"),
        ([], "${file:FOLDER/s:a}"),
        ([], "${dir:FOLDER:s}"),
        (["FileConfigProvider=/"], "${env:OURS}"),
        (["EnvVarConfigProvider=CONNECT_.*"], "${env:OURS}"),
        (["FileConfigProvider=FOLDER/in"], "${file:FOLDER/s:a}"),
        (["FileConfigProvider=FOLDER/in"], "${file:FOLDER/in/link:a}"),
        (["DirectoryConfigProvider=FOLDER/in"], "${dir:FOLDER/in:link}"),
    ],
)
def test_a_file_reads_no_more_than_is_allowed(allowed: list[str], reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "hunter2")
    monkeypatch.setenv(DATABASE, SECRET)
    (tmp_path / "s").write_text("a=hunter2")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "s")
    given = parse_allowed(one.replace("FOLDER", str(tmp_path)) for one in allowed)
    error = refused(f"topicPrefix={reference}".replace("FOLDER", str(tmp_path)), given)
    assert "may not read this" in error.what
    assert "config_providers" in error.remedy
    assert "--allow-config-provider" in error.remedy
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(
    "reference",
    [
        f"${{env:{DATABASE}}}",
        "${env:AIRFLOW_CONN_KAFKA_DEFAULT}",
        "${file:/proc/self/environ:a}",
        "${dir:/proc/self:environ}",
        "${dir:/dev:zero}",
    ],
)
def test_nobody_can_allow_airflow_s_variables_and_files_of_the_kernel(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATABASE, SECRET)
    error = refused(f"topicPrefix={reference}")
    assert "are never given" in error.what
    assert "allow" not in error.remedy
    assert "hunter2" not in str(error)


def test_a_provider_that_nothing_refers_to_needs_no_permission() -> None:
    assert load("topicPrefix=p-", allowed=()).settings().name == "c"


@pytest.mark.parametrize(
    "text", ["EnvVarConfigProvider", "EnvVarConfigProvider=", "EnvVarConfigProvider=(", "FileConfigProvider=secrets", "X=/"]
)
def test_an_allowed_provider_has_a_class_and_a_limit(text: str) -> None:
    with pytest.raises(SettingsError, match=r"\[setting config_providers, value "):
        parse_allowed([text])


def test_a_wrong_value_of_a_provider_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "hunter2")
    error = refused("batchSize=${env:OURS}")
    assert "the value that a config provider gave is wrong" in error.what
    assert "hunter2" not in str(error)
    assert "a whole number" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "transforms=t\ntransforms.t.type=org.apache.kafka.connect.transforms.RegexRouter\ntransforms.t.regex=${env:OURS}(\n"
        "transforms.t.replacement=x",
        "transforms=t\ntransforms.t.type=org.apache.kafka.connect.transforms.RegexRouter\ntransforms.t.regex=x\n"
        "transforms.t.replacement=$1${env:OURS}",
        "transforms=t\ntransforms.t.type=${env:OURS}",
        "connector.class=${env:OURS}",
        "where=${env:OURS}",
        "overrides={\"a\": {\"topic\": \"${env:OURS}\"}}",
    ],
)  # fmt: skip
def test_nor_in_an_error_of_transforms_and_others(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", SECRET)
    with pytest.raises(SettingsError) as caught:
        check_steps(load(text).settings())
    seen: BaseException | None = caught.value
    while seen is not None:
        assert "hunter2" not in str(seen)
        seen = seen.__cause__


def test_nor_where_the_settings_are_checked_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", SECRET)
    text = "transforms=t\ntransforms.t.type=org.apache.kafka.connect.transforms.RegexRouter\ntransforms.t.regex=${env:OURS}(\n"
    settings = load(f"{text}transforms.t.replacement=x").settings()
    without_origin = type(settings).from_dict(settings.to_dict())
    with pytest.raises(SettingsError, match="value of a config provider") as caught:
        make_steps(without_origin)
    assert "hunter2" not in str(caught.value)


def test_a_class_that_is_not_kafka_s_cannot_run_here_and_leaves_the_others_declared() -> None:
    declared = f"{DECLARED}config.providers=env,v\nconfig.providers.v.class=com.acme.VaultConfigProvider\n"
    text = "topicPrefix=${env:some/path:DEMO_PREFIX}\nvalue.converter.schema.registry.url=${v:ns/name:key}"
    first, second = refused(text, declared=declared).findings
    assert "has a class that cannot run here" in first.what
    assert first.where["setting"] == "config.providers.v.class"
    assert second.what == "the config provider env takes no path"
    assert second.remedy == "Write ${env:DEMO_PREFIX}"


def test_a_list_of_providers_that_is_none_is_an_error() -> None:
    error = refused("topicPrefix=x", declared="config.providers=env,\0\n")
    assert error.what == "config.providers is wrong: it has the control character U+0000"
    assert error.where["set_in"] == "c.properties, line 1"


def test_a_value_that_looks_like_a_reference_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "${file:/etc/passwd:a}")
    text = "transforms=t\ntransforms.t.type=InsertField$Value\ntransforms.t.static.field=f\ntransforms.t.static.value=${env:OURS}"
    assert load(text).settings().transform_config["t"]["static.value"] == os.environ["OURS"]
