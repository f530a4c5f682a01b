"""Options that would show a secret are refused."""

from __future__ import annotations

import pytest

from ignite_kafka.datasources.option_tables import refuse_secrets
from ignite_kafka.errors import SettingsError


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "kafka.sasl.password",
        "kafka.ssl.key.pem",
        "kafka.SSL.Key.PEM",
        "kafka.sasl.oauthbearer.assertion.private.key.pem",
        "kafka.sasl.oauthbearer.client.secret",
        "tls_key_passphrase",
    ],
)
def test_a_secret_is_refused_by_its_name_alone(name: str) -> None:
    with pytest.raises(SettingsError, match="secrets_file") as raised:
        refuse_secrets({name: "hunter2"})
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "name",
    [
        "secrets_file",
        "tls_key_file",
        "key",
        "key_type",
        "kafka.sasl.oauthbearer.token.endpoint.url",
        "kafka.ssl.ca.pem",
        "kafka.ssl.certificate.pem",
        "kafka.ssl.key.location",
    ],
)
def test_options_that_are_no_secret_are_accepted(name: str) -> None:
    refuse_secrets({name: "x"})
