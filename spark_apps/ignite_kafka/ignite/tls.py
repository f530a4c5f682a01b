"""TLS contexts of connections to Ignite, and hints for connections that fail over TLS settings."""

from __future__ import annotations

import ssl

from ..errors import SettingsError
from .endpoint import TlsSettings

_HOSTNAME_MISMATCH, _IP_MISMATCH = 62, 64  # X509_V_ERR_* of OpenSSL


def tls_context(tls: TlsSettings, key_password: str | None) -> ssl.SSLContext:
    """Python's default client context (system CAs when no CA file is given), loosened only where the settings say so.

    :raises SettingsError: a file cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
    except OSError as error:
        what = f"the file of TLS authorities cannot be used: {error}"
        raise SettingsError(what, "ca_file must be a PEM file", ca_file=tls.ca_file) from error
    context.check_hostname = tls.verify and tls.check_hostname
    context.verify_mode = ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE
    if tls.cert_file:
        # An empty password instead of none: OpenSSL would ask for it at a terminal.
        try:
            context.load_cert_chain(tls.cert_file, tls.key_file, key_password or "")
        except OSError as error:
            what = f"the client certificate or its key cannot be used: {error}"
            remedy = "Both must be PEM, and the key's password must be right"
            raise SettingsError(what, remedy, cert_file=tls.cert_file, key_file=tls.key_file) from error
    return context


def connect_hint(error: Exception, tls: TlsSettings) -> str:
    """Likely cause of a failed connection attempt, in parentheses; empty if TLS settings do not explain it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in (_HOSTNAME_MISMATCH, _IP_MISMATCH):
            return " (use the name in the certificate as address, or set check_hostname to false)"
        return " (ca_file must hold the authority that signed the node's certificate)"
    dropped = isinstance(error, (ConnectionError, ValueError, ssl.SSLError)) and not isinstance(error, ConnectionRefusedError)
    if dropped and tls.enabled:
        return " (does this node speak TLS on that port, and does it want a client certificate?)"
    return " (is it an Ignite client connector, and does it want TLS?)" if dropped else ""
