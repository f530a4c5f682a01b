"""Trigger that fires when caches of an Ignite cluster come, go or change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_ignite_kafka.cache_looks import FATAL, PASSING, CacheLooks, as_list, checked_kinds
from ignite_kafka.cache_changes import KINDS, CacheLists, CacheState, State, difference, state_of, state_to_dict
from ignite_kafka.errors import SettingsError

# a triggerer writes an event into the database about a second after it was fired; the state follows it, never the other way
_EVENT_STORED_S = 5.0


class IgniteCacheWatchTrigger(BaseEventTrigger):
    """Look again and again, and fire the difference to what was last seen; see :class:`ignite_kafka.cache_changes.CacheDiff`.

    In an ``AssetWatcher`` it goes on for ever and keeps what it has seen in the asset's state store (Airflow 3.3): it begins with what is
    stored there, else with `known`, else with its first look. A cluster that is away is waited for: what changed meanwhile is fired
    afterwards.

    :param ignite_conn_id: connection of type `ignite`.
    :param cache_whitelist: patterns as in the settings of a connector; none: all caches.
    :param cache_blacklist: patterns of caches to leave out.
    :param backlog_cache_name: caches of connectors, which never match.
    :param kinds: what to fire for, of ``created``, ``destroyed``, ``changed``. Others move what was last seen, and no more.
    :param poll_interval: seconds from one look to the next.
    :param known: what was last seen: the state that an earlier difference holds; ``{}``: nothing, so that every cache is new.
    :param once: fire once and end, also for the first look where nothing is known; for deferred tasks.
    """

    def __init__(
        self,
        *,
        ignite_conn_id: str = "ignite_default",
        cache_whitelist: str | Sequence[str] = (),
        cache_blacklist: str | Sequence[str] = (),
        backlog_cache_name: str = CacheLists.backlog_cache_name,
        kinds: Sequence[str] = KINDS,
        poll_interval: float = 60.0,
        known: Mapping[str, Any] | None = None,
        once: bool = False,
    ) -> None:
        super().__init__()
        self.ignite_conn_id = ignite_conn_id
        self.cache_whitelist = as_list(cache_whitelist)
        self.cache_blacklist = as_list(cache_blacklist)
        self.backlog_cache_name = backlog_cache_name
        self.kinds = checked_kinds(kinds)
        self.poll_interval = poll_interval
        state = state_of(known)
        self.known = None if state is None else state_to_dict(state)
        self.once = once
        self.look = CacheLooks.of(ignite_conn_id, cache_whitelist, cache_blacklist, backlog_cache_name)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments; the connection is named, none of its fields is here."""
        names = ("ignite_conn_id", "cache_whitelist", "cache_blacklist", "backlog_cache_name", "poll_interval", "known", "once")
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {**{name: getattr(self, name) for name in names}, "kinds": list(self.kinds)}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Fire a difference as often as there is one.

        :raises SettingsError, AuthenticationFailed: with `once`; a watcher, which Airflow would start again at once, logs and waits.
        """
        seen, step = await self._stored()
        stored = True
        while True:
            now = await self._look()
            if now is not None:
                if seen is None:
                    seen, stored = now, False
                    if self.once:
                        yield TriggerEvent(difference(now, now).to_dict())
                        return
                diff = difference(seen, now, step)
                if wanted := diff.only(self.kinds):
                    self.log.info("Caches %s", wanted)
                    yield TriggerEvent(wanted.to_dict())
                    if self.once:
                        return
                    await asyncio.sleep(_EVENT_STORED_S)
                if diff or diff.state != seen or not stored:
                    seen, step = diff.state, diff.id if diff else step
                    stored = await self._store(seen, step)
            await asyncio.sleep(self.poll_interval)

    async def _look(self) -> dict[str, CacheState] | None:
        """A look in a thread of its own, None where it failed and may succeed later."""
        try:
            return await asyncio.to_thread(self.look)
        except (*PASSING, AirflowException, AirflowRuntimeError) as error:
            if self.once and (isinstance(error, FATAL) or not isinstance(error, PASSING)):
                raise
            self.log.warning("Ignite could not be looked at; again in %s s: %s", self.poll_interval, error)
            return None

    async def _stored(self) -> tuple[State | None, str]:
        """What was last seen and the id of the step that led there: of the asset this watches for, else what the trigger was given.

        :raises SettingsError: several assets share this trigger.
        """
        kept = None
        store = getattr(self, "asset_state_store", None)  # Airflow 3.3; of asset watchers alone
        if store is not None:
            try:
                kept = await store.aget(self.look.key(self.known))
            except ValueError as error:
                remedy = "Give the trigger of each asset another poll_interval: Airflow makes one of triggers that are equal"
                raise SettingsError("several assets share one trigger, which can keep the state of one", remedy) from error
        return (state_of(self.known), "") if kept is None else (state_of(kept), kept["id"])

    async def _store(self, seen: State, step: str) -> bool:
        """Keep what was last seen; False where that failed and is to be tried again."""
        store = getattr(self, "asset_state_store", None)
        if store is None:
            return True
        try:
            await store.aset(self.look.key(self.known), {"id": step, "state": state_to_dict(seen)})
        except (AirflowException, AirflowRuntimeError) as error:
            self.log.warning("What was seen could not be stored; a restart now would fire the last change again: %s", error)
            return False
        return True
