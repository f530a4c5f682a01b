"""Settings that a connector's newest run recorded, for a command that is given its name."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.admin import recorded_settings as recorded
from ignite_kafka.admin.recorded_settings import settings_of_newest_run, with_connections
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.trust import ADDRESS, SETTINGS
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState

GIVEN = SourceSettings(
    name="nightly", internal_topic_prefix="copies", ignite_addresses=("here:10800",), bootstrap_servers="here:9092",
    kafka_config={"security.protocol": "SSL"}, ignite_tls_enabled=True,
)  # fmt: skip
ELSEWHERE: dict[str, Any] = {
    "ignite_addresses": ("evil:10800",), "bootstrap_servers": "evil:9092", "kafka_config": {"ssl.ca.location": "/evil"},
    "ignite_tls_verify": False, "allow_insecure_connections": True,
}  # fmt: skip
SOURCE = SourceSettings(name="nightly", cache_whitelist=("flights",), topic_prefix="n-", where="year > 2000", **ELSEWHERE)
SINK = SinkSettings(name="nightly", topics=("t",), cache_prefix="copy-", **ELSEWHERE)


@pytest.mark.parametrize("settings", [SOURCE, SINK])
def test_what_is_copied_is_the_record_s_and_where_from_is_given(settings: ConnectorSettings) -> None:
    found = with_connections(GIVEN, ConnectorRecord(settings=settings.to_dict()))
    assert type(found) is type(settings)
    connections = {name for name in settings.definitions() if SETTINGS[name] == ADDRESS}
    assert ELSEWHERE.keys() <= connections
    for name in settings.definitions():
        origin = GIVEN if name in connections or name in ("name", "internal_topic_prefix") else settings
        assert getattr(found, name) == getattr(origin, name), name


def test_settings_of_a_newer_version_are_left_out() -> None:
    assert with_connections(GIVEN, ConnectorRecord(settings={**SOURCE.to_dict(), "of_a_newer_version": 1})).name == "nightly"


def test_the_error_of_a_recorded_value_says_where_it_is() -> None:
    with pytest.raises(SettingsError, match=r"slots is wrong: .*set in the connector's record"):
        with_connections(GIVEN, ConnectorRecord(settings={**SOURCE.to_dict(), "slots": 0}))


def test_a_name_that_was_never_started_is_an_error_with_the_nearest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"nightly": ConnectorState(ConnectorRecord(settings=SOURCE.to_dict()))}
    monkeypatch.setattr(recorded, "read_connector", lambda _clients, _topics, _prefix, name: states.get(name, ConnectorState()))
    monkeypatch.setattr(recorded, "list_connectors", lambda *_: list(states))
    plain: dict[str, Any] = {
        "internal_topic_prefix": "copies",
        "ignite_addresses": ("127.0.0.1:10800",),
        "bootstrap_servers": "127.0.0.1:9092",
    }
    found = settings_of_newest_run(SourceSettings(name="nightly", **plain), Secrets())
    assert found.to_dict()["cache_whitelist"] == ["flights"]
    with pytest.raises(SettingsError, match=r"no connector of that name was ever started .*Did you mean nightly\?"):
        settings_of_newest_run(SourceSettings(name="nightli", **plain), Secrets())
