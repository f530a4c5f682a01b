"""Every property of librdkafka is judged, and what acts on a host or on a credential stays out of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.datasources.kafka_tx_read import ReadOptions
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings import client_properties
from ignite_kafka.settings.client_properties import (
    COMMON,
    CONSUMER,
    CREDENTIAL_TARGETS,
    HOST_ACCESS,
    PRODUCER,
    SECRETS,
    SECURITY,
    UNSETTABLE,
    check_trusted,
    is_security,
)
from ignite_kafka.settings.client_stores import JAVA_NAMES, TRUST_PASSWORD
from ignite_kafka.settings.files import load as properties
from ignite_kafka.settings.secrets import is_secret, split_kafka
from ignite_kafka.settings.sink import SinkSettings
from tests.support import librdkafka
from tests.support.source_settings import build

MAPPINGS = ("kafka_config", "producer_override", "consumer_override")
KEPT = sorted({**HOST_ACCESS, **CREDENTIAL_TARGETS})
INJECTIONS = ["x; touch /tmp/ran", '"; touch /tmp/ran; "', "$(id)", "`id`", "a b", "-X", "a\nb", "x|y", "%{client.id}"]


def test_each_property_of_the_installed_librdkafka_is_judged_once(tmp_path: Path) -> None:
    installed = librdkafka.names(tmp_path / "names.md")
    for known, letter in ((COMMON, "*"), (PRODUCER - COMMON, "P"), (CONSUMER - COMMON, "C")):
        assert known - installed[letter] - JAVA_NAMES - {TRUST_PASSWORD} == set()
        assert installed[letter] - known - UNSETTABLE - (PRODUCER | CONSUMER) == set(), "judge these in client_properties.py"
        assert installed[letter] & known - known == set()
    groups = [SECURITY, SECRETS, frozenset(CREDENTIAL_TARGETS), frozenset(HOST_ACCESS), client_properties._OPEN, UNSETTABLE]
    groups += [client_properties._OPEN_PRODUCER, client_properties._OPEN_CONSUMER]
    assert sum(map(len, groups)) == len(frozenset().union(*groups)), "a property is in two groups"
    assert len(installed["*"]) > 90


def test_what_a_name_suggests_is_how_it_is_judged() -> None:
    """The other way round: by words of the names, so that a new one is not put under the open ones by mistake."""
    beginnings = ("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl.", "https.", "plugin.")
    words = (".location", ".file", ".path", ".paths", ".cmd", ".url", ".pem", ".providers", ".engine")
    for name in PRODUCER | CONSUMER:
        assert is_security(name) or not name.startswith(beginnings), name
        assert is_security(name) or not any(word in name for word in words), name
        assert is_secret(name) == (name in SECRETS), name


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", KEPT)
def test_settings_never_hold_what_acts_on_the_host_or_on_a_credential(mapping: str, name: str) -> None:
    with pytest.raises(SettingsError, match="no setting may do that; it belongs into the Airflow connection") as caught:
        build(**{mapping: {name: "/tmp/evil.so"}})
    assert name in caught.value.what
    assert "evil" not in str(caught.value)
    with pytest.raises(SettingsError, match="no setting may do that"):
        SinkSettings.from_dict({"name": "c", "topics": "t", mapping: {name: "/tmp/evil.so"}})


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("beginning", ["kafka_config.", "producer.override.", "consumer.override.", "producer.", "consumer."])
def test_nor_does_a_properties_file(name: str, beginning: str) -> None:
    with pytest.raises(SettingsError, match="no setting may do that"):
        properties.from_properties(f"name=c\n{beginning}{name}=/tmp/evil.so\n".encode(), "c.properties").settings()


@pytest.mark.parametrize("name", KEPT)
def test_nor_does_an_option_of_a_data_source(name: str) -> None:
    with pytest.raises(SettingsError, match="no setting may do that"):
        ReadOptions.of({"bootstrap.servers": "h:1", "topic": "t", f"kafka.{name}": "/tmp/evil.so"})


@pytest.mark.parametrize("mapping", ["producer_override", "consumer_override"])
@pytest.mark.parametrize("name", sorted(SECURITY))
def test_an_override_holds_no_name_of_security(mapping: str, name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} (belongs to all clients of a connector alike|is not a setting of librdkafka)"):
        build(**{mapping: {name: "plaintext"}})


@pytest.mark.parametrize("name", ["sasl.kerberos.principal", "sasl.kerberos.keytab", "sasl.kerberos.service.name"])
@pytest.mark.parametrize("value", INJECTIONS)
def test_what_goes_into_a_shell_command_has_no_other_characters(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=r"becomes part of a shell command|control character"):
        build(kafka_config={name: value})
    with pytest.raises(SettingsError, match=r"becomes part of a shell command.*not allowed|control character"):
        check_trusted({name: value}, (), connection="kafka_default")
    if value.isprintable():  # an administrator allows shell characters, but nobody allows a control character
        check_trusted({name: value}, (f"{name}={value}",))


def test_a_kerberos_connection_needs_nobody_s_leave() -> None:
    config = {"sasl.kerberos.principal": "app/host-1.example.org@EXAMPLE.ORG", "sasl.kerberos.keytab": "/etc/security/app_1.keytab"}
    check_trusted(config, ())
    assert build(kafka_config=config).kafka_config == config


def test_a_connection_may_say_where_its_secret_goes() -> None:
    config = {"sasl.oauthbearer.token.endpoint.url": "https://id.example/token", "sasl.oauthbearer.client.id": "app"}
    check_trusted(config, ())
    assert split_kafka(config) == (
        {"sasl.oauthbearer.client.id": "app"},
        {"sasl.oauthbearer.token.endpoint.url": "https://id.example/token"},
    )


@pytest.mark.parametrize("name", sorted(HOST_ACCESS))
def test_in_a_connection_an_administrator_must_list_the_value(name: str) -> None:
    for allowed in ((), (name,), (f"{name}=",), (f"{name}=/tmp/evil.so2",), ("/tmp/evil.so",)):
        with pytest.raises(SettingsError, match=f"{name} .*this value is not allowed.*connection kafka_default") as caught:
            check_trusted({name: "/tmp/evil.so"}, allowed, connection="kafka_default")
        assert "evil" not in str(caught.value)
    check_trusted({name: "/tmp/evil.so"}, (f"{name}=/tmp/evil.so",), connection="kafka_default")


@pytest.mark.parametrize("name", [*sorted(UNSETTABLE), "no.such.name", "Plugin.Library.Paths", " plugin.library.paths"])
def test_a_name_that_librdkafka_does_not_take_as_text_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="no property of librdkafka has this name"):
        check_trusted({name: "x"}, (f"{name}=x",))
    with pytest.raises(SettingsError, match=r"not a setting of librdkafka|is a secret"):
        build(kafka_config={name: "x"})
