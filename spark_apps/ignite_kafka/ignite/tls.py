"""TLS contexts for connections to Ignite, and hints about wrong TLS settings."""

from __future__ import annotations

import ssl
from dataclasses import replace

from ..common import key_stores
from ..common.private_files import private_file
from ..errors import SettingsError
from .endpoint import IgniteCredentials, TlsSettings

_HOSTNAME_MISMATCH = 62  # X509_V_ERR_* of OpenSSL
_IP_MISMATCH = 64


def tls_context(tls: TlsSettings, credentials: IgniteCredentials) -> ssl.SSLContext:
    """Make the TLS context for connections to Ignite, from Python's defaults and the settings.

    Without CAs in the settings, those of the system are trusted.

    :raises SettingsError: a file cannot be used.
    """
    tls, credentials = stores_as_text(tls, credentials)
    _check_once(tls, credentials)
    try:
        context = ssl.create_default_context(cafile=tls.ca_file, cadata=credentials.ca_pem)
    except (OSError, ValueError) as error:
        what = f"the file of TLS authorities cannot be used: {error}"
        remedy = (
            "ca_file must be a PEM file, or a JKS or PKCS#12 store"
            if tls.ca_file
            else "ca_pem must be certificates in PEM"
        )
        raise SettingsError(what, remedy, ca_file=tls.ca_file) from error
    context.check_hostname = tls.verify and tls.check_hostname
    context.verify_mode = ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE
    # An empty password instead of none: OpenSSL would ask for it at a terminal.
    password = credentials.key_password or ""
    try:
        if credentials.cert_pem:
            with private_file(credentials.cert_pem) as path:
                context.load_cert_chain(path, password=password)
        elif tls.cert_file:
            context.load_cert_chain(tls.cert_file, tls.key_file, password)
    except OSError as error:
        what = f"the client certificate or its key cannot be used: {error}"
        remedy = "Both must be PEM, or cert_file a JKS or PKCS#12 store, and the key's password must be right"
        raise SettingsError(what, remedy, cert_file=tls.cert_file, key_file=tls.key_file) from error
    return context


def stores_as_text(tls: TlsSettings, credentials: IgniteCredentials) -> tuple[TlsSettings, IgniteCredentials]:
    """Read Java's key stores and put their content as PEM text into the credentials; PEM files stay files.

    :raises SettingsError: a store cannot be used, see :mod:`..common.key_stores`; or ``key_file`` is another file than
        the key store.
    """
    if tls.ca_file and key_stores.is_store(tls.ca_file):
        text = key_stores.trusted(tls.ca_file, credentials.ca_password or "", "ca_file")
        tls = replace(tls, ca_file=None)
        credentials = replace(credentials, ca_pem=text, ca_password=None)
    if tls.cert_file and key_stores.is_store(tls.cert_file):
        if tls.key_file not in (None, tls.cert_file):
            what = "cert_file is a key store, which has the private key, and key_file is another file"
            raise SettingsError(what, "Leave key_file empty", cert_file=tls.cert_file, key_file=tls.key_file)
        password = credentials.cert_password
        key_password = credentials.key_password
        pair = key_stores.key_pair(tls.cert_file, password or key_password or "", key_password or "", "cert_file")
        tls = replace(tls, cert_file=None, key_file=None)
        credentials = replace(credentials, cert_pem=pair.certificates + pair.key, cert_password=None, key_password=None)
    return tls, credentials


def _check_once(tls: TlsSettings, credentials: IgniteCredentials) -> None:
    for file, text, name in ((tls.ca_file, credentials.ca_pem, "ca"), (tls.cert_file, credentials.cert_pem, "cert")):
        if file and text:
            what = f"{name}_file and {name}_pem are both given, and only one of them can be used"
            raise SettingsError(
                what,
                f"Leave out {name}_file in the connection or {name}_pem among the secrets",
                **{f"{name}_file": file},
            )


def connect_hint(error: Exception, tls: TlsSettings) -> str:
    """Guess the wrong TLS setting behind a failed connection, as text in parentheses; empty for other failures."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in (_HOSTNAME_MISMATCH, _IP_MISMATCH):
            return " (use the name in the certificate as address, or set check_hostname to false)"
        return " (ca_file must hold the authority that signed the node's certificate)"
    dropped = isinstance(error, (ConnectionError, ValueError, ssl.SSLError)) and not isinstance(
        error, ConnectionRefusedError
    )
    if dropped and tls.enabled:
        return " (does this node speak TLS on that port, and does it want a client certificate?)"
    return " (is it an Ignite client connector, and does it want TLS?)" if dropped else ""
