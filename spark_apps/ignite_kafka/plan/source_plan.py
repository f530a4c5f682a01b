"""Plan of a source's run: settings and caches, as plain data for JSON, without secrets.

Units are not listed: those of a slot follow from :mod:`.slots`, so that a plan of a million units stays small.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Protocol

from ..common.typed_json import Range, array, json_object, read_as
from ..errors import SettingsError
from ..settings.connector import ConnectorSettings
from ..settings.source import SourceSettings

_MOST_SLOTS = 10_000  # as the setting has it


@dataclass(frozen=True)
class CachePlan:
    """Cache that a source copies, with the topic for its records.

    :param partitions: number of the cache's partitions.
    :param topic: topic of all records; without `one_topic`, the topic before the transforms.
    :param topic_partitions: number of the topic's partitions; 0: unknown.
    :param incarnation: changes when the cache is created again; empty: unknown.
    :param load: whether a stream sends the initial data.
    :param topic_bytes: max.message.bytes of the topic; None: unknown.
    :param topic_id: Kafka's id of the topic; empty: unknown.
    :param deployment: for a stream, the cache's deployment id, which changes when the cache is created again; empty:
        unknown.
    :param one_topic: whether all records go to one topic; False: transforms route each record, to topics that are
        created with their first record.
    :param conflict_rule: what decides between clusters that write the cache, before the order of writes; empty:
        nothing.
    """

    name: str
    cache_id: int
    topic: str
    partitions: int
    topic_partitions: int
    incarnation: str = ""
    load: bool = True
    topic_bytes: int | None = None
    topic_id: str = ""
    deployment: str = ""
    one_topic: bool = True
    conflict_rule: str = ""

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> CachePlan:
        """Build a cache's plan from the dictionary of ``asdict``; unknown fields are ignored.

        :raises ValueError: a field is missing, or has another type.
        """
        return read_as(CachePlan, data)


class RunPlan(Protocol):
    """Interface that the plans of source runs and sink runs share."""

    @property
    def connector(self) -> str:
        """Name of the connector."""

    @property
    def generation(self) -> int:
        """Generation of the run, its number among the connector's runs; 0 for a dry run."""

    @property
    def slots(self) -> int:
        """Number of slots into which the connector divides its work."""

    @property
    def settings(self) -> ConnectorSettings:
        """Settings of the connector."""

    def to_json(self) -> str:
        """Return the plan as JSON text, the input of :meth:`from_json`."""

    @staticmethod
    def from_json(text: str) -> RunPlan:
        """Parse a plan from JSON text."""


@dataclass(frozen=True)
class _Scalars:
    """Texts and numbers of a :class:`TransferPlan`, to check their types when a plan is parsed."""

    connector: str
    snapshot_id: str
    generation: int
    slots: Annotated[int, Range(1, _MOST_SLOTS)]
    max_batch_bytes: int = 1_000_000
    max_letter_bytes: int = 0
    capture_id: int = 0
    heartbeat_incarnation: str = ""
    cluster_id: int = 0


@dataclass(frozen=True)
class TransferPlan:
    """Plan of a source's run: a snapshot of caches, or a stream that begins with a snapshot.

    :param generation: generation of the run; 0 without one (dry run).
    :param max_batch_bytes: maximum batch size: the smallest max.message.bytes known of the topics.
    :param max_letter_bytes: max.message.bytes of the dead-letter topic; 0: there is none, or it is unknown.
    :param capture_id: id of the capture that a stream reads; 0 for a snapshot.
    :param heartbeat_incarnation: incarnation of the cache of heartbeats; empty: there are no heartbeats.
    :param cluster_id: id of the cluster among those that write the same caches; 0: versions are not sent.
    """

    connector: str
    snapshot_id: str
    generation: int
    slots: int
    settings: SourceSettings
    caches: tuple[CachePlan, ...]
    max_batch_bytes: int = 1_000_000
    max_letter_bytes: int = 0
    capture_id: int = 0
    heartbeat_incarnation: str = ""
    cluster_id: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a dictionary for JSON, the input of :meth:`from_dict`."""
        own = {name: getattr(self, name) for name in vars(self) if name not in ("settings", "caches")}
        return {**own, "settings": self.settings.to_dict(), "caches": [asdict(cache) for cache in self.caches]}

    def to_json(self) -> str:
        """Return the plan as JSON text, the input of :meth:`from_json`."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> TransferPlan:
        """Build a plan from the dictionary of :meth:`to_dict`.

        Unknown fields are ignored; unknown settings are refused, because they may change the records.

        :raises SettingsError: another version or another program wrote the plan.
        """
        try:
            caches = tuple(map(CachePlan.from_dict, array(data["caches"])))
            settings = SourceSettings.from_dict(json_object(data["settings"]), "the plan")
            return TransferPlan(**vars(read_as(_Scalars, data)), settings=settings, caches=caches)
        except (KeyError, TypeError, ValueError) as error:
            raise SettingsError(
                f"a plan cannot be read: {error}", "It was written by another version: begin a new snapshot"
            ) from error

    @staticmethod
    def from_json(text: str | bytes) -> TransferPlan:
        """Parse a plan from the JSON text of :meth:`to_json`; raises the errors of :meth:`from_dict`."""
        return TransferPlan.from_dict(json.loads(text))
