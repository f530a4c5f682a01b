"""connector_status without a broker: which secrets its clients have."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_ignite_kafka.connector_status import connector_status
from ignite_kafka.errors import SettingsError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.secrets import Secrets, dump

LOGIN = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": "sesame"}


@pytest.fixture
def used(connect: Any, monkeypatch: pytest.MonkeyPatch) -> list[KafkaClients]:
    """Clients that status records were read with."""
    clients: list[KafkaClients] = []

    def newest_run(given: KafkaClients, *_: Any) -> Any:
        clients.append(given)
        return SimpleNamespace(run=None)

    monkeypatch.setattr("ignite_kafka.admin.target_state.newest_run", newest_run)
    connect("kafka_default", conn_type="kafka", extra={"bootstrap.servers": "broker:9092", **LOGIN})
    return clients


def test_secrets_are_those_of_the_connection(used: list[KafkaClients]) -> None:
    assert connector_status("c") is None
    assert used[0].common == {"bootstrap.servers": "broker:9092", **LOGIN}


def test_a_secrets_file_replaces_them(used: list[KafkaClients], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    path = tmp_path / "secrets.json"
    dump(Secrets(kafka={"sasl.password": "mellon"}), path)
    connector_status("c", secrets_file=str(path))
    assert used[0].common["sasl.password"] == "mellon"
    [event] = [record for record in caplog.records if vars(record).get("event_id") == 15001]
    assert "sasl.password of the Kafka connection: not used" in event.getMessage()
    path.chmod(0o644)
    with pytest.raises(SettingsError, match="others can read the secrets file"):
        connector_status("c", secrets_file=str(path))
