"""A configuration from REST chooses what is copied; connections, code and other teams' topics are the operator's."""

from __future__ import annotations

import pytest

from ignite_kafka.connect_rest import configuration
from ignite_kafka.connect_rest.configuration import AutoRestart, Operator, check_configuration, check_declared, errors_of
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.ignite.endpoint import IgniteCredentials
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings

SOURCE = {"name": "c", "connector.class": "IgniteSourceConnector", "cacheWhitelist": "a"}
SINK = {"name": "c", "connector.class": "org.gridgain.kafka.sink.IgniteSinkConnector", "topics": "t"}
CONNECTION = {
    "bootstrap_servers": "localhost:1", "ignite_addresses": ["localhost:2"], "internal_topic_prefix": "team", "name": "all",
    "kafka_config": {"client.id": "server"},
}  # fmt: skip
OPERATOR = Operator(SourceSettings.from_dict(CONNECTION), Secrets(IgniteCredentials("u", "p"), {"sasl.password": "p"}))


def refusals(config: dict[str, str]) -> str:
    with pytest.raises(IgniteKafkaError) as caught:
        check_configuration({**SOURCE, **config}, OPERATOR)
    assert "hunter2" not in str(caught.value)
    return "\n".join(map(str, errors_of(caught.value)))


@pytest.mark.parametrize("config", [SOURCE, SINK])
def test_addresses_are_the_operator_s_and_a_connector_runs_until_it_is_stopped(config: dict[str, str]) -> None:
    own = {"ignite_addresses": "evil.example:1", "bootstrap.servers": "evil.example:2", "ignite_tls_enabled": "true"}
    settings = check_configuration({**config, **own}, OPERATOR)
    assert settings.ignite_addresses == ("localhost:2",)
    assert settings.bootstrap_servers == "localhost:1"
    assert not settings.ignite_tls_enabled
    assert (settings.internal_topic_prefix, settings.run_mode, settings.name) == ("team", "continuous", "c")
    assert check_configuration({**config, "run_mode": "once"}, OPERATOR).run_mode == "once"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"sasl.mechanism": "PLAIN"}, "kafka_config.sasl.mechanisms cannot be set by REST"),
        ({"security.protocol": "PLAINTEXT"}, "kafka_config.security.protocol cannot be set by REST"),
        ({"producer.override.sasl.jaas.config": "hunter2"}, "sasl.jaas.config"),
        ({"sasl.password": "hunter2"}, "sasl.password"),
        ({"ignite_password": "hunter2"}, "a secret is no setting"),
        ({"allow_insecure_connections": "true"}, "allow_insecure_connections cannot be set by REST"),
        ({"internal_topic_prefix": "other"}, "the server has one prefix"),
        ({"metrics_host": "0.0.0.0", "metrics_port": "1"}, "other hosts would reach"),
        ({"producer.override.plugin.library.paths": "/tmp/x.so"}, "plugin.library.paths"),
        ({"where": "a = 1 / 0"}, "where"),
        ({"transforms": "t", "transforms.t.type": "NoSuch"}, "NoSuch"),
        ({"topics": "a", "dead_letter_topic": "team-configs"}, "dead_letter_topic"),
        ({"cacheWhitelist": "${file:/etc/passwd:root}"}, "configuration providers"),
        ({"config.providers": "f", "config.providers.f.class": "FileConfigProvider", "cacheWhitelist": "${f:/etc/passwd:root}"}, "may not read"),
        ({"autoRestart.enabled": "maybe"}, "autoRestart.enabled is wrong"),
        ({"autoRestart.maxRestarts": "-1"}, "autoRestart.maxRestarts is wrong"),
        ({"cachewhitelist": "a"}, "there is no such setting"),
        ({"name": "a/b"}, "name is wrong"),
    ],
)  # fmt: skip
def test_what_only_the_operator_may_decide_is_refused(config: dict[str, str], told: str) -> None:
    assert told in refusals(config)


def test_all_errors_are_told_at_once() -> None:
    told = refusals({"tasks.max": "many", "surplus": "1", "allow_insecure_connections": "true"})
    assert len(told.splitlines()) == 3


def test_properties_that_are_no_addresses_are_kept() -> None:
    settings = check_configuration({**SOURCE, "producer.override.linger.ms": "7"}, OPERATOR)
    assert dict(settings.producer_override) == {"linger.ms": "7"}
    assert dict(settings.kafka_config) == {"client.id": "server"}


def test_restarts_have_strimzi_s_names() -> None:
    assert AutoRestart.of({}) == AutoRestart(True, None)
    assert AutoRestart.of({"autoRestart.enabled": "False", "autoRestart.maxRestarts": "7"}) == AutoRestart(False, 7)
    check_configuration({**SOURCE, "autoRestart.maxRestarts": "7"}, OPERATOR)


@pytest.mark.parametrize("name", ["d", "../c", ""])
def test_a_record_under_another_name_is_refused(name: str) -> None:
    assert check_declared("c", SOURCE, OPERATOR) == check_configuration(SOURCE, OPERATOR)
    with pytest.raises(SettingsError, match="another connector than its key"):
        check_declared(name, SOURCE, OPERATOR)


@pytest.mark.parametrize("error", [ValueError("hunter2"), RecursionError("deep"), TypeError("kind")])
def test_an_error_that_no_check_foresees_is_one_of_the_configuration(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(configuration, "check_conditions", fail)
    with pytest.raises(SettingsError, match=f"cannot be used: {type(error).__name__}") as refused:
        check_declared("c", SOURCE, OPERATOR)
    assert "hunter2" not in str(refused.value)
