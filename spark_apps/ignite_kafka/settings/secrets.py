"""Secrets of a connector, kept apart from settings and plans in a file that only its owner may read.

The file is JSON: ``{"ignite": {"username", "password", "key_password", …}, "kafka": {"sasl.password": …}, "registry":
{"basic.auth.user.info": …}}``; each part is optional. ``backlog_secret`` protects the capture of a data source;
connectors keep theirs in Kafka (:mod:`~ignite_kafka.state.configs`).
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ..errors import SettingsError
from ..ignite.endpoint import IgniteCredentials
from . import registry_properties
from .client_properties import check_trusted, kept_from_settings
from .permissions import NONE, Permissions

_SECRET = re.compile(
    r"(?i)passw|secret|credential|token|jaas|private|passphrase|"
    r"\.pem$|_pem$|basic\.auth\.user\.info|user_info|keystore\.key$"
)
_NOT_SECRET = frozenset(
    {
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.assertion.private.key.file",
        "ssl.certificate.pem",
        "ssl.ca.pem",
        "https.ca.pem",
        registry_properties.USER_INFO_SOURCE,
        registry_properties.TOKEN_SOURCE,
    }
)
_SIDES = ("key.converter.", "value.converter.")
_FORM = (
    'Its form is {"ignite": {"username": …, "password": …, "key_password": …}, "kafka": {"sasl.password": …}, '
    '"registry": {"basic.auth.user.info": …}}'
)


@dataclass(frozen=True, repr=False)
class Secrets:
    """Credentials for Ignite, Kafka and the schema registry, which no plan, log or command line may hold.

    :param kafka: properties by librdkafka's names, such as ``sasl.password``.
    :param registry: properties of the schema registry by Confluent's names, not only secrets; for one side with the
        prefix ``key.converter.`` or ``value.converter.``.
    :param insecure: whether credentials may be sent over connections that are not protected, see
        :class:`.permissions.Permissions`.
    """

    ignite: IgniteCredentials = field(default_factory=IgniteCredentials)
    kafka: Mapping[str, str] = field(default_factory=dict)
    registry: Mapping[str, str] = field(default_factory=dict)
    insecure: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        kafka = dict.fromkeys(self.kafka, "***")
        registry = dict.fromkeys(self.registry, "***")
        return f"Secrets(ignite={self.ignite!r}, kafka={kafka!r}, registry={registry!r})"

    def registry_of(self, side: str) -> dict[str, str]:
        """Return the registry properties for keys or values, by canonical names.

        A property with a side's prefix takes precedence.
        """
        prefix = f"{side}.converter."
        canonical = registry_properties.canonical
        common = {canonical(name): value for name, value in self.registry.items() if not name.startswith(_SIDES)}
        own = {
            canonical(name.removeprefix(prefix)): value
            for name, value in self.registry.items()
            if name.startswith(prefix)
        }
        return common | own


def is_secret(name: str) -> bool:
    """Return whether a property's name shows that its value is a secret."""
    return name not in _NOT_SECRET and _SECRET.search(name) is not None


