"""JAAS configurations of Java's clients as properties of librdkafka."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.migration.jaas import librdkafka_properties

KAFKA = "org.apache.kafka.common.security"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f'{KAFKA}.plain.PlainLoginModule required username="a" password="b";', {"sasl.username": "a", "sasl.password": "b"}),
        (f"{KAFKA}.scram.ScramLoginModule required\n  username='a'\n  password='b c;';", {"sasl.username": "a", "sasl.password": "b c;"}),
        (
            f'{KAFKA}.scram.ScramLoginModule REQUIRED username=a password="q\\"u\\\\o" tokenauth="true";',
            {"sasl.username": "a", "sasl.password": 'q"u\\o'},
        ),
        (
            f'{KAFKA}.oauthbearer.OAuthBearerLoginModule required clientId="i" clientSecret="s" scope="x" '
            'extension_lc="l" extension_p="q";',
            {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "i",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.scope": "x",
                "sasl.oauthbearer.extensions": "lc=l,p=q",
            },
        ),
        (f"{KAFKA}.oauthbearer.OAuthBearerLoginModule required;", {"sasl.oauthbearer.method": "oidc"}),
        ("software.amazon.msk.auth.iam.IAMLoginModule required;", {"sasl.mechanisms": "OAUTHBEARER", "oauth_cb": "aws_msk_iam"}),
    ],
)
def test_login_modules(text: str, wanted: dict[str, str]) -> None:
    assert librdkafka_properties(text, "sasl.jaas.config") == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('com.sun.security.auth.module.Krb5LoginModule required keyTab="/k" principal="hunter2";', "Kerberos needs .*Use SASL_SSL"),
        ('com.acme.Login required secret="hunter2";', "Login is a Java class.* Use PLAIN"),
        ("hunter2", "has another form.* Its form is"),
        (f'{KAFKA}.plain.PlainLoginModule required username="a" password="hunter2"', "has another form"),
        (f'{KAFKA}.plain.PlainLoginModule required username="a" hunter2;', "has another form"),
    ],
)
def test_what_cannot_run_is_refused_and_not_shown(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        librdkafka_properties(text, "producer.sasl.jaas.config", "w.properties, line 3")
    assert caught.value.where == {"setting": "producer.sasl.jaas.config", "set_in": "w.properties, line 3"}
    assert "hunter2" not in str(caught.value)
