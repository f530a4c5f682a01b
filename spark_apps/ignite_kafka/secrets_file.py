"""Where a process of the run finds the secrets: a path of its own, or a file that Spark ships under a name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from . import secrets
from .secrets import Secrets


@dataclass(frozen=True)
class SecretsFile:
    """A reference that may travel anywhere: it holds a path and a name, no secret.

    :param path: the driver's file; with no ``shipped_as`` it is mounted under the same path on every executor.
    :param shipped_as: the name under which Spark's file server hands it to executors.
    :param allowed: properties of Kafka clients in it that may act on the host, each ``name=value``.
    """

    path: str
    shipped_as: str | None = None
    allowed: tuple[str, ...] = ()

    def load(self, find: Callable[[str], str] | None = None) -> Secrets:
        """Read it.

        :param find: on an executor, ``SparkFiles.get``.
        :raises SettingsError: the file is missing, has another form, or others can read it.
        """
        if find is None or self.shipped_as is None:
            return secrets.load(self.path, self.allowed)
        shipped = find(self.shipped_as)
        if os.stat(shipped).st_uid == os.geteuid():
            secrets.restrict(shipped)  # Spark copies with the mode of its umask
        return secrets.load(shipped, self.allowed)
