"""What a run copies: settings plus what the clusters hold, as plain data that travels as JSON and holds no secret.

A unit is (cache, Ignite partition); units of a slot are arithmetic ranges, so that a plan of a million units stays small.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

from ..errors import SettingsError
from ..settings.connector import ConnectorSettings
from ..settings.source import SourceSettings


@dataclass(frozen=True)
class CachePlan:
    """One cache: ``partitions`` of Ignite go to ``topic``, which has ``topic_partitions``.

    :param load: whether a stream sends the entries that were there before it began.
    :param topic_bytes: max.message.bytes of the topic; None: not known.
    :param topic_id: Kafka's id of the topic; empty: not known yet.
    :param deployment: of a stream: the cache's deployment id, another one once it is made again under its name; empty: not known.
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

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> CachePlan:
        """What ``asdict`` gave; fields that this version does not know are left out.

        :raises TypeError: a field is missing.
        """
        known = {item.name for item in fields(CachePlan)}
        return CachePlan(**{name: value for name, value in data.items() if name in known})


class RunPlan(Protocol):
    """What the plans of both directions tell: whose they are."""

    @property
    def connector(self) -> str: ...

    @property
    def generation(self) -> int: ...

    @property
    def slots(self) -> int: ...

    @property
    def settings(self) -> ConnectorSettings: ...

    def to_json(self) -> str: ...

    @staticmethod
    def from_json(text: str) -> RunPlan: ...


@dataclass(frozen=True)
class TransferPlan:
    """A snapshot of some caches, or a stream that begins with one.

    :param generation: of the run that follows the plan; 0 while none does (dry run).
    :param max_batch_bytes: smallest max.message.bytes known of the topics: no batch of records may be larger.
    :param max_letter_bytes: max.message.bytes of the dead-letter topic; 0: there is none, or it is not known.
    :param capture_id: of the backlog service's capture that a stream reads; 0 for a snapshot alone.
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

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        names = ("connector", "snapshot_id", "generation", "slots", "max_batch_bytes", "max_letter_bytes", "capture_id")
        own = {name: getattr(self, name) for name in names}
        return {**own, "settings": self.settings.to_dict(), "caches": [asdict(cache) for cache in self.caches]}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), separators=(",", ":"))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> TransferPlan:
        """The plan that :meth:`to_dict` described.

        Fields that this version does not know are left out; settings that it does not know are refused, as they may shape records.

        :raises SettingsError: it was written by another version, or not by this program.
        """
        try:
            caches = tuple(CachePlan.from_dict(cache) for cache in data["caches"])
            settings = SourceSettings.from_dict(data["settings"], "the plan")
            known = {item.name for item in fields(TransferPlan)}
            given = {name: value for name, value in data.items() if name in known}
            return TransferPlan(**{**given, "caches": caches, "settings": settings})
        except (KeyError, TypeError) as error:
            raise SettingsError(f"a plan cannot be read: {error}", "It was written by another version: begin a new snapshot") from error

    @staticmethod
    def from_json(text: str | bytes) -> TransferPlan:
        return TransferPlan.from_dict(json.loads(text))