def split_kafka(config: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split a Kafka connection's properties into properties for settings and properties for the secrets file."""
    hidden = {name: value for name, value in config.items() if is_secret(name) or kept_from_settings(name, value)}
    return {name: value for name, value in config.items() if name not in hidden}, hidden


def load(path: str | Path, permissions: Permissions = NONE) -> Secrets:
    """Read a secrets file.

    :raises SettingsError: the file cannot be read, others can read it, or it has another form. The message never shows
        its content.
    """
    path = Path(path)
    content = read_protected(path)
    return from_json(content, path, permissions)


def read_protected(path: Path) -> bytes:
    """Read a file of secrets that others cannot read.

    :raises SettingsError: the file cannot be read, or others can read it.
    """
    try:
        with path.open("rb") as file:
            _check_access(path, os.fstat(file.fileno()))
            return file.read()
    except OSError as error:
        raise SettingsError(
            f"the secrets file cannot be read: {error.strerror}", "Check its path and owner", file=path
        ) from error


def from_json(content: bytes | str, origin: str | Path = "secrets", permissions: Permissions = NONE) -> Secrets:
    """Parse the JSON text of secrets; raise the same errors as :func:`load`."""
    try:
        data = json.loads(content)
    except ValueError:
        raise SettingsError("the secrets are not JSON", _FORM, file=origin) from None
    if not isinstance(data, dict) or not all(isinstance(part, dict) for part in data.values()):
        raise SettingsError("the secrets are no JSON object of objects", _FORM, file=origin)
    names = {
        "ignite": {item.name for item in fields(IgniteCredentials)},
        "kafka": data.get("kafka", {}),
        "registry": set(filter(registry_properties.is_property, data.get("registry", {}))),
    }
    for part, content_of in data.items():
        for name, value in content_of.items():
            if name not in names.get(part, {}):
                raise SettingsError("the secrets have an unknown name", _FORM, name=f"{part}.{name}", file=origin)
            if not isinstance(value, str) and not (value is None and part == "ignite"):
                raise SettingsError("a secret is not text", _FORM, name=f"{part}.{name}", file=origin)
        if part not in names:
            raise SettingsError("the secrets have an unknown part", _FORM, name=part, file=origin)
    check_trusted(data.get("kafka", {}), permissions.kafka_options, file=origin)
    ignite = IgniteCredentials(**data.get("ignite", {}))
    return Secrets(ignite, data.get("kafka", {}), data.get("registry", {}), permissions.insecure_connections)


def to_dict(secrets: Secrets) -> dict[str, Any]:
    """Return secrets as a dict of JSON values, as the secrets file has them."""
    return {"ignite": asdict(secrets.ignite), "kafka": dict(secrets.kafka), "registry": dict(secrets.registry)}


def dump(secrets: Secrets, path: str | Path) -> None:
    """Write the secrets to a new file that only its owner may access.

    :raises FileExistsError: the path exists; it is never overwritten, and a link is not followed.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(to_dict(secrets), file)


def restrict(path: str | Path) -> None:
    """Make a file readable by its owner only; Spark's copies, for example, have the mode of its umask."""
    os.chmod(path, 0o600)


def _check_access(path: Path, status: os.stat_result) -> None:
    """Refuse a secrets file if other users can read it, or if another user owns it.

    A mounted file may have another owner and be readable by its group. No file may be readable by all users.
    """
    mode = stat.S_IMODE(status.st_mode)
    mounted = _is_mounted(path)
    if mode & (0o007 if mounted else 0o077):
        raise SettingsError(
            f"others can read the secrets file (mode {mode:04o})",
            "Give its mount a mode without rights for others: defaultMode 0400 of a Kubernetes secret, with fsGroup "
            "where the process is not root, or mode 0400 of a Docker secret"
            if mounted
            else f"Restrict its mode: chmod 600 {path}",
            file=path,
        )
    if not mounted and status.st_uid not in _trusted_owners():
        raise SettingsError(
            f"the secrets file belongs to another user (uid {status.st_uid})",
            "Use a file of the user that runs this process, or of root",
            file=path,
        )


def _trusted_owners() -> set[int]:
    """Return the user ids that may own a secrets file: this process's user and root."""
    return {0, os.geteuid()}


def _is_mounted(path: Path) -> bool:
    """Return whether an orchestrator such as Kubernetes mounted the file, so that its owner need not be this user."""
    real = os.path.realpath(path)
    return bool(os.statvfs(real).f_flag & os.ST_RDONLY) or real in _mount_points()


def _mount_points(table: Path = Path("/proc/self/mountinfo")) -> frozenset[str]:
    """Return the mount points of this process; empty on systems without /proc/self/mountinfo.

    The table is that of proc_pid_mountinfo(5), with octal escapes for blanks.
    """
    if not table.exists():
        return frozenset()
    points = (line.split(" ")[4] for line in table.read_text().splitlines())
    return frozenset(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), point) for point in points)
