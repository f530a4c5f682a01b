"""All that is wrong with settings is told at once, each thing once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.errors import NotAvailableYet, SettingsError
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

PROPERTIES = """\
name=c
slots=0
cacheWhitelits=flights
cacheFilter=a
cacheBlacklist=*x,[
sasl.password=hunter2
transaction_max_ms=700000
topic.creation.groups=a,a
ignite_tls_key_file=k.pem
producer.override.aks=all
producer.override.transactional.id=mine
run_mode=continous
"""
FOUND = {
    "slots": "out of range",
    "cacheWhitelits": "Did you mean cacheWhitelist?",
    "cache_filter": "not available yet",
    "cache_blacklist": "write .*x",
    "transaction_max_ms": "below transaction_timeout_ms",
    "topic.creation.groups": "names a group twice",
    "ignite_tls_key_file": "no effect without TLS",
    "producer_override": "Did you mean acks?",
    "producer.override.transactional.id": "which fence its former runs",
    "run_mode": "none of these",
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "c.properties"
    path.write_text(PROPERTIES)
    return str(path)


@pytest.mark.parametrize("command", ["validate", "run", "plan"])
def test_a_file_s_findings_are_all_told_and_each_once(command: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, file]) == 2
    shown = capsys.readouterr()
    for setting, text in FOUND.items():
        assert [line for line in shown.err.splitlines() if f"setting {setting}," in line and text in line], (setting, shown.err)
    assert shown.err.count("is no regular expression") + shown.err.count("holds no regular expression") == 2, "'*x' and '['"
    lines = shown.err.splitlines()
    assert len(lines) == len(set(lines)) == len(FOUND) + 3  # the second expression, the secret, and how many there are
    assert all(line.startswith("ignite-kafka: ") for line in lines)
    assert lines[-1] == f"ignite-kafka: SettingsError {len(lines) - 1} settings are wrong, see above"
    assert "hunter2" not in shown.out + shown.err


def test_one_finding_is_the_error_itself() -> None:
    with pytest.raises(NotAvailableYet):
        SourceSettings.from_dict({"name": "c", "cache_filter": "a"})
    with pytest.raises(SettingsError) as caught:
        SourceSettings.from_dict({"name": "c", "slots": 0})
    assert not caught.value.findings


def test_what_follows_from_another_finding_is_not_told() -> None:
    with pytest.raises(SettingsError) as caught:
        SourceSettings.from_dict({"name": "c", "error_handling_policy": "DEAD", "dead_letter_topic": "letters", "slots": "x"})
    assert {error.where["setting"] for error in caught.value.findings} == {"error_handling_policy", "slots"}


def test_findings_of_settings_that_are_built_are_told_at_once_too() -> None:
    with pytest.raises(SettingsError) as caught:
        SinkSettings(name="c", topics=("a b", "c/d"), key_policy="header", ignite_addresses=())
    assert [error.where["setting"] for error in caught.value.findings] == ["ignite_addresses", "topics", "topics", "key_fields"]
    assert str(caught.value).startswith("4 settings are wrong: (1) ignite_addresses is wrong: it is empty")
