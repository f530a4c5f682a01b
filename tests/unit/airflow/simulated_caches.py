"""Simulated cluster, poll by poll, with sensors and triggers that watch it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ignite_kafka.cache_watch.poll import CachePoller
from airflow_provider_ignite_kafka.sensors.cache_watch import IgniteCacheWatchSensor
from airflow_provider_ignite_kafka.triggers.cache_watch import IgniteCacheWatchTrigger
from ignite_kafka.errors import IgniteUnreachable
from ignite_kafka.plan.cache_changes import CacheLists, CacheState, Polled

AWAY = IgniteUnreachable("nobody answers")


Poll = dict[str, CacheState] | Exception


def caches(*names: str, columns: str = "") -> dict[str, CacheState]:
    return {name: CacheState(hash(name), 8, "PARTITIONED", "ATOMIC", columns=columns) for name in names}


class Ended(Exception):
    """The simulated cluster has no more polls."""


def shown(polls: Sequence[Poll]) -> Callable[[], dict[str, CacheState]]:
    """Results of polls, one after the other."""
    left = iter(polls)

    def poll() -> dict[str, CacheState]:
        found = next(left, None)
        if found is None:
            raise Ended
        if isinstance(found, Exception):
            raise found
        return found

    return poll


@dataclass
class Store:
    """State store of Airflow for a task or an asset; it outlives trigger and sensor."""

    values: dict[str, Any] = field(default_factory=dict)

    def get(self, key: str, default: Any = None) -> Any:
        return json.loads(self.values[key]) if key in self.values else default

    def set(self, key: str, value: Any, *, retention: Any = None) -> None:
        self.values[key] = json.dumps(value)

    async def aget(self, key: str, default: Any = None) -> Any:
        return self.get(key, default)

    async def aset(self, key: str, value: Any) -> None:
        self.set(key, value)


def fired(polls: Sequence[Poll], *, store: Store | None = None, stop_after: int | None = None, **arguments: Any) -> list[dict[str, Any]]:
    """Events that a trigger fires over these polls; with `stop_after` its triggerer dies after that many events."""
    trigger = IgniteCacheWatchTrigger(**{"poll_interval": 0, **arguments})
    trigger.event_stored_s = 0
    trigger.poller = poller(shown(polls), trigger)
    trigger.asset_state_store = store  # type: ignore[assignment]

    async def run() -> list[dict[str, Any]]:
        events = []
        try:
            async for event in trigger.run():
                events.append(json.loads(json.dumps(event.payload)))
                if len(events) == stop_after:
                    break
        except Ended:
            pass
        return events

    return asyncio.run(run())


class _Poller(CachePoller):
    """Polls the simulated cluster, alone."""

    shown: Callable[[], dict[str, CacheState]]

    @property
    def cluster(self) -> Any:
        return id(self)

    def poll_all(self, several: Iterable[CacheLists], timeout_s: float) -> Polled:
        return dict.fromkeys(several, self.shown())


def poller(poll: Callable[[], dict[str, CacheState]], trigger: IgniteCacheWatchTrigger) -> CachePoller:
    """The trigger's poller, on the simulated cluster; wrong arguments are left to the trigger."""
    try:
        made = _Poller.of(trigger.ignite_conn_id, trigger.cache_whitelist, trigger.cache_blacklist, trigger.backlog_cache_name)
    except (TypeError, AttributeError):
        made = _Poller(trigger.ignite_conn_id, CacheLists())
    object.__setattr__(made, "shown", poll)
    return made


def names(events: list[dict[str, Any]]) -> list[tuple[list[str], list[str]]]:
    return [(event["created"], event["destroyed"]) for event in events]


@dataclass
class Run:
    """Run of a task: the state that outlives its process."""

    store: Store | None = field(default_factory=Store)
    pushed: dict[str, Any] = field(default_factory=dict)

    @property
    def context(self) -> Any:
        stored = {} if self.store is None else {"task_state_store": self.store}
        return {"ti": self, **stored}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = json.loads(json.dumps(value))

    def get_first_reschedule_date(self, context: Any) -> None:
        return None


def sensor(**arguments: Any) -> IgniteCacheWatchSensor:
    return IgniteCacheWatchSensor(task_id="watch", **{"poke_interval": 0, "timeout": 60, **arguments})
