"""Tokens for SASL/OAUTHBEARER, made by a Python function on the host of the Kafka client.

The property ``oauth_cb`` of a connection or a secrets file names the token function:

- ``aws_msk_iam``, or ``aws_msk_iam:eu-west-1``: Amazon MSK with IAM, by the package ``aws-msk-iam-sasl-signer-python``;
- ``gcp``: Google Cloud Managed Service for Apache Kafka, by the package ``google-auth`` and its default credentials;
- ``module.function``: a user's function in confluent-kafka's form: it gets the text of
  ``sasl.oauthbearer.config`` and returns the token and its expiry in seconds since 1970. It needs an administrator's
  permission (:mod:`~ignite_kafka.settings.client_properties`).

Form of Google's tokens: github.com/googleapis/managedkafka, kafka-auth-local-server.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import ModuleType
from typing import Any

from ..common.python_compat import UTC
from ..errors import SettingsError
from ..settings.client_properties import AWS_MSK_IAM, GCP, OAUTH_CALLBACK

Token = tuple[str, float]
TokenFunction = Callable[[str], Token]

_MSK_REGION = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com", re.IGNORECASE)
_GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_EXTRA = "Install it on the worker, the driver and each executor: pip install 'airflow-provider-ignite-kafka[{extra}]'"


class TokenMaker:
    """Token function that remembers its last exception, because librdkafka does not report it.

    The error is None if the last call succeeded.
    """

    def __init__(self, name: str, function: TokenFunction) -> None:
        self.name = name
        self.error: Exception | None = None
        self._function = function

    def __call__(self, config: str) -> Token:
        """Return a token and its expiry in seconds since 1970; remember and raise the function's exceptions."""
        self.error = None
        try:
            return self._function(config)
        except Exception as error:
            self.error = error
            raise


def with_token_function(config: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the name in ``oauth_cb`` of a client's settings by the token function it names.

    :raises SettingsError: the function does not exist, its package is not installed, or the region of an MSK cluster
        is unknown.
    """
    result = dict(config)
    name = result.get(OAUTH_CALLBACK)
    if isinstance(name, str):
        result[OAUTH_CALLBACK] = TokenMaker(name, token_function(name, str(config.get("bootstrap.servers", ""))))
    return result


def token_function(name: str, servers: str) -> TokenFunction:
    """Return the token function of this name; raise the errors of :func:`with_token_function`."""
    provider, _, region = name.partition(":")
    if provider == AWS_MSK_IAM:
        return _msk_function(region or _region_of(servers))
    if name == GCP:
        return _google_function()
    module, _, function = name.rpartition(".")
    try:
        candidate = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        what = f"{OAUTH_CALLBACK} names {name}, which cannot be imported here: {error}"
        raise SettingsError(
            what, "Install its module on the worker, the driver and each executor", setting=OAUTH_CALLBACK
        ) from error
    if not callable(candidate):
        raise SettingsError(f"{OAUTH_CALLBACK} names {name}, which is no function", "Name one", setting=OAUTH_CALLBACK)
    checked: TokenFunction = candidate
    return checked


def _region_of(servers: str) -> str:
    match = _MSK_REGION.search(servers)
    region = match[1].lower() if match else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        what = "the AWS region of the Kafka cluster is not known: neither bootstrap.servers nor AWS_REGION names it"
        raise SettingsError(what, f"Write it as {AWS_MSK_IAM}:eu-west-1", setting=OAUTH_CALLBACK)
    return region


def _msk_function(region: str) -> TokenFunction:
    signer = _import_module("aws_msk_iam_sasl_signer.MSKAuthTokenProvider", "msk")

    def token(_: str) -> Token:
        signed, expiry_ms = signer.generate_auth_token(region)
        return str(signed), expiry_ms / 1000

    return token


def _google_function() -> TokenFunction:
    auth = _import_module("google.auth", "gcp")
    transport = _import_module("google.auth.transport.requests", "gcp")
    try:
        credentials, _ = auth.default(scopes=[_GOOGLE_SCOPE])
    except auth.exceptions.DefaultCredentialsError as error:
        what = f"{OAUTH_CALLBACK} {GCP} finds no credentials on this host"
        raise SettingsError(
            what, "Give it a service account, or set GOOGLE_APPLICATION_CREDENTIALS", setting=OAUTH_CALLBACK
        ) from error

    def token(_: str) -> Token:
        if not credentials.valid:
            credentials.refresh(transport.Request())
        expiry = credentials.expiry.replace(tzinfo=UTC).timestamp()
        user = getattr(credentials, "service_account_email", "")
        claims = {"exp": expiry, "iss": "Google", "iat": datetime.now(UTC).timestamp(), "scope": "kafka", "sub": user}
        parts = (json.dumps({"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}), json.dumps(claims), credentials.token)
        return ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts), expiry

    return token


def _import_module(module: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        what = f"{OAUTH_CALLBACK} needs the Python module {module}, which is not installed"
        raise SettingsError(what, _EXTRA.format(extra=extra), setting=OAUTH_CALLBACK) from error
