"""Ways in which secrets reach the processes of a run: a file on each host, or the Spark task itself."""

from __future__ import annotations

from dataclasses import dataclass

from . import secrets
from .permissions import NONE, Permissions
from .secrets import Secrets


@dataclass(frozen=True)
class SecretsFile:
    """Path of a secrets file that the driver and every executor have.

    :param permissions: permissions that the secrets get.
    """

    path: str
    permissions: Permissions = NONE

    def load(self) -> Secrets:
        """Read the secrets from the file.

        :raises SettingsError: the file is missing, has another form, or others can read it.
        """
        return secrets.load(self.path, self.permissions)


@dataclass(frozen=True)
class ShippedSecrets:
    """Secrets that Spark ships to executors inside the tasks; no file, URL, UI or event log has them."""

    secrets: Secrets

    def load(self) -> Secrets:
        """Return the shipped secrets; nothing is read."""
        return self.secrets


SecretsSource = SecretsFile | ShippedSecrets
