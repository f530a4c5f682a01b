"""Conversion of ``sasl.jaas.config`` of Java clients to librdkafka properties.

Sources: ``JaasConfig`` and the login modules of Kafka 4.3; the login module of aws-msk-iam-auth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import SettingsError
from ..settings.client_properties import AWS_MSK_IAM, OAUTH_CALLBACK

NAME = "sasl.jaas.config"
_OPTION = re.compile(r"""([\w.$-]+)\s*=\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s;"']+)""", re.DOTALL)
_ENTRY = re.compile(r"\s*([\w.$]+)\s+(required|requisite|sufficient|optional)\b(.*?);\s*", re.DOTALL | re.IGNORECASE)
_FORM = 'Its form is: <login module> required username="…" password="…";'
_USER = {"username": "sasl.username", "password": "sasl.password"}
_OAUTH = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_EXTENSION = "extension_"


def librdkafka_properties(text: str, setting: str, set_in: str | None = None) -> dict[str, str]:
    """Convert a JAAS configuration to librdkafka properties, secrets included.

    :param setting: key that holds the text, for the error.
    :raises SettingsError: the login module cannot run here, or the text has another form; the error shows nothing of
        the text but the module.
    """
    entry = _ENTRY.fullmatch(text)
    if entry is None or _OPTION.sub("", entry[3]).strip():
        raise SettingsError(f"{NAME} has another form", _FORM, setting=setting, set_in=set_in)
    options = {name: _unquote(value) for name, value in _OPTION.findall(entry[3])}
    module = entry[1].rpartition(".")[2]
    if module in ("PlainLoginModule", "ScramLoginModule"):
        return _rename(options, _USER)
    if module == "OAuthBearerLoginModule":
        extensions = [
            f"{name.removeprefix(_EXTENSION)}={value}" for name, value in options.items() if name.startswith(_EXTENSION)
        ]
        more = {"sasl.oauthbearer.extensions": ",".join(extensions)} if extensions else {}
        return {"sasl.oauthbearer.method": "oidc", **_rename(options, _OAUTH), **more}
    if module == "IAMLoginModule":
        return {"sasl.mechanisms": "OAUTHBEARER", OAUTH_CALLBACK: AWS_MSK_IAM}
    if module == "Krb5LoginModule":
        remedy = (
            "Use SASL_SSL with SCRAM or OAUTHBEARER; or install confluent-kafka with a librdkafka that has GSSAPI, and "
            "set kafka_config.sasl.kerberos.keytab, .principal and .service.name"
        )
        raise SettingsError(
            "Kerberos needs a librdkafka with GSSAPI, which the wheels do not have",
            remedy,
            setting=setting,
            set_in=set_in,
        )
    remedy = "Use PLAIN, SCRAM or OAUTHBEARER, or an option of librdkafka in the part kafka of the secrets file"
    raise SettingsError(
        f"the login module {module} is a Java class, which Python cannot load", remedy, setting=setting, set_in=set_in
    )


def _rename(options: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {names[name]: value for name, value in options.items() if name in names}


def _unquote(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL) if value[0] in "\"'" else value
