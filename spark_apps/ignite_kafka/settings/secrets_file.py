"""Sources of the secrets for a process of a run: a file at the same path on each host, or the Spark task itself."""

from __future__ import annotations

from dataclasses import dataclass

from . import secrets
from .permissions import NONE, Permissions
from .secrets import Secrets


@dataclass(frozen=True)
class SecretsFile:
    """A secrets file on the driver and on every executor; this object holds only its path.

    :param permissions: permissions that the secrets get.
    """

    path: str
    permissions: Permissions = NONE

    def load(self) -> Secrets:
        """Read the file.

        :raises SettingsError: the file is missing, has another form, or others can read it.
        """
        return secrets.load(self.path, self.permissions)


@dataclass(frozen=True)
class ShippedSecrets:
    """Secrets that Spark sends to executors inside tasks; they appear in no file, URL, UI or event log."""

    secrets: Secrets

    def load(self) -> Secrets:
        """Return the secrets, without reading anything."""
        return self.secrets


SecretsSource = SecretsFile | ShippedSecrets
