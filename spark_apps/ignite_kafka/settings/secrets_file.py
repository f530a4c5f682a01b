"""Where a process of the run finds the secrets: in a file under the same path everywhere, or with its task."""

from __future__ import annotations

from dataclasses import dataclass

from . import secrets
from .secrets import Secrets


@dataclass(frozen=True)
class SecretsFile:
    """A file that is on the driver and on every executor. The reference holds no secret.

    :param allowed: properties of Kafka clients in it that may act on the host, each ``name=value``.
    """

    path: str
    allowed: tuple[str, ...] = ()

    def load(self) -> Secrets:
        """Read the secrets.

        :raises SettingsError: the file is missing, has another form, or others can read it.
        """
        return secrets.load(self.path, self.allowed)


@dataclass(frozen=True)
class ShippedSecrets:
    """The secrets themselves, which Spark hands to executors with their tasks: no file, no URL, no line of its UI or event log."""

    secrets: Secrets

    def load(self) -> Secrets:
        """Return the secrets."""
        return self.secrets


SecretsSource = SecretsFile | ShippedSecrets
