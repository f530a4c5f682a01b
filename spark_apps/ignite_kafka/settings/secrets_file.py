"""Sources of the secrets for a process of a run: a file at the same path everywhere, or the task itself."""

from __future__ import annotations

from dataclasses import dataclass

from . import secrets
from .secrets import Secrets


@dataclass(frozen=True)
class SecretsFile:
    """A file on the driver and on every executor. This object holds no secret.

    :param allowed: allowed Kafka properties in it that act on the host, each ``name=value``.
    """

    path: str
    allowed: tuple[str, ...] = ()

    def load(self) -> Secrets:
        """Read the file.

        :raises SettingsError: the file is missing, has another form, or others can read it.
        """
        return secrets.load(self.path, self.allowed)


@dataclass(frozen=True)
class ShippedSecrets:
    """The secrets themselves, which Spark sends to executors inside tasks; they appear in no file, URL, UI or event log."""

    secrets: Secrets

    def load(self) -> Secrets:
        """Return the secrets."""
        return self.secrets


SecretsSource = SecretsFile | ShippedSecrets
