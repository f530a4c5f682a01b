"""Realistic files of Kafka Connect, each from `migrate` to settings that load and validate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings import secrets
from ignite_kafka.settings.connect.config_providers import parse_allowed
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files.load import load
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.support.connect_files import PASSWORD, SECURED, STANDALONE, VARIABLES, allowing, copied

ADDRESSES = ("ignite-1.example.com:10800", "ignite-2.example.com:10800", "[2001:db8::7]:10800")
NEW = {
    "tutorial-source.properties": "gridgain-quickstart-source",
    "tutorial-sink.properties": "gridgain-quickstart-sink",
    "schemas-source.properties": "orders-source",
    "confluent-source.json": "gridgain-flights",
    "confluent-sink.json": "gridgain-sink-eu",
    "kafka-key-sink.properties": "audit-log",
    "backlog-source.properties": "accounts",
    "transforms-source.properties": "people",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    return copied(tmp_path, stores=False)


def migrated(folder: Path, worker: str, connector: str) -> ConnectorSettings:
    assert cli.main(["migrate", str(folder / worker), str(folder / connector), "--output", str(folder / "out"), *allowing(folder)]) == 0
    path = folder / "out" / f"{NEW[connector]}.properties"
    hidden = path.with_suffix(".secrets.json")
    assert cli.main(["validate", str(path), *(["--secrets", str(hidden)] if hidden.exists() else []), *allowing(folder)]) == 0
    return load(path, parse_allowed(["EnvVarConfigProvider=CONNECT_.*"])).settings()


def changed(settings: ConnectorSettings) -> dict[str, Any]:
    defaults = settings.defaults()
    return {name: getattr(settings, name) for name in settings.definitions() if getattr(settings, name) != defaults[name]}


@pytest.mark.parametrize("connector", STANDALONE)
@pytest.mark.parametrize("worker", ["standalone.properties", "distributed.properties"])
def test_each_file_becomes_settings_that_validate(worker: str, connector: str, folder: Path) -> None:
    settings = migrated(folder, worker, connector)
    assert (settings.name, settings.run_mode, settings.ignite_addresses) == (NEW[connector], "continuous", ADDRESSES)
    text = (folder / "out" / f"{NEW[connector]}.properties").read_text()
    for file in (worker, connector):  # a comment for each key
        keys = [line.partition("=")[0] for line in (folder / file).read_text().splitlines() if "=" in line and line[0] != "#"]
        assert [key for key in keys if f": {key}: " not in text] == []
    assert "run_mode is continuous here" in text
    assert f": igniteCfg\nignite_addresses={','.join(ADDRESSES)}\n" in text


def test_the_reference_s_tutorial(folder: Path) -> None:
    source, sink = (migrated(folder, "standalone.properties", f"tutorial-{kind}.properties") for kind in ("source", "sink"))
    schemas = {"schemas.enable": "true"}
    common = {
        "run_mode": "continuous",
        "ignite_addresses": ADDRESSES,
        "bootstrap_servers": "localhost:9092",
        "key_converter_config": schemas,
        "value_converter_config": schemas,
        "tasks_max": 2,
    }
    assert changed(source) == {
        **common,
        "name": "gridgain-quickstart-source",
        "topic_prefix": "quickstart-",
        "cache_whitelist": ("SQL_PUBLIC_PERSON", "Person"),
    }
    assert changed(sink) == {
        **common,
        "name": "gridgain-quickstart-sink",
        "topics": ("quickstart-Person",),
        "topic_prefix": "quickstart-",
        "cache_prefix": "copy-",
        "process_updates": True,
    }
    assert isinstance(sink, SinkSettings)
    assert sink.cache_of("quickstart-Person").name == "copy-Person"


def test_a_source_with_schemas_of_a_secured_cluster(folder: Path) -> None:
    settings = migrated(folder, "distributed.properties", SECURED[0])
    assert isinstance(settings, SourceSettings)
    assert settings.converter_properties("value")["decimal.format"] == "NUMERIC"
    assert settings.converter_properties("key")["decimal.format"] == "BASE64"
    assert settings.producer_override == {
        "compression.type": "zstd",
        "linger.ms": "20",
        "message.max.bytes": "5242880",
    }
    assert settings.kafka_config == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "connect",
        "ssl.ca.location": str(folder / "ca.pem"),
    }
    assert [settings.new_topic(f"prod.{cache}").partitions for cache in ("Customer", "OrderLine", "Other")] == [6, 24, 6]
    assert settings.new_topic("prod.Customer").config == {"cleanup.policy": "compact"}
    assert (settings.error_handling_policy, settings.conversion_policy) == ("LOG_ONLY", "STOP_TASK")
    text = (folder / "out" / "orders-source.properties").read_text()
    assert "# the default of Kafka Connect: errors.tolerance\nconversion_error_policy=STOP_TASK" in text
    assert settings.failover_policy == "FULL_SNAPSHOT"
    hidden = folder / "out" / "orders-source.secrets.json"
    assert hidden.stat().st_mode & 0o777 == 0o600
    assert secrets.load(hidden).kafka == {"sasl.password": PASSWORD}


@pytest.mark.parametrize("prefix", ["", "producer.", "producer.override."])
def test_java_s_empty_algorithm_does_not_verify_host_names(prefix: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, out = "ssl.endpoint.identification.algorithm", folder / "out" / "gridgain-quickstart-source.properties"
    files = [folder / "distributed.properties", folder / "tutorial-source.properties"]
    with files["override" in prefix].open("a") as file:
        file.write(f"{prefix}{name}=\n")
    assert cli.main(["migrate", *map(str, files), "--output", str(out.parent), *allowing(folder)]) == 0
    assert load(out).settings().kafka_config[name] == "none"
    assert f"{prefix}{name}: it is kafka_config.{name}=none: the broker's host name is not verified" in out.read_text()
    assert cli.main(["validate", str(out), "--secrets", str(out.with_suffix(".secrets.json"))]) == 2
    assert "the host name of Kafka at kafka-1.example.com:9093 is not verified" in capsys.readouterr().err


def test_confluent_flavoured_files(folder: Path) -> None:
    source = migrated(folder, "distributed.properties", "confluent-source.json")
    assert (source.key_converter, source.value_converter, source.log_values) == ("avro", "avro", False)
    assert source.producer_override == {"compression.type": "lz4", "message.max.bytes": "5242880"}
    registry = secrets.load(folder / "out" / "gridgain-flights.secrets.json").registry
    user = VARIABLES["CONNECT_REGISTRY_USER"]
    urls = "https://registry-1.example.com:8081,https://registry-2.example.com:8081"
    login = {"basic.auth.user.info": user, "basic.auth.credentials.source": "USER_INFO", "schema.registry.url": urls}
    assert registry == {f"{side}.converter.{name}": value for side in ("key", "value") for name, value in login.items()}
    rest = {"enhanced.avro.schema.support": "true", "connect.meta.data": "false"}
    assert source.value_converter_config == rest  # what decides where a login is sent stays beside the login
    sink = migrated(folder, "distributed.properties", "confluent-sink.json")
    assert isinstance(sink, SinkSettings)
    assert (sink.key_converter, sink.value_converter) == ("string", "json-schema")
    assert (sink.error_handling_policy, sink.conversion_policy) == ("STOP_TASK", "DEAD_LETTER")
    assert (sink.dead_letter_topic, sink.dead_letter_copies) == ("dlq-gridgain-sink-eu", 3)
    assert (sink.group_id, sink.auto_offset_reset, sink.replication_factor) == ("gridgain-eu", "latest", -1)
    assert (sink.key_policy, sink.key_fields, sink.topics_regex) == ("value", ("id", "country"), "orders-(de|fr|nl)")


def test_the_place_of_a_record_is_its_key(folder: Path) -> None:
    sink = migrated(folder, "standalone.properties", "kafka-key-sink.properties")
    assert isinstance(sink, SinkSettings)
    assert (sink.key_policy, sink.key_fields, sink.topics) == ("kafka", (), ("audit", "audit-archive"))
    assert (sink.value_converter, sink.value_converter_config) == ("bytes", {})
    assert (sink.error_handling_policy, sink.dead_letter_topic) == ("STOP_TASK", "audit-dead")


def test_a_backlog_keeps_its_service(folder: Path) -> None:
    source = migrated(folder, "standalone.properties", "backlog-source.properties")
    assert isinstance(source, SourceSettings)
    assert (source.failover_policy, source.load_initial_data, source.transaction_timeout_ms) == ("BACKLOG", False, 900_000)


@pytest.mark.parametrize("connector", ["file-source.properties", "file-sink.properties"])
def test_another_s_connector_is_refused_with_its_place(connector: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["migrate", str(folder / "standalone.properties"), str(folder / connector), "--output", str(folder / "out"), *allowing(folder)]
    assert cli.main(given) == 2
    assert f"set in {connector}, line 2" in capsys.readouterr().err
    assert list((folder / "out").iterdir()) == []


def test_all_findings_of_all_files_are_told_at_once_and_nothing_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "distributed.properties").open("a") as file:
        file.write("producer.partitioner.class=com.acme.P\nconsumer.isolation.level=read_uncommitted\n")
    with (folder / "tutorial-source.properties").open("a") as file:
        file.write("cacheWhitelits=x\nbatchSize=many\nproducer.override.transactional.id=mine\n")
    with (folder / "tutorial-sink.properties").open("a") as file:
        file.write("topicPrefix=${vault:a:hunter2}\npushInterval=0\n")
    given = [str(folder / name) for name in ("distributed.properties", "tutorial-source.properties", "tutorial-sink.properties")]
    assert cli.main(["migrate", *given, "--output", str(folder / "out"), *allowing(folder)]) == 2
    shown = capsys.readouterr()
    for text in ("producer.partitioner.class", "cacheWhitelits", "batch_size", "transactional.id", "read_uncommitted", "push_interval_ms"):
        assert text in shown.err or text == "read_uncommitted", (text, shown.err)
    assert "consumer.isolation.level, set in distributed.properties, line" in shown.err
    assert "provider is not declared" in shown.err
    assert "hunter2" not in shown.err + shown.out
    assert list((folder / "out").iterdir()) == []


def test_nothing_is_overwritten(folder: Path) -> None:
    migrated(folder, "standalone.properties", "tutorial-source.properties")
    given = [
        "migrate",
        str(folder / "standalone.properties"),
        str(folder / "tutorial-source.properties"),
        "--output",
        str(folder / "out"),
        *allowing(folder),
    ]
    assert cli.main(given) == 2


def test_a_connector_s_own_converter_has_its_own_properties(folder: Path) -> None:
    with (folder / "tutorial-source.properties").open("a") as file:
        file.write("value.converter=org.apache.kafka.connect.json.JsonConverter\nkey.converter.schemas.enable=false\n")
    settings = migrated(folder, "distributed.properties", "tutorial-source.properties")
    assert settings.converter_properties("value")["schemas.enable"] == "true"  # its class's default, not the worker's false
    assert settings.key_converter == "string"
    assert settings.key_converter_config == {}


def test_a_value_of_a_provider_that_is_no_secret_stays_a_reference(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "tutorial-source.properties").open("a") as file:
        file.write("topicPrefix=${env:CONNECT_REGISTRY_USER}\n")
    (folder / "tutorial-source.properties").write_text(
        (folder / "tutorial-source.properties").read_text().replace("CONNECT_REGISTRY_USER", "CONNECT_PREFIX")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONNECT_PREFIX", "hunter3-")
        settings = migrated(folder, "distributed.properties", "tutorial-source.properties")
    assert isinstance(settings, SourceSettings)
    assert settings.topic_prefix == "hunter3-"
    assert "topic_prefix=${env:CONNECT_PREFIX}" in (folder / "out" / "gridgain-quickstart-source.properties").read_text()
    shown = capsys.readouterr()
    assert "hunter3" not in shown.out + shown.err


def test_migrate_reads_nothing_that_the_command_does_not_allow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """References stay, whatever they stand for, also where the setting is a number or a property of a transform."""
    monkeypatch.setenv("CONNECT_PREFIX", "hunter3-")
    with (folder / "backlog-source.properties").open("a") as file:
        file.write("topicPrefix=${env:CONNECT_PREFIX}\nbatchSize=${env:CONNECT_SIZE}\ntransforms=t\ntransforms.t.type=RegexRouter\n")
        file.write("transforms.t.regex=${env:CONNECT_PREFIX}(.*)\ntransforms.t.replacement=$1\n")
    providers = [line for line in (folder / "distributed.properties").read_text().splitlines() if line.startswith("config.providers")]
    with (folder / "standalone.properties").open("a") as file:
        file.write("\n".join(["", *providers]))
    given = [str(folder / name) for name in ("standalone.properties", "backlog-source.properties")]
    assert cli.main(["migrate", *given, "--output", str(folder / "out")]) == 0
    path = folder / "out" / "accounts.properties"
    lines = path.read_text().splitlines()
    for line in (
        "topic_prefix=${env:CONNECT_PREFIX}",
        "batch_size=${env:CONNECT_SIZE}",
        "transforms.t.regex=${env:CONNECT_PREFIX}(.*)",
        "config.providers.env.param.allowlist.pattern=CONNECT_.*",
    ):
        assert line in lines
    assert "hunter3" not in path.read_text()
    with pytest.raises(SettingsError, match="may not read this"):
        load(path).settings()
    monkeypatch.setenv("CONNECT_SIZE", "7")
    settings = load(path, parse_allowed(["EnvVarConfigProvider=CONNECT_.*"])).settings()
    assert isinstance(settings, SourceSettings)
    assert (settings.topic_prefix, settings.batch_size) == ("hunter3-", 7)
    assert settings.transform_config["t"]["regex"] == "hunter3-(.*)"


@pytest.mark.parametrize(("command", "count"), [("migrate", 2), ("validate", 3)])
def test_a_secret_by_reference_is_a_finding_that_says_what_to_do(
    command: str, count: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(folder / name) for name in ("distributed.properties", "tutorial-source.properties")]
    assert cli.main([command, *given, *(["--output", str(folder / "out")] if command == "migrate" else [])]) == 2
    shown = capsys.readouterr().err
    assert "[setting producer.sasl.jaas.config, set in distributed.properties, line 41]" in shown
    assert "--allow-config-provider" in shown
    assert PASSWORD not in shown
    assert list((folder / "out").iterdir()) == []


def test_two_connectors_of_one_name_cannot_run_together(folder: Path) -> None:
    given = [str(folder / name) for name in ("standalone.properties", "tutorial-sink.properties", "tutorial-sink.properties")]
    assert cli.main(["migrate", *given, "--output", str(folder / "out"), *allowing(folder)]) == 2


def test_validate_of_several_files_says_what_becomes_of_each_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [str(folder / name) for name in ("standalone.properties", "tutorial-source.properties", "tutorial-sink.properties")]
    assert cli.main(["validate", *given]) == 0
    out = capsys.readouterr().out
    assert "standalone.properties, line 9: plugin.path: ignored: it configures a worker of Kafka Connect" in out
    assert "tutorial-sink.properties is valid: connector gridgain-quickstart-sink, run_mode continuous" in out


def test_a_json_file_of_settings_is_read(folder: Path) -> None:
    assert json.loads((folder / "confluent-sink.json").read_text())["name"] == "gridgain-sink-eu"
    with pytest.raises(SettingsError, match="No such file"):
        load(folder / "none.json")


def test_a_transform_that_is_wrong_is_found_before_anything_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "transforms-source.properties"
    path.write_text(path.read_text().replace("visits:int32", "visits:int33"))
    given = [str(folder / "standalone.properties"), str(path), str(folder / "tutorial-sink.properties")]
    for command in (["migrate", *given, "--output", str(folder / "out"), *allowing(folder)], ["validate", *given]):
        assert cli.main(command) == 2
        assert "int33" in capsys.readouterr().err
    assert list((folder / "out").iterdir()) == []


def test_what_is_wrong_with_transforms_comes_with_all_other_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "c.properties"
    path.write_text(
        "name=c\nconnector.class=IgniteSourceConnector\nacks=all\ntransforms=only,drop,topic\nwhere=id > 1 / 0\n"
        "transforms.only.type=io.confluent.connect.transforms.Filter$Value\n"
        "transforms.drop.type=org.apache.kafka.connect.transforms.ReplaceField$Value\ntransforms.drop.blacklist=a\n"
        "transforms.topic.type=com.example.Route\n"
    )
    for given in ([str(path)], [str(folder / "standalone.properties"), str(path)]):
        assert cli.main(["validate", *given]) == 2
        found = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ignite-kafka:")]
        places = [3, 5, 6, 8, 9]
        assert len(found) == len(places) + 1, found
        assert [any(f"set in c.properties, line {place}]" in line for line in found) for place in places] == [True] * 5


def test_an_alias_that_nothing_names_is_to_be_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "c.properties"
    path.write_text(
        "name=c\nconnector.class=IgniteSourceConnector\ntransforms.drop.type=ReplaceField$Value\ntransforms.drop.exclude=secret\n"
    )
    given = [str(folder / "standalone.properties"), str(path)]
    for command in (["validate", *given], ["migrate", *given, "--output", str(folder / "out")]):
        assert cli.main(command) == 0
        shown = capsys.readouterr().out
        assert "to be checked: c.properties, line 3: transforms.drop has no effect: transforms does not name it" in shown


@pytest.mark.parametrize("command", ["migrate", "validate"])
def test_the_commands_load_no_library_of_data(command: str, folder: Path) -> None:
    """The commands take a fraction of a second; loading Arrow, polars or Spark takes longer."""
    given = [command, *(str(folder / name) for name in ("standalone.properties", "tutorial-source.properties", "tutorial-sink.properties"))]
    given += ["--output", str(folder / "out"), *allowing(folder)] if command == "migrate" else []
    code = f"import sys; from ignite_kafka.cli.main import main; assert main({given!r}) == 0; print(*sys.modules, file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert not {"pyarrow", "polars", "pyspark", "numpy", "pandas"} & set(done.stderr.split())
