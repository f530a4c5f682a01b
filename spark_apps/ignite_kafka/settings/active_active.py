"""Settings of active-active connectors, and the values of other settings that they need.

Both sides then move each change as it was written, with its version. So nothing may change, choose or reorder entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..errors import SettingsError
from .base import setting
from .converters import IGNITE_BINARY
from .fields import BOOLEAN
from .findings import Findings

SOURCE = setting(
    False, BOOLEAN,
    "Send the version of each change, so that clusters that all write converge (docs/active-active.md). Needs nodes "
    "that are configured for it, failover_policy BACKLOG, process_removals and converter ignite-binary",
    fixed_in_snapshot=True,
)  # fmt: skip
FORWARD_FOREIGN_CHANGES = setting(
    False, BOOLEAN,
    "Send changes that came from other clusters, too: for a ring, in which each cluster replicates to the next one "
    "only. Needs active_active",
    fixed_in_snapshot=True,
)  # fmt: skip
SINK = setting(
    False, BOOLEAN,
    "Write entries with the version that their records have, and let the nodes decide which of two clusters' writes "
    "stays (docs/active-active.md). Needs nodes that are configured for it, process_updates, and records of a source "
    "with active_active",
)  # fmt: skip

_UNVERSIONED = (
    "Accept caches that the nodes' configuration names as active-active, although active_active is false: {}. Without "
    "this setting a run refuses them (docs/active-active.md)"
)
SOURCE_UNVERSIONED = setting(
    False, BOOLEAN,
    _UNVERSIONED.format(
        "records for other readers than these clusters have no versions, and what other clusters wrote is among them"
    ),
)  # fmt: skip
SINK_UNVERSIONED = setting(
    False, BOOLEAN, _UNVERSIONED.format("each record is a new write of this cluster, as that of any program"),
)  # fmt: skip

_WHOLE = "each cluster must get every change as it was written"
_POLICY = "cleanup.policy"
_UNCHANGED = {"where": "", "filter": ""}
"""Of the others, converter ignite-binary itself refuses select, transforms and record_key."""


class Checked(Protocol):
    """Settings of a connector that may be active-active."""

    @property
    def active_active(self) -> bool:
        """Whether versions of entries are sent or stored."""

    @property
    def allow_unversioned(self) -> bool:
        """Whether caches that other clusters write are accepted without versions."""

    def wrong(self, name: str, reason: str, remedy: str) -> SettingsError:
        """Return the error of a wrong setting."""


class CheckedSource(Checked, Protocol):
    """Settings of a source that may be active-active."""

    @property
    def topic_config(self) -> Mapping[str, str]:
        """Configuration of topics that the source creates."""

    @property
    def topic_creation_groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Configuration of such topics by groups."""

    @property
    def forward_foreign_changes(self) -> bool:
        """Whether changes that came from other clusters are sent."""


class CheckedSink(Checked, Protocol):
    """Settings of a sink that may be active-active."""

    @property
    def delivery(self) -> str:
        """Guarantee for late writes."""


def check_source(settings: CheckedSource, findings: Findings) -> None:
    """Refuse settings with which an active-active source would not send every change with its version."""
    with findings.check("forward_foreign_changes", "active_active"):
        if settings.forward_foreign_changes and not settings.active_active:
            raise settings.wrong(
                "forward_foreign_changes", "active_active is false", "Set active_active to true, or leave it out"
            )
    _check(settings, findings, {"failover_policy": "BACKLOG", "process_removals": True})
    groups = settings.topic_creation_groups
    for name, configs in (("topic_config", [settings.topic_config]), ("topic_creation_groups", list(groups.values()))):
        with findings.check(name, "active_active"):
            if settings.active_active and any("compact" in str(config.get(_POLICY, "")) for config in configs):
                reason = (
                    "active_active is true: compaction keeps a key's last record, which need not be its newest write"
                )
                raise settings.wrong(name, reason, f"Set {_POLICY} to delete, or leave it out")


def check_sink(settings: CheckedSink, findings: Findings) -> None:
    """Refuse settings with which an active-active sink would not store every record by its version.

    Strict delivery is refused, because versions already do what it does: an older write loses whenever it arrives.
    """
    _check(settings, findings, {"process_updates": True, "key_policy": "key"})
    with findings.check("delivery", "active_active"):
        if settings.active_active and settings.delivery != "converging":
            reason = "active_active is true: a late write is older than what is stored, and nodes refuse it anyway"
            raise settings.wrong("delivery", reason, "Leave it out")


def _check(settings: Checked, findings: Findings, needed: dict[str, Any]) -> None:
    if not settings.active_active:
        return
    with findings.check("allow_unversioned", "active_active"):
        if settings.allow_unversioned:
            raise settings.wrong(
                "allow_unversioned", "active_active is true: versions are moved", "Leave one of them out"
            )
    converters = {f"{side}_converter": IGNITE_BINARY for side in ("key", "value")}
    for name, value in {**needed, **converters, **_UNCHANGED}.items():
        with findings.check(name, "active_active"):
            if getattr(settings, name) != value:
                remedy = f"Set it to {_spelled(value)}" if value else "Leave it out"
                raise settings.wrong(name, f"active_active is true, and {_WHOLE}", remedy)


def _spelled(value: object) -> str:
    return "true" if value is True else str(value)
